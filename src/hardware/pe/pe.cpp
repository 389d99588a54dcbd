#include "hardware/pe/pe.h"

#include "base/text.h"
#include "kernbench/error.h"

namespace kernbench::hardware {

namespace {

OwnLaw own_gemm(const PeEnvironment& environment, PeCoordinate at) {
  std::shared_ptr<GemmModel> model = environment.models.gemm(at);
  if (model == nullptr) return {};
  return [model, at, &spec = environment.pe_specs.of(at).gemm](const Command& command, Time start) {
    return answer_of(spec.model, {PartKind::gemm, at}, start,
                     [&] { return model->end(gemm_command(spec, command.gemm(), start)); });
  };
}

OwnLaw own_vector(const PeEnvironment& environment, PeCoordinate at) {
  std::shared_ptr<VectorModel> model = environment.models.vector(at);
  if (model == nullptr) return {};
  return [model, at, &spec = environment.pe_specs.of(at).vector](const Command& command, Time start) {
    Time end = start;
    for (VectorCommand& each : vector_commands(spec, command.vector(), start)) {
      each.start = end;
      end = answer_of(spec.model, {PartKind::vector, at}, end, [&] { return model->end(each); });
      if (end <= each.start || end >= Time::limit()) break;  // wrong, and the engine says so
    }
    return end;
  };
}

}  // namespace

Pe::Pe(const PeEnvironment& environment, PeCoordinate at)
    : at_(at),
      name_(to_text(at)),
      issue_(environment.topology.pe.control.issue),
      tcm_(environment.topology.pe.tcm.capacity, environment.topology.pe.tcm.alignment),
      control_(environment.scheduler, environment.layout, environment.topology.pe, at,
               [this](sim::AgentId program, sim::Callback over) { return drop_commands(program, over); }),
      tlb_(environment.topology.pe.mmu),
      gemm_(environment.scheduler, {PartKind::gemm, at}, gemm_law(environment.topology.pe.gemm.model),
            own_gemm(environment, at), environment.topology.pe.gemm.queue, environment.pe_specs.of(at)),
      vector_(environment.scheduler, {PartKind::vector, at}, vector_law(environment.topology.pe.vector.model),
              own_vector(environment, at), environment.topology.pe.vector.queue, environment.pe_specs.of(at)),
      ipcq_(environment.ipcq, at),
      scheduler_(environment.scheduler, environment.layout.scheduler_agent(at), environment.topology.pe.scheduler, at,
                 [this](const Command& command) -> CommandQueue& { return queue_for(command); }) {
  for (std::int32_t queue = 0; queue < environment.topology.pe.dma.queues; ++queue) {
    dma_.push_back(std::make_unique<DmaQueue>(environment.scheduler, environment.transport, environment.topology, at,
                                              queue, tlb_, environment.models.dma(at, queue)));
  }
  tcm_.describe_as([this, at] { return to_name(at) + ".tcm" + tcm_.wanted_text(); });
  tcm_.provided_by([this](std::vector<sim::WaitEdge>& edges) { tcm_providers(edges); });
}

std::size_t Pe::drop_commands(sim::AgentId program, sim::Callback over) {
  std::size_t unfinished = scheduler_.cancel(program, over);
  for (const auto& queue : dma_) unfinished += queue->cancel(program, over);
  unfinished += ipcq_.cancel(program, over);
  return unfinished + gemm_.cancel(program, over) + vector_.cancel(program, over);
}

void Pe::check_legs(const Command& command) const {
  const auto* dma = std::get_if<DmaWork>(&command.work);
  if (dma == nullptr || dma->legs.size() <= kMaximumLegs) return;
  throw ValueError(command.wait_name() + " on " + name_ + " touches " + std::to_string(dma->legs.size()) +
                   " HBM slices, but a DMA descriptor has at most " + std::to_string(kMaximumLegs) +
                   " parts: use a smaller tile");
}

void Pe::submit(const CommandRef& command) {
  check_legs(*command);
  queue_for(*command).submit(command, issue_);
}

void Pe::submit(const CompositeRef& command) {
  for (const CommandRef& each : command->commands) check_legs(*each);
  scheduler_.submit(command, issue_);
}

CommandQueue& Pe::queue_for(const Command& command) {
  switch (command.engine()) {
    case EngineKind::gemm:
      return gemm_;
    case EngineKind::vector:
      return vector_;
    case EngineKind::ipcq:
      return ipcq_.queue_for(command);
    case EngineKind::dma:
      break;
  }
  const auto asked = static_cast<std::size_t>(command.dma_queues);
  const std::size_t taken = asked == 0 ? dma_.size() : std::min(asked, dma_.size());
  return *dma_[control_.next_dma_queue(command.agent, taken)];
}

std::vector<const CommandQueue*> Pe::engine_places() const {
  std::vector<const CommandQueue*> engines;
  for (const auto& queue : dma_) engines.push_back(queue.get());
  engines.push_back(&gemm_);
  engines.push_back(&vector_);
  for (const CommandQueue* queue : ipcq_.queues()) engines.push_back(queue);
  return engines;
}

std::vector<const CommandQueue*> Pe::engines() const {
  auto engines = engine_places();
  std::erase(engines, nullptr);
  return engines;
}

// Tiles are held by commands under way and by the programs; a program that waits alone does not wait for itself.
void Pe::tcm_providers(std::vector<sim::WaitEdge>& edges) const {
  const auto add = [&](const sim::WaitNode* holder, const char* reason) {
    edges.push_back({holder, reason});
    edges.back().alternative = true;
  };
  for (const CommandQueue* engine : engines()) {
    if (!engine->empty()) add(engine, "the tiles of its commands");
  }
  for (const sim::Fiber* fiber : control_.running()) {
    const bool waits_alone = tcm_.waiters().size() == 1 && tcm_.waiters().front() == fiber;
    if (!waits_alone) add(fiber, "its tiles");
  }
}

}  // namespace kernbench::hardware
