// Copies from the host to a device: commands of the current stream.
#include <fmt/format.h>

#include <utility>

#include "base/name_format.h"
#include "numerics/memory/storage.h"
#include "runtime/context.h"
#include "runtime/devices/simulated_devices.h"
#include "runtime/devices/storage_places.h"
#include "runtime/host_wait.h"
#include "runtime/streams/capture.h"
#include "runtime/streams/polling.h"
#include "sim/fiber.h"

namespace kernbench::runtime {

void SimulatedDevices::write(const std::shared_ptr<tensor::DeviceStorage>& storage,
                             std::span<const tensor::DeviceBox> boxes, std::vector<tensor::HostBytes> contents) {
  const auto mine = own(storage);
  if (HostContext& context = current_context("copy to device"); context.capture) {
    refuse_while_capturing(context, fmt::format("copy from the host to tensor {}", mine->descriptor()->name),
                           "a graph has no copies from the host; make the tensor before the capture, and write it in "
                           "place before a replay");
  }
  auto transfer = locate(simulation_, *mine, boxes, Replicas::all);
  if (transfer.legs.empty()) return;
  const auto parts = std::make_shared<std::vector<BoxTransfer>>(std::move(transfer.boxes));
  if (data_enabled()) {
    const DType dtype = mine->descriptor()->dtype;
    for (std::size_t i = 0; i < parts->size(); ++i) {
      auto& part = (*parts)[i];
      const numerics::Shape shape{part.elements};
      const bool left_out = contents[i].empty() && part.elements > 0;
      part.value = left_out ? numerics::without_data(dtype, shape)
                            : numerics::from_bytes(simulation_.executor(), dtype, shape, std::move(contents[i]));
    }
  }
  note_work(current_context("copy to device"));
  sim::this_fiber::sleep(simulation_.topology().host.launch_overhead);
  auto& simulation = simulation_;
  const Worker& worker = current_context("copy to device").worker;
  const sim::ProgramCall call = sim::this_fiber::current()->call();
  auto begin = [&simulation, mine, parts, legs = std::move(transfer.legs), owner = worker.owner(), agent = worker.agent,
                call](Stream::Done done) mutable {
    const CopyUnderWay copy = simulation.begin_copy("to", mine->device(), call.where, bytes_of(legs));
    hardware::CopyRequest request;
    request.sip = SipId{mine->device()};
    request.to_device = true;
    request.owner = owner;
    request.legs = std::move(legs);
    request.effect = [&simulation, parts, agent] {
      if (!simulation.options().data) return;
      for (const auto& part : *parts) {
        numerics::scatter(simulation.executor(), simulation.next_host_key(agent), part.value, part.pieces);
      }
    };
    request.completed = [&simulation, mine, copy, done = std::move(done)] {
      simulation.log().add_time(simulation.scheduler().now());
      simulation.end_copy(copy);
      done();
    };
    simulation.machine().copy(std::move(request));
    return std::shared_ptr<const sim::WaitNode>();
  };
  mine->add_producer(current_stream("copy to device", mine->device())
                         .enqueue("copy to " + mine->descriptor()->name, std::move(begin)));
}

void SimulatedDevices::synchronize_current_stream(int device) {
  refuse_while_capturing(current_context("copy_"), "copy_",
                         "the call waits for the device; copy before the capture or after the replay");
  const auto last = current_stream("copy_", device).last();
  if (last) host_wait(current_context("copy_"), WaitFor::device, [&] { last->wait(); });
}

}  // namespace kernbench::runtime
