#include "tile/explain/account.h"

#include <algorithm>
#include <compare>
#include <cstddef>
#include <functional>
#include <span>
#include <string_view>
#include <utility>
#include <variant>

#include "tile/explain/longest_first.h"

namespace kernbench::tile {
static std::weak_ordering order_of(const WaitTotal& a, const WaitTotal& b) {
  if (const auto order = order_of_texts(a.reason, b.reason); order != 0) return order;
  if (const auto order = order_of_texts(a.operation, b.operation); order != 0) return order;
  if (const auto order = order_of_texts(a.where, b.where); order != 0) return order;
  if (const auto order = order_of_texts(a.cause, b.cause); order != 0) return order;
  return order_of_texts(a.cause_where, b.cause_where);
}

static bool same_texts(const WaitTotal& a, const WaitTotal& b) {
  return same_text(a.operation, b.operation) && same_text(a.reason, b.reason) && same_text(a.where, b.where) &&
         same_text(a.cause, b.cause) && same_text(a.cause_where, b.cause_where);
}

/// A command of another program, which nothing more is known of here.
LaunchAccount::Line LaunchAccount::line_of(const hardware::Cause* cause, sim::AgentId agent) {
  if (cause == nullptr || !cause->known() || cause->name.agent != agent) return {};
  return {cause->kind, cause->where.file_name(), cause->where.line()};
}

std::size_t LaunchAccount::Hash::operator()(const WaitKey& key) const {
  std::size_t hash = (static_cast<std::size_t>(key.reason) << 16) | (static_cast<std::size_t>(key.engine) << 8) |
                     static_cast<std::size_t>(key.server);
  const auto mix = [&](std::size_t value) { hash = (hash ^ value) * 0x9e3779b97f4a7c15ULL; };
  for (const Line* line : {&key.operation, &key.cause}) {
    mix(reinterpret_cast<std::uintptr_t>(line->kind));
    mix(reinterpret_cast<std::uintptr_t>(line->file) + line->line);
  }
  return hash ^ (hash >> 32);
}

LaunchAccount::KindSum& LaunchAccount::sum_of(const char* kind, hardware::EngineKind engine) {
  for (KindSum& each : kinds_) {
    if (each.kind == kind && each.engine == engine) return each;
  }
  return kinds_.emplace_back(KindSum{kind, engine, 0, {}, {}, {}, {}});
}

void LaunchAccount::add(const hardware::Command& command, const WorkSplit& split) {
  const hardware::Timeline& times = command.times;
  const Line line{command.kind, command.where.file_name(), command.where.line()};
  for_each_interval(command, split, [&](const Interval& interval) {
    const bool waits = interval.activity <= Activity::members || interval.activity == Activity::translation ||
                       interval.activity == Activity::link_buffer || interval.activity == Activity::contention;
    if (!waits) return;
    Sum& sum =
        waits_[{interval.activity, command.engine(), interval.on.kind, line, line_of(interval.cause, command.agent)}];
    sum.time += interval.duration();
    ++sum.count;
  });
  KindSum& kind = sum_of(command.kind, command.engine());
  ++kind.count;
  kind.waiting += times.started - times.requested + times.waited;
  kind.work += times.finished - times.started - times.waited;
  kind.bound += split.bound.total();
  const auto* dma = std::get_if<hardware::DmaWork>(&command.work);
  if (dma != nullptr) kind.bytes += hardware::bytes_of(dma->legs);
}

void LaunchAccount::add(const ProgramStep& step, sim::AgentId agent) {
  const Line line{"", step.where.file_name(), step.where.line()};
  Sum& sum = waits_[{step.activity, hardware::EngineKind::dma, PartKind::none, line, line_of(&step.cause, agent)}];
  sum.time += step.end - step.start;
  sum.count += step.count;
}

void LaunchAccount::add(const LaunchAccount& other) {
  for (const auto& [key, sum] : other.waits_) {
    Sum& mine = waits_[key];
    mine.time += sum.time;
    mine.count += sum.count;
  }
  for (const KindSum& sum : other.kinds_) {
    KindSum& kind = sum_of(sum.kind, sum.engine);
    kind.count += sum.count;
    kind.waiting += sum.waiting;
    kind.work += sum.work;
    kind.bound += sum.bound;
    kind.bytes += sum.bytes;
  }
}

std::vector<WaitTotal> LaunchAccount::waits(TextStore& texts) const {
  std::vector<WaitTotal> all;
  all.reserve(waits_.size());
  for (const auto& [key, sum] : waits_) {
    WaitTotal& total = all.emplace_back();
    total.reason = name(key.reason, key.engine);
    total.operation = key.operation.kind;
    total.where = texts.place(key.operation.file, key.operation.line);
    total.cause = key.server == PartKind::none ? key.cause.kind : text_of(key.server);
    total.cause_where = texts.place(key.cause.file, key.cause.line);
    total.time = sum.time;
    total.count = sum.count;
  }
  const std::vector<WaitTotal*> order = longest_first(std::span(all));
  std::vector<WaitTotal> totals;
  totals.reserve(order.size());
  for (const WaitTotal* sum : order) totals.push_back(*sum);
  return totals;
}

std::vector<OperationTotal> LaunchAccount::operations() const {
  const auto texts = [](const KindSum& sum) {
    return std::pair<std::string_view, std::string_view>(sum.kind, name(sum.engine));
  };
  std::vector<KindSum> sums = kinds_;
  std::ranges::sort(sums, {}, texts);
  std::vector<OperationTotal> totals;
  totals.reserve(sums.size());
  for (const KindSum& sum : sums) {
    const auto [operation, engine] = texts(sum);
    if (totals.empty() || totals.back().operation != operation || totals.back().engine != engine) {
      OperationTotal& total = totals.emplace_back();
      total.operation = operation;
      total.engine = engine;
    }
    OperationTotal& total = totals.back();
    total.count += sum.count;
    total.waiting += sum.waiting;
    total.work += sum.work;
    total.bound += sum.bound;
    total.bytes += sum.bytes;
  }
  std::ranges::stable_sort(totals, std::greater{}, &OperationTotal::work);
  return totals;
}

}  // namespace kernbench::tile
