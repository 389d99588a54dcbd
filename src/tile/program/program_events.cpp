// What happens to the commands of a program, as the engines tell it.
#include <utility>

#include "hardware/dma/multicast.h"
#include "tile/program/program.h"

namespace kernbench::tile {

void Program::on_placed(hardware::Command& command, hardware::Command* by) {
  environment_.stream.tell(Topic::stages,
                           [&](OperationConsumer& each) { each.on_placed(command_of(command), command_of(by)); });
}

void Program::on_issued(hardware::Command& command) {
  environment_.stream.tell(Topic::stages, [&](OperationConsumer& each) { each.on_issued(command_of(command)); });
}

void Program::on_ready(hardware::Command& command, hardware::Command& last) {
  environment_.stream.tell(Topic::stages,
                           [&](OperationConsumer& each) { each.on_ready(command_of(command), command_of(last)); });
}

void Program::on_start(hardware::Command& command, hardware::Command* before) {
  environment_.stream.tell(Topic::stages,
                           [&](OperationConsumer& each) { each.on_start(command_of(command), command_of(before)); });
}

void Program::on_arrival(hardware::Command& receive, hardware::Command& send, const hardware::MessageArrival& arrival) {
  environment_.stream.tell(
      Topic::stages, [&](OperationConsumer& each) { each.on_arrival(command_of(receive), command_of(send), arrival); });
}

void Program::on_match(hardware::Command& receive, hardware::Command& send) {
  KernelCommand& mine = command_of(receive);
  if (environment_.stream.wanted(Topic::edges)) {
    mine.happens_before.push_back({send.command_name(), HappensBefore::Reason::message});
  }
  match(mine, command_of(send));
}

namespace {

bool is_store(const KernelCommand& command) {
  const auto* dma = std::get_if<hardware::DmaWork>(&command.work);
  return dma != nullptr && dma->kind == hardware::DmaKind::write;
}

}  // namespace

void Program::on_effect(hardware::Command& command) {
  KernelCommand& mine = command_of(command);
  const bool counts = !launch_->without_effect || !*launch_->without_effect || !is_store(mine);
  if (mine.take_effect && counts) {
    const numerics::SourceScope here(environment_.executor.sources(), source(mine.kind, mine.where));
    mine.take_effect(mine);
  }
  mine.take_effect = nullptr;
}

void Program::add_busy(const KernelCommand& command) {
  if (command.engine() == hardware::EngineKind::gemm) busy_.gemm += command.times.own;
  if (command.engine() == hardware::EngineKind::vector) busy_.vector += command.times.own;
}

void Program::on_finish(hardware::Command& command) {
  KernelCommand& mine = command_of(command);
  add_busy(mine);
  if (environment_.stream.wanted(Topic::operations)) {
    const OperationRecord record(mine);
    environment_.stream.tell(Topic::operations, [&](OperationConsumer& each) { each.on_operation(record); });
  }
  pe_.tcm().released_by(&mine);
  mine.holds.clear();
  mine.buffer.reset();
  pe_.tcm().released_by(nullptr);
  const auto program = std::move(mine.program);
  if (pending_.contains(mine)) pending_.take(mine);  // else abandoned
}

void Program::on_dropped(hardware::Command& command) {
  KernelCommand& mine = command_of(command);
  if (auto* dma = std::get_if<hardware::DmaWork>(&mine.work); dma != nullptr && dma->multicast != nullptr) {
    dma->multicast->give(dma->member, nullptr);
  }
  mine.let_go();
  mine.message_end.reset();
  const auto program = std::move(mine.program);
  if (pending_.contains(mine)) pending_.take(mine);
}

}  // namespace kernbench::tile
