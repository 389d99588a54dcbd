#include "hardware/resources.h"

#include <utility>

#include "hardware/ipcq/ipcq.h"
#include "hardware/pe/command_queue.h"
#include "hardware/pe/pe.h"

namespace kernbench::hardware {
namespace {

struct NamedUsage {
  const Fabric& fabric;
  std::vector<ResourceUsage> usage = {};
  std::size_t place = 0;

  void server(ServerId server) {
    const ServerCounters counters = fabric.counters(server);
    const ServerSpec& spec = fabric.spec(server);
    usage.push_back({spec.name, spec.part.kind, counters.busy, counters.bytes, place++});
  }
  void engine(const CommandQueue& engine) { processor(engine.id(), engine.busy_now()); }
  void idle_engine(const PartId& part) { processor(part, {}); }
  void unmade() { ++place; }
  void processor(const PartId& part, Time busy) { usage.push_back({to_text(part), part.kind, busy, {}, place++}); }
};

struct Counters {
  const Fabric& fabric;
  std::vector<ResourceCounters> counters = {};

  void server(ServerId server) {
    const ServerCounters now = fabric.counters(server);
    counters.push_back({now.busy, now.bytes});
  }
  void engine(const CommandQueue& engine) { counters.push_back({engine.busy_now(), {}}); }
  void idle_engine(const PartId&) { unmade(); }
  void unmade() { counters.emplace_back(); }
  void processor(const PartId&, Time busy) { counters.push_back({busy, {}}); }
};

template <class Visitor>
void visit_servers(ServerId first, ServerId last, Visitor& visitor) {
  for (ServerId server = first; server.value <= last.value; ++server.value) visitor.server(server);
}

}  // namespace

template <class Visitor>
void Resources::visit_engines(std::int64_t pe_index, Visitor& visitor) const {
  if (const auto& made = pes_[static_cast<std::size_t>(pe_index)]; made) {
    for (const CommandQueue* engine : made->engine_places()) {
      if (engine != nullptr) {
        visitor.engine(*engine);
      } else {
        visitor.unmade();
      }
    }
    return;
  }
  const PeCoordinate at = layout_.pe_at(pe_index);
  for (std::int32_t queue = 0; queue < topology_.pe.dma.queues; ++queue) {
    visitor.idle_engine({PartKind::dma_queue, at, queue});
  }
  visitor.idle_engine({PartKind::gemm, at});
  visitor.idle_engine({PartKind::vector, at});
  for (std::size_t queue = 0; queue < Ipcq::places(topology_); ++queue) visitor.unmade();
}

template <class Visitor>
void Resources::visit(Visitor& visitor) const {
  for (std::uint32_t link = 0; link < links_; ++link) visitor.server(ServerId{link});
  for (std::int64_t index = 0; index < layout_.pe_count(); ++index) {
    const PeCoordinate at = layout_.pe_at(index);
    visit_servers(layout_.channel(at, 0), layout_.tcm_port(at), visitor);
    visit_engines(index, visitor);
  }
  for (std::int64_t index = 0; index < layout_.cube_count(); ++index) {
    visitor.server(layout_.sram(layout_.cube_at(index)));
  }
  for (std::int32_t sip = 0; sip < layout_.built_sips(); ++sip) {
    visitor.processor({PartKind::io_cpu, SipId{sip}}, launches_.io_cpu_busy(SipId{sip}));
  }
  for (std::int64_t index = 0; index < layout_.cube_count(); ++index) {
    visitor.processor({PartKind::m_cpu, layout_.cube_at(index)}, launches_.m_cpu_busy(index));
  }
}

std::size_t Resources::count(std::size_t places_of_pe) const {
  const auto pes = static_cast<std::size_t>(layout_.pe_count());
  const auto processors = static_cast<std::size_t>(layout_.built_sips() + layout_.cube_count());
  return fabric_.server_count() + pes * places_of_pe + processors;
}

std::vector<ResourceUsage> Resources::usage() const {
  NamedUsage named{fabric_};
  named.usage.reserve(count(engines()));  // ends of channels are few
  visit(named);
  return std::move(named.usage);
}

std::vector<ResourceCounters> Resources::counters_now() const {
  Counters counters{fabric_};
  counters.counters.reserve(count(engines() + Ipcq::places(topology_)));
  visit(counters);
  return std::move(counters.counters);
}

}  // namespace kernbench::hardware
