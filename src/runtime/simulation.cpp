#include "runtime/simulation.h"

#include <fmt/format.h>

#include <cstdio>
#include <functional>
#include <string_view>
#include <thread>

#include "runtime/devices/simulated_devices.h"
#include "sim/program_call.h"
#include "tile/races/race_detector.h"

namespace kernbench::runtime {

namespace {

int host_threads(int requested) {
  if (requested > 0) return requested;
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

std::function<void(std::string_view)> printer(const SimulateOptions& options) {
  if (options.print) return options.print;
  return [](std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); };
}

std::unique_ptr<TraceRecorder> make_trace(const SimulateOptions& options, const topology::Topology& topology) {
  if (options.trace.empty()) return nullptr;
  const std::string seed = std::to_string(options.seed);
  return std::make_unique<TraceRecorder>(
      options.trace, topology,
      trace::Arguments{{"topology", std::string_view(topology.name)},
                       {"seed", std::string_view(seed)},
                       {"correlation id", std::string_view(options.correlation_id)}});
}

class TensorNames final : public numerics::PlaceNames {
 public:
  explicit TensorNames(std::shared_ptr<const addressing::TensorDescriptor> tensor) : tensor_(std::move(tensor)) {}
  std::string name(std::size_t range, std::int64_t offset) const override {
    return tensor::element_text(*tensor_, range, offset);
  }

 private:
  std::shared_ptr<const addressing::TensorDescriptor> tensor_;
};

}  // namespace

void DeviceContents::on_map(PeCoordinate slice, std::uint64_t address, Bytes bytes, const tensor::TensorRange& range) {
  if (!enabled_) return;
  if (named_ != range.tensor) {
    named_ = range.tensor;
    names_ = std::make_shared<TensorNames>(range.tensor);
  }
  bytes_.slice(slice).map(address, bytes.count(), zeros_, {names_, range.number, 0});
}

void DeviceContents::on_unmap(PeCoordinate slice, std::uint64_t address, Bytes bytes) {
  if (enabled_) bytes_.slice(slice).unmap(address, bytes.count());
}

Simulation::Simulation(const SimulateOptions& options, topology::Topology topology)
    : launches(options.detailed_launches),
      activity(static_cast<std::size_t>(topology.system.sips)),
      options_(options),
      topology_(std::move(topology)),
      region_(std::make_shared<RegionRecorder>(machine_)),
      log_(options.operation_log),
      trace_(make_trace(options, topology_)),
      executor_(host_threads(options.threads), options.data, options.skip_floating_point_ops),
      constants_(1, !options.data),
      bytes_(executor_, topology_),
      addresses_(topology_.pe.mmu.page),
      contents_(bytes_, options.data, options.uninitialized_memory == UninitializedMemory::zero),
      memory_(topology_, addresses_, &contents_),
      queue_resources_(std::make_shared<QueueResources>(topology_, memory_)),
      machine_(scheduler_, topology_,
               {.exact_events = options.exact_events,
                .models = options.models,
                .observer = trace_.get(),
                .alike_devices = options.alike_devices}),
      environment_{scheduler_,
                   machine_,
                   executor_,
                   options.data ? executor_ : constants_,
                   bytes_,
                   addresses_,
                   stream_,
                   options.data,
                   printer(options),
                   options.uninitialized_memory == UninitializedMemory::zero,
                   options.out_of_bounds_reads == OutOfBoundsReads::uninitialized,
                   &failures_},
      launch_queues_(*this),
      devices_(std::make_unique<SimulatedDevices>(*this)) {
  environment_.sram = queue_resources_;
  log_.subscribe_to(stream_);
  if (options.explain) {
    explainer_.emplace(machine_).subscribe_to(stream_);
    environment_.explainer = &*explainer_;
  }
  region_->observe_with([this](bool begins, Time now) { activity.window(begins, now); });
  if (trace_) {
    if (!options_.whole_run) region_->observe_with([this](bool begins, Time now) { trace_->region(begins, now); });
    trace_->attach(machine_);
    trace_->subscribe_to(stream_);
  }
  if (options.detect_races) {
    races_ = std::make_unique<tile::RaceDetector>(
        [this](PeCoordinate slice, std::uint64_t address) { return memory_.place_text(slice, address); });
    races_->subscribe_to(stream_);
  }
  streams_.resize(static_cast<std::size_t>(topology_.system.sips));
  for (std::size_t device = 0; device < streams_.size(); ++device) {
    busy_streams_.push_back(std::make_shared<BusyStreams>());
  }
  for (int device = 0; device < topology_.system.sips; ++device) add_stream(device);
}

std::span<const RaceResult> Simulation::races() const {
  return races_ ? races_->results() : std::span<const RaceResult>();
}

ErrorText Simulation::describe(const std::exception_ptr& error) const {
  ErrorText text = error_text(error);
  if (text.where.empty()) text.where = failures_.find(error);
  const bool may_be_of_unlike_devices = text.type == "DeadlockError" || text.type == "MessageMismatchError";
  if (options_.alike_devices && may_be_of_unlike_devices)
    text.message += "; devices were taken to be alike: do ranks differ in what they send or wait for?";
  return text;
}

Simulation::~Simulation() {
  region_->finish();
  distributed.reset();  // before the machine
}

Stream::Observer Simulation::stream_observer(const std::string& stream) {
  return [this, stream](const std::string& command, const std::source_location& where, bool begins) {
    const Time now = scheduler_.now();
    begins ? trace_->begin_command(stream, command, sim::place_text(where), now) : trace_->end_command(stream, now);
  };
}

Stream& Simulation::stream(int device, std::size_t index) {
  return *streams_[static_cast<std::size_t>(device)].at(index);
}

std::size_t Simulation::stream_count(int device) const {
  return streams_[static_cast<std::size_t>(device)].size();
}

std::optional<std::size_t> Simulation::busy_stream(int device, std::size_t from) const {
  const BusyStreams& busy = *busy_streams_[static_cast<std::size_t>(device)];
  const auto found = busy.lower_bound(from + 1);
  return found == busy.end() ? std::nullopt : std::optional<std::size_t>(*found - 1);
}

std::size_t Simulation::add_stream(int device) {
  auto& streams = streams_[static_cast<std::size_t>(device)];
  const Name number = Name::slot(SlotKind::part, static_cast<std::int64_t>(streams.size()));
  streams.push_back(std::make_shared<Stream>(named("{} stream {}", to_name(SipId{device}), number), streams.size() + 1,
                                             topology_.sip.io.queue, busy_streams_[static_cast<std::size_t>(device)],
                                             scheduler_));
  if (trace_) streams.back()->observe_with(stream_observer(streams.back()->name()));
  return streams.size() - 1;
}

std::weak_ptr<Stream> Simulation::stream_handle(int device, std::size_t index) const {
  return streams_[static_cast<std::size_t>(device)].at(index);
}

void Simulation::drop_cancelled_commands() {
  for (int device = 0; device < topology_.system.sips; ++device) {
    // By number: what a dropped command lets go on may make a stream.
    for (auto index = busy_stream(device, 0); index; index = busy_stream(device, *index + 1)) {
      stream(device, *index).drop_cancelled();
    }
  }
}

void Simulation::append_unfinished(std::vector<const sim::WaitNode*>& nodes) const {
  for (std::size_t device = 0; device < streams_.size(); ++device) {
    for (const std::uint64_t number : *busy_streams_[device]) {
      nodes.push_back(streams_[device][number - 1]->last().get());
    }
  }
}

Name Simulation::unique_name(const std::string& name, const std::string& worker_path) {
  const std::string counted = worker_path.empty() ? name + "#" : name + "#" + worker_path + ".";
  const std::uint64_t number = name_counts_[counted]++;
  if (worker_path.empty()) return counted + std::to_string(number);
  return named("{}#{}.{}", name, Name::path(worker_path), number);
}

numerics::OperationKey Simulation::next_host_key(sim::AgentId worker) {
  return {scheduler_.now().count(), worker.value, host_operations_[worker]++};
}

void Simulation::warn_unbound(const std::string& tensor) {
  if (!options_.debug.value_or(false) || processes_ == 0 || warned_unbound_) return;
  warned_unbound_ = true;
  warn(fmt::format(
      "tensor {} is made outside of a rank, in a program that has spawned ranks: it goes to the current device of the "
      "main program, SIP 0 unless set_device was called. Said once.",
      tensor));
}

void Simulation::warn(const std::string& text) const {
  if (options_.warn) return options_.warn(text);
  fmt::print(stderr, "kernbench: warning: {}\n", text);
}

void Simulation::warn_once(const std::string& text) {
  if (said_once_.insert(text).second) warn(text);
}

}  // namespace kernbench::runtime
