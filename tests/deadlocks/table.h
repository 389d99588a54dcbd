// A table of programs that get stuck, and what the first line of the error says of each.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kernbench/kernbench.h"

namespace kernbench::deadlocks_test {

namespace dist = torch::distributed;
namespace mp = torch::multiprocessing;

/// A machine as it is shipped, with so many SIPs.
struct TableMachine {
  const char* topology = "ahbm-2sip";
  int sips = 2;
};
inline constexpr TableMachine kTwoSips{"ahbm-2sip", 2}, kThreeSips{"ahbm-2sip", 3}, kSixteenSips{"ahbm-2sip", 16},
    kSixtyFourSips{"ahbm-2sip", 64}, kPesOfOneSip{"ahbm-1sip", 1};

struct StuckProgram {
  std::string name;
  TableMachine machine;
  std::function<void()> program;
  /// What is said behind "deadlock at TIME: ", where a ~ stands for anything.
  std::string first_line;
};

/// Ranks that a collective or a barrier waits for.
std::vector<StuckProgram> missing_ranks();
/// Ranks that wait for each other.
std::vector<StuckProgram> crossed_ranks();
/// Sends and receives.
std::vector<StuckProgram> messages_between_ranks();
/// The same with messages so small that they wait for their receives in the channels: these end.
std::vector<StuckProgram> messages_that_arrive();
/// Programs of kernels: queues, signals, barriers, TCM.
std::vector<StuckProgram> stuck_kernels();

/// So many ranks in one process group, each on its device, or on its PE where there are more ranks than devices.
std::function<void()> ranks(int count, std::function<void(int rank)> worker);
/// On one PE of the rank's device.
torch::Tensor small(std::int64_t elements = 16);
/// Over all PEs of the rank's device.
torch::Tensor spread(std::int64_t elements = 1 << 12);
/// Waits until the device has done what it was given.
void read(const torch::Tensor& tensor);

}  // namespace kernbench::deadlocks_test
