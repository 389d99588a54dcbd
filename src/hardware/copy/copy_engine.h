// The copy engine of a SIP's IO chiplet: moves bytes between host memory and HBM slices over PCIe, and from the slices
// of its SIP to those of another.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "hardware/command.h"
#include "hardware/copy/read_window.h"
#include "hardware/layout.h"
#include "hardware/transport.h"
#include "sim/scheduler.h"

namespace kernbench::hardware {

/// Host memory to or from HBM slices, moved by the copy engine of the SIP's IO chiplet over PCIe and the fabric.
struct CopyRequest {
  SipId sip;
  bool to_device = true;
  std::vector<DmaLeg> legs;
  std::function<void()> effect;     // when the last byte has left (device to host) or landed in device memory
  std::function<void()> completed;  // at the host
  std::uint64_t owner = 0;          // whose it is, for Machine::cancel; 0: nobody's
};

/// From one slice to another: the bytes of `from`, in their order, become those of `to`.
struct PeerLeg {
  PeCoordinate source, destination;
  std::vector<StridedRange> from, to;  // of equal total; addresses local to the slices
};

inline Bytes bytes_of(std::span<const PeerLeg> legs) {
  Bytes sum;
  for (const PeerLeg& leg : legs) sum += bytes_of(leg.to);
  return sum;
}

/// HBM slices of one SIP to those of another, moved by the copy engine of the source's IO chiplet over the fabric.
struct PeerCopyRequest {
  SipId source;
  std::vector<PeerLeg> legs;
  std::function<void()> read;       // when the last byte has left the source's memory
  std::function<void()> written;    // when the last byte has landed in the destination's
  std::function<void()> completed;  // at the host
  std::uint64_t owner = 0;          // as in CopyRequest
};

class CopyEngine {
 public:
  CopyEngine(sim::Scheduler& scheduler, const Layout& layout, Transport& transport, SipId sip);
  ~CopyEngine();
  CopyEngine(const CopyEngine&) = delete;
  CopyEngine& operator=(const CopyEngine&) = delete;

  /// Takes the request now; the command leaves the host as its `number`-th at `leaves`. Of at most kMaximumLegs legs
  /// (see split.h); ValueError of none.
  void start(CopyRequest request, std::uint64_t number, Time leaves);
  void start(PeerCopyRequest request, std::uint64_t number, Time leaves);
  /// The copies of an owner that are under way finish without their effect.
  void cancel(std::uint64_t owner);

 private:
  class HostRead;
  class HostWrite;
  class PeerCopy;
  template <typename AnyCopy, typename Request>
  void begin(Request request, std::uint64_t number, Time leaves,
             std::map<std::uint64_t, std::unique_ptr<AnyCopy>>& under_way);
  /// The command of copy `number` leaves the host now; `arrived` is called when it is at the engine.
  void send_command(std::uint64_t number, sim::Callback arrived);
  /// `part`: a leg, or the name of a part of one.
  Sender sender(std::uint64_t number, std::uint64_t part) const;

  /// Copies to the host share one window. So do those to other SIPs, where their first link behind the IO chiplet is
  /// the same and the sizes are.
  ReadWindow& window_to_host();
  ReadWindow& window_to(SipId destination);
  /// `way` is that of the bytes from the farthest slice.
  Bytes window_size(std::span<const Stage> way, std::span<const Stage> behind_io) const;
  /// The slice at the far corner of the mesh.
  PeCoordinate farthest() const;

  sim::Scheduler& scheduler_;
  const Layout& layout_;
  Transport& transport_;
  SipId sip_;
  std::optional<ReadWindow> host_window_;
  std::map<std::pair<ServerId, Bytes>, ReadWindow> peer_windows_;         // by first link and size
  std::map<std::uint64_t, std::unique_ptr<HostWrite>> writes_under_way_;  // by number
  std::map<std::uint64_t, std::unique_ptr<HostRead>> reads_under_way_;
  std::map<std::uint64_t, std::unique_ptr<PeerCopy>> peers_under_way_;
};

}  // namespace kernbench::hardware
