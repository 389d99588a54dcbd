// The commands of a program: what they wait for, what they add to the account of their launch, and their submission.
#include <string_view>
#include <utility>

#include "hardware/dma/multicast.h"
#include "tile/program/overlap.h"
#include "tile/program/program.h"

namespace kernbench::tile {

std::uint64_t expression_of(const char* kind, std::span<const TileState* const> inputs) {
  Fingerprint expression;
  expression.add(std::string_view(kind));
  for (const TileState* input : inputs) {
    if (input != nullptr) expression.add(input->expression);
  }
  return expression.value();
}

KernelCommandRef Program::new_command(hardware::Work work, const char* kind, const std::shared_ptr<TileState>& result,
                                      std::span<const TileState* const> inputs) {
  auto command = KernelCommand::make(*environment_.pool, std::move(work), kind, agent_, next_number_++);
  command->program = shared_from_this();
  command->observer = this;
  command->watched = environment_.stream.wanted(Topic::stages);
  command->where = where_;
  command->dma_queues = dma_queues_;
  command->traffic = launch_->traffic.get();
  begin_asking();
  command->times.requested = asking_.requested;
  command->times.granted = asking_.granted;
  if (asking_.granted_by) command->times.granted_by = asking_.granted_by->as_cause();
  asking_.open = false;
  for (const TileState* input : inputs) {
    if (input == nullptr) continue;
    command->holds.push_back(input->reservation());
    command->reads_tiles.push_back(input->number());
    if (input->producer && !input->producer->done.is_set()) command->dependencies.push_back(input->producer);
  }
  command->operands = command->dependencies.size();
  if (result) {
    command->holds.push_back(result->reservation());
    command->makes_tile = result->number();
    result->producer = command;
    result->expression = expression_of(kind, inputs);
  }
  const hardware::CommandRef granted_by = std::move(asking_.granted_by);
  if (command->watched) {
    environment_.stream.tell(Topic::stages,
                             [&](OperationConsumer& each) { each.on_made(*command, command_of(granted_by.get())); });
  }
  return command;
}

void Program::add_memory_dependencies(KernelCommand& command) {
  const auto* mine = std::get_if<hardware::DmaWork>(&command.work);
  for (KernelCommand& earlier : pending_) {
    const auto* theirs = std::get_if<hardware::DmaWork>(&earlier.work);
    if (theirs == nullptr) continue;
    const bool ordered = command.releases || earlier.acquires;
    const bool conflict = mine != nullptr && (theirs->writes() || mine->writes());
    if (ordered || (conflict && overlap(theirs->legs, mine->legs))) {
      command.dependencies.push_back(hardware::CommandRef(&earlier));
    }
  }
}

void Program::add_edges(KernelCommand& command) const {
  if (!environment_.stream.wanted(Topic::edges)) return;
  using enum HappensBefore::Reason;
  std::size_t place = 0;
  for (const hardware::CommandRef& each : command.dependencies) {
    command.happens_before.push_back({each->command_name(), place++ < command.operands ? operand : order});
  }
}

namespace {

Bytes& at_distance(DistanceBytes& bytes, PeCoordinate pe, PeCoordinate slice) {
  if (pe == slice) return bytes.own_slice;
  if (pe.sip != slice.sip) return bytes.other_sips;
  return pe.cube == slice.cube ? bytes.same_cube : bytes.same_sip;
}

}  // namespace

void Program::count(const KernelCommand& command) {
  const topology::PeSpec& pe = environment_.machine.topology().pe;
  if (const auto* dma = std::get_if<hardware::DmaWork>(&command.work)) {
    for (const auto& leg : dma->legs) {
      const Bytes bytes = leg.total();
      busy_.tcm_bytes += bytes;
      launch_->tcm_bytes += bytes;
      if (!dma->accesses_memory() || leg.in_sram()) continue;
      launch_->hbm_bytes += bytes;
      at_distance(launch_->distance, at_, leg.slice) += bytes;
      SliceRecord& slice = launch_->slices[leg.slice];
      slice.use.add(leg, bytes, environment_.machine.topology());
      note_places(slice.places, dma->kind, leg);
    }
  } else if (const auto* gemm = std::get_if<hardware::GemmWork>(&command.work)) {
    launch_->work.add(*gemm, pe.gemm);
  } else if (const auto* vector = std::get_if<hardware::VectorWork>(&command.work)) {
    launch_->work.add(*vector, command.widest, pe.vector);
    launch_->fused_bytes += vector->kept;
  }
}

void Program::note_places(SlicePlaces& places, hardware::DmaKind kind, const hardware::DmaLeg& leg) {
  if (kind == hardware::DmaKind::atomic) {
    const Bytes access = environment_.machine.topology().cube.hbm.access;
    for (const hardware::StridedRange& range : leg.ranges) {
      ++places.all_atomics;
      places.atomics.add(range.address, 1, access);
    }
    if (leg.slice == at_) launch_->own_atomic_bytes += leg.total();
    return;
  }
  for (const hardware::StridedRange& range : leg.ranges) {
    places.bytes += range.total();
    if (kind != hardware::DmaKind::write) places.read += range.total();
    places.blocks.add(range.address, range.total().count(), kUseBlock);
  }
}

void Program::wait_until_placed(const KernelCommand& command) {
  for (const auto& dependency : command.dependencies) {
    const auto placed = command_of(*dependency).all_placed;
    if (placed && !placed->is_set()) placed->wait();
  }
}

void Program::issue(const KernelCommandRef& command) {
  if (command->engine() == hardware::EngineKind::dma || command->releases) add_memory_dependencies(*command);
  if (command->buffer) add_buffer_dependencies(*command);
  add_edges(*command);
  count(*command);
  wait_until_placed(*command);
  pending_.push_back(command);
  if (auto* dma = std::get_if<hardware::DmaWork>(&command->work); dma != nullptr && dma->multicast != nullptr) {
    dma->multicast->give(dma->member, command.get());
  }
  environment_.stream.tell(Topic::issues, [&](OperationConsumer& each) { each.on_issue(*command); });
  pe_.submit(command);
}

void Program::issue_composite(std::uint64_t number, const std::vector<KernelCommandRef>& commands) {
  auto composite = std::make_shared<hardware::CompositeCommand>();
  composite->agent = agent_;
  composite->number = number;
  for (const auto& command : commands) {
    if (command->engine() == hardware::EngineKind::dma) add_memory_dependencies(*command);
    add_edges(*command);
    count(*command);
    command->all_placed = composite->placed;
    environment_.stream.tell(Topic::issues, [&](OperationConsumer& each) { each.on_issue(*command); });
  }
  composite->commands.assign(commands.begin(), commands.end());
  for (const auto& command : commands) pending_.push_back(command);
  pe_.submit(composite);
}

}  // namespace kernbench::tile
