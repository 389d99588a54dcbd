// What devices do: how long launches and copies are under way on each, and what it waits for while none is.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernbench/result.h"
#include "kernbench/units.h"
#include "sim/program_call.h"

namespace kernbench::runtime {

/// By whom a device is given what begins there now.
struct GivenBy {
  bool host = false;           // false: what it stood behind is over
  bool channels = false;       // that was their installation
  sim::ProgramCall call = {};  // of the host program, under way
  sim::ProgramCall wait = {};  // the last one in which it waited for devices or other ranks
  Time wait_ended = {};        // 0: there was none
  bool for_device = false;     // the wait was
};
/// As the calling fiber is.
GivenBy given_by_now();

/// A time in which a device had nothing to do.
struct IdleBefore {
  enum class Reason : std::uint8_t { host_wait, host_call, channels, event, end };
  Reason reason = Reason::event;
  sim::ProgramCall call = {};
  Time time = {};
};
std::string_view name(IdleBefore::Reason reason);
inline bool is_of_host(IdleBefore::Reason reason) {
  return reason == IdleBefore::Reason::host_wait || reason == IdleBefore::Reason::host_call;
}

/// Takes memory for the lines of a program, and none for a launch.
class DeviceActivity {
 public:
  /// Launches of one name and line on a device, under way.
  class Kernel;

  explicit DeviceActivity(std::size_t devices);
  ~DeviceActivity();
  DeviceActivity(const DeviceActivity&) = delete;
  DeviceActivity& operator=(const DeviceActivity&) = delete;

  /// A window of the region of interest begins or ends.
  void window(bool begins, Time now);

  Kernel& kernel(int device, const std::string& name, const std::source_location& where);
  /// Devices for which the above has been asked.
  std::size_t devices_with_kernels() const;
  /// Something begins on a device. Returns the time before it without anything; 0 when there is none.
  IdleBefore begin_launch(int device, Kernel& kernel, const GivenBy& by, Time now);
  void end_launch(int device, Kernel& kernel, Time now);
  void begin_copy(int device, const GivenBy& by, Time now);
  void end_copy(int device, Time now);

  /// Of the windows, or else of the whole run until now: the devices that had anything to do.
  std::vector<DeviceResult> results(bool of_windows, Time now) const;
  /// Of these results, the idle time of all devices that a launch ended which a host gave late: because it had waited
  /// for a device, or not at all.
  std::vector<WaitResult> before_launches(const std::vector<DeviceResult>& results, bool of_windows) const;

 private:
  struct Moment {
    Time all, in_windows;
  };
  struct Sum {
    std::array<Time, 2> time;  // in all, and in windows
    std::array<std::int64_t, 2> count = {};
    void add(const Moment& from, const Moment& to);
  };
  struct IdleKey {
    IdleBefore::Reason reason;
    std::string_view call, file;  // the compiler's
    std::uint_least32_t line;
    auto operator<=>(const IdleKey&) const = default;
  };
  struct Idle {
    Sum sum;
    Sum before_launches;  // of that, see there
    sim::ProgramCall call;
  };
  struct Device;

  static WaitResult wait_of(IdleBefore::Reason reason, const sim::ProgramCall& call, const Sum& sum, std::size_t span);
  Moment moment(Time now) const;
  static IdleBefore idle_before(const Device& device, const GivenBy& by, const Moment& now);
  static void pass(Device& device, const Moment& now);
  IdleBefore begin(Device& device, const GivenBy& by, const Moment& now, bool launches);

  Time window_start_, in_windows_;
  bool window_open_ = false;
  std::vector<Device> devices_;
};

}  // namespace kernbench::runtime
