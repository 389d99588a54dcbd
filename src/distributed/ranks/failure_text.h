// Messages about failed ranks.
#pragma once

#include <string>
#include <vector>

#include "kernbench/multiprocessing.h"

namespace kernbench::distributed {

/// A rank that was unwound because others failed.
struct Victim {
  int rank = 0;
  std::string doing;  // "waits for barrier", when it happened
};

/// "process 1 terminated with exit code 3", as PyTorch says.
std::string exit_text(int rank, int code);
/// That of each rank, by rank, a line each. All of `causes` are exit codes.
std::string exit_texts(std::vector<torch::multiprocessing::RankError> causes);

/// PyTorch's text for each cause, then a line with the victims. Ranks that failed alike, with other numbers, in other
/// lines or at other times, are one text, and so are victims that wait alike; `rank_errors` of the result has each of
/// them as it was.
std::string failure_text(const std::vector<torch::multiprocessing::RankError>& causes,
                         const std::vector<Victim>& victims);

}  // namespace kernbench::distributed
