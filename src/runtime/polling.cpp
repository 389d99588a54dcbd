#include "runtime/polling.h"

#include <fmt/format.h>

#include "event/fiber.h"
#include "runtime/simulation.h"

namespace kernbench::runtime {

bool ask(const HostContext& context, bool reached, const char* call) {
  if (reached) {
    event::this_fiber::note_progress();
    return true;
  }
  event::this_fiber::sleep(context.simulation.topology().host.launch_overhead);
  event::this_fiber::note_poll([call] { return fmt::format("asks {}", call); });
  return false;
}

void note_read(HostContext& context, const DeviceStorage& storage, std::span<const DeviceBox> boxes, HostRead read) {
  const auto& tensor = storage.descriptor();
  if (!context.reads.note(tensor->name, boxes)) return;
  event::this_fiber::note_poll(
      [tensor, read] { return fmt::format("reads tensor {} by {}", tensor->name, name(read)); });
}

void note_work(HostContext& context) {
  context.reads.forget();
  event::this_fiber::note_progress();
}

}  // namespace kernbench::runtime
