// Devices, streams and events of the host API. What libtorch spells for CUDA is here torch::ahbm::…, and what Python
// has in torch.accelerator, torch::accelerator::….
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "kernbench/where.h"

namespace kernbench::runtime {
class Stream;
}

namespace kernbench::torch::ahbm {

/// Number of SIPs.
int device_count();
bool is_available();
int current_device();
/// Makes SIP `device` current for the calling fiber; a negative index does nothing.
void set_device(int device, Where where = Where::current());
/// Waits for all work of all streams of a device (default: the current one).
void synchronize(int device = -1, Where where = Where::current());

class Stream;

/// A point in a stream's order, with its simulated time.
class Event {
 public:
  Event();
  /// Records on the current stream of the current device, or on `stream`.
  void record(Where where = Where::current());
  void record(const Stream& stream, Where where = Where::current());
  /// What is given to `stream` from now on begins after this point. When nothing was recorded nothing happens, and the
  /// result has a warning; an event that is recorded again later does not move the point.
  void block(const Stream& stream, Where where = Where::current()) const;
  /// Likewise for the current stream.
  void wait(Where where = Where::current()) const;
  /// True when everything before the record has finished. Asking in vain costs the host the launch overhead, so that a
  /// loop that polls comes to its end.
  bool query(Where where = Where::current()) const;
  void synchronize(Where where = Where::current()) const;
  /// Milliseconds from this event to `end`. ValueError while one of them is not recorded or not finished.
  double elapsed_time(const Event& end, Where where = Where::current()) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// Commands to one device that run one after the other, in the order in which they were given. Streams are independent
/// of each other; events order them. Launches, copies to a device and fills go to the calling fiber's current stream of
/// the device; a host read waits for what produces the tensor, whatever stream it is in. Memory that a command uses
/// stays allocated until the command has completed, in whichever stream it runs, so that there is nothing to
/// record_stream.
class Stream {
 public:
  /// A new stream of `device` (default: the current one).
  explicit Stream(int device = -1, Where where = Where::current());
  int device_index() const { return device_; }
  /// 0 is the device's default stream.
  std::int64_t id() const { return id_; }
  /// Waits until all that was given to the stream so far has completed.
  void synchronize(Where where = Where::current()) const;
  /// Whether it has. Asking in vain costs the host the launch overhead.
  bool query(Where where = Where::current()) const;
  /// What is given to this stream from now on begins after the event (after all that `other` was given so far).
  void wait_event(const Event& event, Where where = Where::current()) const;
  void wait_stream(const Stream& other, Where where = Where::current()) const;
  /// A new event recorded on this stream.
  Event record_event(Where where = Where::current()) const;
  bool operator==(const Stream& other) const { return device_ == other.device_ && id_ == other.id_; }

  /// The stream of that number. For the library's own use.
  Stream(int device, std::int64_t id, std::weak_ptr<runtime::Stream> stream);
  /// ValueError when its simulation has ended.
  std::shared_ptr<runtime::Stream> state(const char* call) const;

 private:
  int device_;
  std::int64_t id_;
  std::weak_ptr<runtime::Stream> stream_;
};

/// The stream of the calling fiber on a device (default: the current one), the default one until set_stream.
Stream current_stream(int device = -1);
Stream default_stream(int device = -1);
/// Makes `stream` current on its device, and its device the current one.
void set_stream(const Stream& stream, Where where = Where::current());

/// Makes a device current while it lives; a negative index does nothing.
class DeviceGuard {
 public:
  explicit DeviceGuard(int device, Where where = Where::current());
  ~DeviceGuard();
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

 private:
  int before_;
};

/// Makes a stream current, and its device, while it lives; then both are what they were.
class StreamGuard {
 public:
  explicit StreamGuard(const Stream& stream, Where where = Where::current());
  ~StreamGuard();
  StreamGuard(const StreamGuard&) = delete;
  StreamGuard& operator=(const StreamGuard&) = delete;

 private:
  int device_before_;
  Stream before_;
};

}  // namespace kernbench::torch::ahbm

namespace kernbench::torch::accelerator {
inline int device_count() {
  return ahbm::device_count();
}
inline bool is_available() {
  return ahbm::is_available();
}
inline int current_device_index() {
  return ahbm::current_device();
}
inline void set_device_index(int device, Where where = Where::current()) {
  ahbm::set_device(device, where);
}
inline void synchronize(int device = -1, Where where = Where::current()) {
  ahbm::synchronize(device, where);
}
inline ahbm::Stream current_stream(int device = -1) {
  return ahbm::current_stream(device);
}
inline void set_stream(const ahbm::Stream& stream, Where where = Where::current()) {
  ahbm::set_stream(stream, where);
}
}  // namespace kernbench::torch::accelerator
