// Unwinds a rank that calls exit().
#pragma once

namespace kernbench::distributed {

/// Thrown by torch::multiprocessing::exit. Not a std::exception, like Cancelled.
struct RankExit {
  int code = 0;
};

}  // namespace kernbench::distributed
