#include "tile/library/gemm_replay.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "tile/library/gemm_units.h"

namespace kernbench::tile::library {

namespace {

/// Bursts of a replay at most: where more move, they are longer than the fabric's. How far times depend on that:
/// docs/model-fabric.md.
constexpr double kMostBursts = 16384;
/// Steps of all programs that are replayed at most.
constexpr std::size_t kMostSteps = 4096;

}  // namespace

GemmReplay::GemmReplay(const GemmProblem& problem, const topology::Topology& topology, const GemmEstimate& law,
                       std::span<const PeCoordinate> pes, const GemmOperands& operands)
    : problem_(problem),
      topology_(topology),
      law_(law),
      pes_(pes),
      a_(operands.a, topology, item_size(problem.dtype), problem.transposed_a),
      b_(operands.b, topology, item_size(problem.dtype), problem.transposed_b),
      out_(operands.out, topology, std::max<std::int64_t>(item_size(problem.dtype), 2), false),
      servers_(topology),
      programs_(pes.size()),
      issue_(ns(topology.pe.control.issue)),
      memory_(ns(topology.cube.hbm.latency)) {}

/// As gemm.cpp walks a range.
void GemmReplay::make_steps(Program& program, const GemmTiles& tiles) const {
  const GemmRange& range = *program.range;
  program.steps.clear();
  if (range.empty()) return;
  std::int64_t length = tiles.first_k;
  const auto walk = [&](Step step, std::int64_t begin, std::int64_t end) {
    for (step.k = begin; step.k < end; step.k += step.length) {
      step.length = std::min(length, end - step.k);
      program.steps.push_back(step);
      length = std::min(2 * length, tiles.k);
    }
  };
  for (std::int64_t m = range.m[0]; m < range.m[1]; m += tiles.m) {
    for (std::int64_t n = range.n[0]; n < range.n[1]; n += tiles.n) {
      Step tile{};
      tile.m = m, tile.n = n;
      tile.rows = std::min(tiles.m, range.m[1] - m), tile.columns = std::min(tiles.n, range.n[1] - n);
      walk(tile, range.k_start, range.k[1]);
      walk(tile, range.k[0], range.k_start);
      program.steps.back().last = true;
      if (program.steps.size() >= most_) return;
    }
  }
}

double GemmReplay::time(std::span<const GemmRange> ranges, const GemmBlock& block, const GemmTiles& tiles,
                        double limit) {
  servers_.clear();
  transfers_.clear();
  ended_.clear();
  asking_ = {};
  issued_ = 0, half_ = end_ = stored_ = 0;
  tiles_ = tiles;
  finish_ = law_.finish(tiles);
  room_ = std::max<std::int64_t>(law_.steps_in_tcm(tiles), 1);
  walks_ = law_.walks_of_each_step(block, tiles);
  setup_ = ns(topology_.pe.dma.setup) + (walks_.longest() > 0 ? 0 : law_.walks(block, tiles));
  most_ = std::max<std::size_t>(kMostSteps / pes_.size(), 8);
  std::size_t replayed = 0;
  double bytes = 0;
  for (std::uint32_t i = 0; i < programs_.size(); ++i) {
    Program& program = programs_[i];
    program.range = &ranges[i];
    program.taken = program.loaded = 0;
    program.now = program.engine = 0;
    program.walked.assign(static_cast<std::size_t>(topology_.pe.dma.queues), 0);
    make_steps(program, tiles);
    if (program.steps.size() > most_) program.steps.resize(most_);
    replayed = std::max(replayed, program.steps.size());
    for (const Step& step : program.steps)
      bytes += static_cast<double>((step.rows + step.columns) * step.length * item_size(problem_.dtype));
  }
  burst_ = std::max(static_cast<double>(topology_.cube.noc.burst.count()), bytes / kMostBursts);
  for (std::uint32_t i = 0; i < programs_.size(); ++i)
    if (!programs_[i].steps.empty()) advance(i);
  while (!asking_.empty()) {
    const sim::EventQueue::Entry next = asking_.pop();
    const auto now = std::bit_cast<double>(next.key.time);
    if (now > limit) return std::numeric_limits<double>::infinity();
    move(next.payload, now);
  }
  const auto all = static_cast<std::size_t>(law_.commands(block, tiles));
  double time = std::max(end_ + finish_, stored_);
  if (all > replayed) {
    const std::size_t half = replayed / 2;
    time += (end_ - half_) / static_cast<double>(replayed - half) * static_cast<double>(all - replayed);
  }
  return time;
}

/// Takes all steps that are there, and asks for as many as the plan has under way.
void GemmReplay::advance(std::uint32_t number) {
  Program& program = programs_[number];
  load(number, program);
  while (program.taken < program.steps.size()) {
    Step& step = program.steps[program.taken];
    if (step.missing > 0) return;
    program.now = std::max(program.now, step.arrived) + issue_;
    const double start = std::max(program.now, program.engine);
    step.multiplied = start + law_.product(step.rows, step.columns, step.length);
    program.engine = start + law_.until_next(step.rows, step.columns, step.length, !step.last);
    ++program.taken;
    if (2 * program.taken == program.steps.size() || 2 * program.taken == program.steps.size() + 1)
      half_ = std::max(half_, step.multiplied);
    end_ = std::max(end_, step.multiplied);
    if (step.last) store(number, static_cast<std::uint32_t>(program.taken - 1), step.multiplied);
    load(number, program);
  }
}

void GemmReplay::load(std::uint32_t number, Program& program) {
  while (program.loaded < program.steps.size() &&
         program.loaded < program.taken + static_cast<std::size_t>(tiles_.depth)) {
    Step& step = program.steps[program.loaded];
    // Its TCM is that of a step before it.
    if (const auto room = static_cast<std::size_t>(room_); program.loaded >= room) {
      const std::size_t before = program.loaded - room;
      if (before >= program.taken) return;
      program.now = std::max(program.now, program.steps[before].multiplied);
    }
    step.missing = 0;
    const std::int64_t batch = program.range->batch[0];
    const auto index = static_cast<std::uint32_t>(program.loaded++);
    program.now += issue_;
    load(number, index, a_, {{batch, step.m, step.k}, {batch + 1, step.m + step.rows, step.k + step.length}},
         set_up(program, 2 * index, walks_.a));
    program.now += issue_;
    load(number, index, b_, {{batch, step.k, step.n}, {batch + 1, step.k + step.length, step.n + step.columns}},
         set_up(program, 2 * index + 1, walks_.b));
  }
}

/// When a descriptor that is issued now begins to load. One behind it in its queue waits for its walks.
double GemmReplay::set_up(Program& program, std::size_t descriptor, double walks) const {
  if (walks == 0) return program.now + setup_;
  double& walked = program.walked[descriptor % program.walked.size()];
  walked = std::max(walked, program.now) + walks;
  return walked + setup_;
}

void GemmReplay::load(std::uint32_t number, std::uint32_t index, GemmLegs& legs, const OperandBox& box, double at) {
  const std::vector<GemmLeg>& all = legs.of(box);
  const PeCoordinate reader = pes_[number];
  // Of replicas the nearest is read: own slice, own cube, other cubes.
  auto left = static_cast<double>(item_size(problem_.dtype));
  double found[3] = {0, 0, 0}, share[3] = {0, 0, 0};
  for (int d = 0; d < 3; ++d) left *= static_cast<double>(box.end[d] - box.begin[d]);
  const auto level = [&](const GemmLeg& leg) {
    return leg.owner == reader ? 0 : leg.owner.cube == reader.cube ? 1 : 2;
  };
  for (const GemmLeg& leg : all) found[level(leg)] += leg.bytes;
  for (int i = 0; i < 3; ++i) {
    const double read = std::min(found[i], left);
    share[i] = found[i] > 0 ? read / found[i] : 0;
    left -= read;
  }
  for (const GemmLeg& leg : all) {
    const double part = share[level(leg)];
    if (part <= 0) continue;
    ++programs_[number].steps[index].missing;
    const std::uint32_t route = servers_.read(leg.owner, reader);
    start({number, index, route, part * leg.bytes, &leg, false}, at + servers_.latency(route));
  }
}

/// To all that hold a part of the tile, or to none where that is not known.
void GemmReplay::store(std::uint32_t number, std::uint32_t index, double at) {
  const Program& program = programs_[number];
  const Step& step = program.steps[index];
  const std::int64_t batch = program.range->batch[0];
  const OperandBox box{{batch, step.m, step.n}, {batch + 1, step.m + step.rows, step.n + step.columns}};
  for (const GemmLeg& leg : out_.of(box)) {
    const std::uint32_t route = servers_.write(pes_[number], leg.owner);
    start({number, index, route, leg.bytes, &leg, true}, at + law_.before_store(tiles_));
  }
}

void GemmReplay::start(const Transfer& transfer, double at) {
  if (ended_.empty()) {
    wait(static_cast<std::uint32_t>(transfers_.size()), at);
    transfers_.push_back(transfer);
    return;
  }
  wait(ended_.back(), at);
  transfers_[ended_.back()] = transfer;
  ended_.pop_back();
}

/// The bits of numbers that are not negative are in the order of these.
void GemmReplay::wait(std::uint32_t transfer, double at) {
  asking_.push({std::bit_cast<std::uint64_t>(at), issued_++}, transfer);
}

void GemmReplay::move(std::uint32_t number, double now) {
  Transfer& transfer = transfers_[number];
  const double bytes = std::min(transfer.bytes, burst_);
  const auto passed = servers_.pass(transfer.route, now, bytes, *transfer.leg);
  transfer.bytes -= bytes;
  if (transfer.bytes > 0) return wait(number, passed.next);
  const double end = passed.end + memory_;
  ended_.push_back(number);
  if (transfer.store) {
    stored_ = std::max(stored_, end);
    return;
  }
  const std::uint32_t owner = transfer.program, index = transfer.step;
  Step& step = programs_[owner].steps[index];
  step.arrived = std::max(step.arrived, end);
  if (--step.missing == 0 && programs_[owner].taken == index) advance(owner);
}

}  // namespace kernbench::tile::library
