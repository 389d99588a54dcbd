// Who a kernel instance is, and what helps its author: assume, waypoint, delay, range.
#include <fmt/format.h>

#include "kernbench/error.h"
#include "kernbench/tl.h"
#include "sim/fiber.h"
#include "tile/program/program.h"

namespace kernbench::tl {

using tile::Program;

namespace {

void check_axis(const Program& program, const char* call, int axis, const Where& where) {
  if (axis >= 0 && axis <= 2) return;
  throw ValueError(fmt::format("tl::{}: axis {} is out of range; a launch has the axes 0, 1 and 2", call, axis),
                   program.place(where));
}

const topology::Topology& machine_of(const char* call, const Where& where) {
  return Program::current(call, where).environment().machine.topology();
}

}  // namespace

std::int64_t program_id(int axis, Where where) {
  const auto& program = Program::current("program_id", where);
  check_axis(program, "program_id", axis, where);
  return program.launch().grid.coordinate(program.id(), static_cast<std::size_t>(axis));
}
std::int64_t num_programs(int axis, Where where) {
  const auto& program = Program::current("num_programs", where);
  check_axis(program, "num_programs", axis, where);
  return program.launch().grid.extents[static_cast<std::size_t>(axis)];
}
std::int64_t device_id(Where where) {
  return Program::current("device_id", where).coordinate().sip.value;
}
std::int64_t cube_id(Where where) {
  return Program::current("cube_id", where).coordinate().cube.value;
}
std::int64_t pe_id(Where where) {
  return Program::current("pe_id", where).coordinate().pe.value;
}
std::int64_t num_devices(Where where) {
  return machine_of("num_devices", where).system.sips;
}
std::int64_t num_cubes(Where where) {
  return machine_of("num_cubes", where).sip.cubes.count();
}
std::int64_t num_pes(Where where) {
  return machine_of("num_pes", where).cube.pes.count();
}

void use_dma_queues(std::int32_t count, Where where) {
  auto& program = Program::current("use_dma_queues", where);
  if (count < 0) {
    throw ValueError(
        fmt::format("tl::use_dma_queues: count is {}; it must be positive, or 0 for all queues of the PE", count),
        program.place(where));
  }
  program.use_dma_queues(count);
}

void assume(bool fact, Where where) {
  const auto& program = Program::current("assume", where);
  if (fact) return;
  throw ProgramError("AssumptionError",
                     "tl::assume: the kernel relies on a fact that does not hold here; call it with arguments that "
                     "keep it, or handle the other case",
                     program.place(where));
}

void waypoint(std::string_view name, Where where) {
  auto& program = Program::current("waypoint", where);
  const auto& environment = program.environment();
  const std::uint64_t number = program.take_number();
  environment.stream.tell(tile::Topic::waypoints, [&](tile::OperationConsumer& each) {
    each.on_waypoint(program, number, name, environment.scheduler.now(), where);
  });
}

void delay(std::int64_t cycles, Where where) {
  // About a day at 1 GHz: more is a slip, and would overflow simulated time before long.
  constexpr std::int64_t kMostCycles = std::int64_t{1} << 46;
  auto& program = Program::current("delay", where);
  if (cycles < 0 || cycles > kMostCycles) {
    throw ValueError(fmt::format("tl::delay: {} cycles; valid are 0 to {}", cycles, kMostCycles), program.place(where));
  }
  if (cycles == 0) return;
  const auto& environment = program.environment();
  const Clock clock(environment.machine.pe_spec(program.coordinate()).clock);
  const Program::Step step(program, tile::Activity::delay, where);
  sim::this_fiber::sleep_until(clock.after(environment.scheduler.now(), cycles));
}

Range::Range(std::int64_t begin, std::int64_t end, std::int64_t step) : begin_(begin), step_(step), count_(0) {
  if (step == 0) throw ValueError(fmt::format("tl::range({}, {}, 0): the step must not be 0", begin, end));
  // In unsigned arithmetic, where distances that exceed the signed range still come out right.
  const auto distance = [](std::int64_t from, std::int64_t to) {
    return static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from);
  };
  if (step > 0 && begin < end) {
    count_ = static_cast<std::int64_t>((distance(begin, end) - 1) / static_cast<std::uint64_t>(step)) + 1;
  } else if (step < 0 && begin > end) {
    const std::uint64_t size = std::uint64_t{0} - static_cast<std::uint64_t>(step);
    count_ = static_cast<std::int64_t>((distance(end, begin) - 1) / size) + 1;
  }
}

}  // namespace kernbench::tl
