// The PE of the machine, assembled from its components.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "hardware/control/control_processor.h"
#include "hardware/dma/dma.h"
#include "hardware/ipcq/ipcq.h"
#include "hardware/pe/compute_engine.h"
#include "hardware/pe/processing_element.h"
#include "hardware/pe/scheduler.h"
#include "topology/pe_specs.h"

namespace kernbench::hardware {

/// What a PE needs of its machine; outlives it.
struct PeEnvironment {
  sim::Scheduler& scheduler;
  const topology::Topology& topology;
  const topology::PeSpecs& pe_specs;
  const Layout& layout;
  Transport& transport;
  const Models& models;
  IpcqEnvironment& ipcq;
};

class Pe final : public ProcessingElement {
 public:
  Pe(const PeEnvironment& environment, PeCoordinate at);

  PeCoordinate coordinate() const override { return at_; }
  const std::string& name() const override { return name_; }
  TcmAllocator& tcm() override { return tcm_; }
  void submit(const CommandRef& command) override;
  void submit(const CompositeRef& command) override;

  ControlProcessor& control() { return control_; }
  const Tlb& tlb() const { return tlb_; }
  Ipcq& ipcq() { return ipcq_; }
  /// Its engines in structural order: the DMA queues, GEMM, vector, the ends of channels.
  std::vector<const CommandQueue*> engines() const;
  /// The same with null for the ends that have not been made, so that each has one place for the whole run.
  std::vector<const CommandQueue*> engine_places() const;

 private:
  std::size_t drop_commands(sim::AgentId program, sim::Callback over);
  void check_legs(const Command& command) const;
  CommandQueue& queue_for(const Command& command);
  void tcm_providers(std::vector<sim::WaitEdge>& edges) const;

  PeCoordinate at_;
  std::string name_;
  Time issue_;
  TcmAllocator tcm_;
  ControlProcessor control_;
  Tlb tlb_;
  std::vector<std::unique_ptr<DmaQueue>> dma_;
  ComputeEngine gemm_;
  ComputeEngine vector_;
  Ipcq ipcq_;
  PeScheduler scheduler_;
};

}  // namespace kernbench::hardware
