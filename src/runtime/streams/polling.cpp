#include "runtime/streams/polling.h"

#include "runtime/simulation.h"
#include "sim/fiber.h"

namespace kernbench::runtime {

bool ask(const HostContext& context, bool reached, const char* call) {
  if (reached) {
    sim::this_fiber::note_progress();
    return true;
  }
  sim::this_fiber::sleep(context.simulation.topology().host.launch_overhead);
  sim::this_fiber::note_poll([call] { return named("asks {}", call); });
  return false;
}

void note_read(HostContext& context, const tensor::DeviceStorage& storage, std::span<const tensor::DeviceBox> boxes,
               tensor::HostRead read) {
  const auto& tensor = storage.descriptor();
  if (!context.reads.note(tensor->name, boxes)) return;
  sim::this_fiber::note_poll([tensor, read] { return named("reads tensor {} by {}", tensor->name, name(read)); });
}

void note_work(HostContext& context) {
  context.reads.forget();
  sim::this_fiber::note_progress();
}

}  // namespace kernbench::runtime
