// The one-sided commands of a PE: puts, gets and signals to the windows of others, and to its own.
#pragma once

#include <cstdint>
#include <vector>

#include "hardware/ipcq/ipcq_environment.h"
#include "hardware/pe/command_queue.h"

namespace kernbench::hardware {

/// Commands start in order, each when the payload of the one before it has left; several are under way. See README.md
/// for the law.
class WindowQueue final : public CommandQueue {
 public:
  /// The environment must outlive the queue.
  WindowQueue(IpcqEnvironment& environment, PeCoordinate pe);

 private:
  /// A command under way.
  struct Access {
    Command* command = nullptr;
    bool landed = true, announced = true;  // what the update of a signal word has to wait for
  };
  void begin(Command& command) override;
  bool takes(const Command& /*next*/) override { return !leaving_; }
  Sender next_sender();
  void requested(std::uint64_t access);
  void read(std::uint64_t access);
  void departed(std::uint64_t access);
  void landed(std::uint64_t access);
  void announce(std::uint64_t access);
  void announced(std::uint64_t access);
  void update_when_complete(std::uint64_t access);
  void update(std::uint64_t access);
  void acknowledge(topology::Endpoint from, std::uint64_t access);
  void over(std::uint64_t access);

  IpcqEnvironment& environment_;
  PeCoordinate pe_;
  sim::AgentId agent_;
  std::uint64_t steps_ = 0;       // of this agent: messages, transfers and steps share the numbers
  std::vector<Access> accesses_;  // by place; as many as have ever been under way at a time
  bool leaving_ = false;          // a payload
};

}  // namespace kernbench::hardware
