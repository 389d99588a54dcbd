#include "report/device_use.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "report/sums.h"

namespace kernbench::report {

std::string with_place(const std::string& text, const std::string& where) {
  return where.empty() ? text : text + " at " + where;
}

std::optional<DeviceUse> device_use(const RunResult& result) {
  if (result.devices.empty()) return std::nullopt;
  DeviceUse use;
  use.devices = result.devices.size();
  use.least_busy = Time::max();
  std::map<std::tuple<std::string, std::string, std::string>, WaitResult> causes;
  for (const DeviceResult& device : result.devices) {
    use.launches = sum(use.launches, device.launches);
    use.copies = sum(use.copies, device.copies);
    if (const Time busy = sum(device.launches, device.copies); busy < use.least_busy) {
      use.least_busy = busy;
      use.least = device.device;
    }
    for (const WaitResult& idle : device.idle) {
      WaitResult all = idle;
      WaitResult& known = causes[{idle.reason, idle.operation, idle.where}];
      all.time = sum(known.time, idle.time);
      all.count = sum(known.count, idle.count);
      known = std::move(all);
      use.idle = sum(use.idle, idle.time);
    }
  }
  const auto mean = [&](Time& time) {
    time = Time::picoseconds(time.count() / static_cast<std::int64_t>(use.devices));
  };
  mean(use.launches);
  mean(use.copies);
  mean(use.idle);
  for (auto& [key, cause] : causes) {
    mean(cause.time);
    use.causes.push_back(std::move(cause));
  }
  std::ranges::stable_sort(use.causes, [](const WaitResult& a, const WaitResult& b) { return a.time > b.time; });
  return use;
}

std::string idle_text(const WaitResult& idle) {
  const bool named = !idle.operation.empty();
  if (idle.reason == "host wait")
    return with_place("after " + (named ? idle.operation : "a wait of the host"), idle.where);
  if (idle.reason == "host call")
    return with_place(named ? "until the call of " + idle.operation : "until a call of the host", idle.where);
  if (idle.reason == "channels") return "while channels are installed";
  if (idle.reason == "event") return "behind other devices and streams";
  return idle.reason == "end" ? "at the end" : idle.reason;
}

std::string waited_for_text(const WaitResult& wait) {
  std::string text = wait.reason;
  if (!wait.operation.empty()) text += ": " + wait.operation;
  text = with_place(text, wait.where);
  if (wait.reason == "event" && wait.cause == "event" && !wait.cause_where.empty())
    return text + ", recorded at " + wait.cause_where;
  return wait.cause.empty() ? text : text + ": " + with_place(wait.cause, wait.cause_where);
}

}  // namespace kernbench::report
