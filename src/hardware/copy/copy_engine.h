// The copy engine of a SIP's IO chiplet: moves bytes between host memory and HBM slices over PCIe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "event/scheduler.h"
#include "hardware/layout.h"
#include "hardware/operation.h"
#include "hardware/transport.h"

namespace kernbench::hardware {

/// Host memory to or from HBM slices, moved by the copy engine of the SIP's IO chiplet over PCIe and the fabric.
struct CopyRequest {
  SipId sip;
  bool to_device = true;
  std::vector<DmaLeg> legs;
  std::function<void()> effect;     // when the last byte has left (device to host) or landed in device memory
  std::function<void()> completed;  // at the host
};

class CopyEngine {
 public:
  CopyEngine(event::Scheduler& scheduler, const Layout& layout, Transport& transport, SipId sip);
  ~CopyEngine();

  /// Takes the request now; the command leaves the host as its `number`-th at `leaves`.
  void start(CopyRequest request, std::uint64_t number, Time leaves);

 private:
  class Copy;
  event::Scheduler& scheduler_;
  const Layout& layout_;
  Transport& transport_;
  SipId sip_;
  std::map<std::uint64_t, std::unique_ptr<Copy>> under_way_;  // by number
};

}  // namespace kernbench::hardware
