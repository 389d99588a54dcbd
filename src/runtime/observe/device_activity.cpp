#include "runtime/observe/device_activity.h"

#include <algorithm>
#include <compare>
#include <cstddef>
#include <tuple>

#include "runtime/context.h"
#include "sim/fiber.h"

namespace kernbench::runtime {

GivenBy given_by_now() {
  sim::Fiber* const fiber = sim::this_fiber::current();
  if (fiber == nullptr || fiber->local(sim::Fiber::Slot::kernel) != nullptr) return {};
  const auto* context = static_cast<const HostContext*>(fiber->local(sim::Fiber::Slot::host).get());
  if (context == nullptr) return {};
  const auto& wait = context->last_wait;
  return {.host = true,
          .call = fiber->call(),
          .wait = wait.call,
          .wait_ended = wait.ended,
          .for_device = wait.whom == WaitFor::device};
}

std::string_view name(IdleBefore::Reason reason) {
  constexpr std::array<std::string_view, 5> kNames = {"host wait", "host call", "channels", "event", "end"};
  return kNames[static_cast<std::size_t>(reason)];
}

// A sum grows when what it counts ends: by the difference of two moments, each of which has both times.
void DeviceActivity::Sum::add(const Moment& from, const Moment& to) {
  const std::array<Time, 2> passed = {to.all - from.all, to.in_windows - from.in_windows};
  for (std::size_t i = 0; i < passed.size(); ++i) {
    time[i] += passed[i];
    count[i] += passed[i] > Time::zero() ? 1 : 0;
  }
}

class DeviceActivity::Kernel {
 public:
  void begin(const Moment& now) {
    if (under_way_++ == 0) since_ = now;
  }
  void end(const Moment& now) {
    if (--under_way_ == 0) sum_.add(since_, now);
  }
  Time time(std::size_t span, const Moment& now) const {
    Sum sum = sum_;
    if (under_way_ > 0) sum.add(since_, now);
    return sum.time[span];
  }

 private:
  std::int64_t under_way_ = 0;
  Moment since_;
  Sum sum_;
};

struct DeviceActivity::Device {
  std::int64_t launches = 0, copies = 0;  // under way
  Moment since;                           // of this state
  Sum launching, copying;
  std::map<IdleKey, Idle> idle;
  std::map<std::pair<std::string, std::string>, Kernel> kernels;  // by name and line

  bool is_idle() const { return launches + copies == 0; }
};

DeviceActivity::DeviceActivity(std::size_t devices) : devices_(devices) {}
DeviceActivity::~DeviceActivity() = default;

void DeviceActivity::window(bool begins, Time now) {
  if (window_open_) in_windows_ += now - window_start_;
  window_open_ = begins;
  window_start_ = now;
}

DeviceActivity::Moment DeviceActivity::moment(Time now) const {
  return {now, window_open_ ? in_windows_ + (now - window_start_) : in_windows_};
}

DeviceActivity::Kernel& DeviceActivity::kernel(int device, const std::string& name, const std::source_location& where) {
  return devices_[static_cast<std::size_t>(device)].kernels[{name, sim::place_text(where)}];
}

std::size_t DeviceActivity::devices_with_kernels() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(devices_, [](const Device& device) { return !device.kernels.empty(); }));
}

/// While nothing is under way, time is added when something begins.
void DeviceActivity::pass(Device& device, const Moment& now) {
  if (device.is_idle()) return;
  (device.launches > 0 ? device.launching : device.copying).add(device.since, now);
  device.since = now;
}

/// A host that has waited since the device was at rest could give nothing before.
IdleBefore DeviceActivity::idle_before(const Device& device, const GivenBy& by, const Moment& now) {
  const Time time = now.all - device.since.all;
  if (!by.host) return {by.channels ? IdleBefore::Reason::channels : IdleBefore::Reason::event, {}, time};
  const bool has_waited = by.wait_ended > Time::zero() && by.wait_ended >= device.since.all;
  return has_waited ? IdleBefore{IdleBefore::Reason::host_wait, by.wait, time}
                    : IdleBefore{IdleBefore::Reason::host_call, by.call, time};
}

IdleBefore DeviceActivity::begin(Device& device, const GivenBy& by, const Moment& now, bool launches) {
  pass(device, now);
  if (!device.is_idle()) return {};
  const IdleBefore before = idle_before(device, by, now);
  const std::string_view call = before.call.name == nullptr ? "" : before.call.name;
  Idle& idle = device.idle[{before.reason, call, before.call.where.file_name(), before.call.where.line()}];
  idle.call = before.call;
  idle.sum.add(device.since, now);
  const bool waited_for_ranks = before.reason == IdleBefore::Reason::host_wait && !by.for_device;
  if (launches && is_of_host(before.reason) && !waited_for_ranks) idle.before_launches.add(device.since, now);
  device.since = now;
  return before;
}

IdleBefore DeviceActivity::begin_launch(int device, Kernel& kernel, const GivenBy& by, Time now) {
  Device& mine = devices_[static_cast<std::size_t>(device)];
  const Moment here = moment(now);
  const IdleBefore before = begin(mine, by, here, true);
  ++mine.launches;
  kernel.begin(here);
  return before;
}

void DeviceActivity::end_launch(int device, Kernel& kernel, Time now) {
  Device& mine = devices_[static_cast<std::size_t>(device)];
  const Moment here = moment(now);
  pass(mine, here);
  --mine.launches;
  kernel.end(here);
}

void DeviceActivity::begin_copy(int device, const GivenBy& by, Time now) {
  Device& mine = devices_[static_cast<std::size_t>(device)];
  begin(mine, by, moment(now), false);
  ++mine.copies;
}

void DeviceActivity::end_copy(int device, Time now) {
  Device& mine = devices_[static_cast<std::size_t>(device)];
  pass(mine, moment(now));
  --mine.copies;
}

WaitResult DeviceActivity::wait_of(IdleBefore::Reason reason, const sim::ProgramCall& call, const Sum& sum,
                                   std::size_t span) {
  return {.reason = std::string(name(reason)),
          .operation = call.name == nullptr ? "" : call.name,
          .where = sim::place_text(call.where),
          .cause = {},
          .cause_where = {},
          .time = sum.time[span],
          .count = sum.count[span]};
}

std::vector<WaitResult> DeviceActivity::before_launches(const std::vector<DeviceResult>& results,
                                                        bool of_windows) const {
  const std::size_t span = of_windows ? 1 : 0;
  std::vector<WaitResult> all;
  for (const DeviceResult& result : results) {
    for (const auto& [key, idle] : devices_[static_cast<std::size_t>(result.device)].idle) {
      if (idle.before_launches.time[span] == Time::zero()) continue;
      all.push_back(wait_of(key.reason, idle.call, idle.before_launches, span));
    }
  }
  return all;
}

std::vector<DeviceResult> DeviceActivity::results(bool of_windows, Time now) const {
  const std::size_t span = of_windows ? 1 : 0;
  const Moment here = moment(now);
  std::vector<DeviceResult> all;
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    const Device& device = devices_[i];
    Sum launching = device.launching, copying = device.copying, rest;
    (device.launches > 0 ? launching : device.copies > 0 ? copying : rest).add(device.since, here);
    DeviceResult result{static_cast<std::int32_t>(i), launching.time[span], copying.time[span], {}, {}};
    if (result.launches + result.copies == Time::zero()) continue;
    const auto add = [&](IdleBefore::Reason reason, const sim::ProgramCall& call, const Sum& sum) {
      if (sum.time[span] > Time::zero()) result.idle.push_back(wait_of(reason, call, sum, span));
    };
    for (const auto& [key, idle] : device.idle) add(key.reason, idle.call, idle.sum);
    add(IdleBefore::Reason::end, {}, rest);
    // By texts, since where the compiler has put its own is no order.
    std::ranges::sort(result.idle, [](const WaitResult& a, const WaitResult& b) {
      return std::tie(b.time, a.reason, a.operation, a.where) < std::tie(a.time, b.reason, b.operation, b.where);
    });
    for (const auto& [key, kernel] : device.kernels) {
      const Time time = kernel.time(span, here);
      if (time > Time::zero()) result.kernels.push_back({key.first, key.second, time});
    }
    all.push_back(std::move(result));
  }
  return all;
}

}  // namespace kernbench::runtime
