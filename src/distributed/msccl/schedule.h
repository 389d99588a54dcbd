// The contents of an MSCCL file: what each threadblock of each gpu does in a collective, step by step.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "distributed/algorithms/algorithm.h"

namespace kernbench::distributed::msccl {

/// In the order of kStepTypeNames.
enum class StepType : std::uint8_t {
  send,                      // src
  receive,                   // to dst
  receive_copy_send,         // to dst, and on
  receive_reduce_send,       // with src, and on
  receive_reduce_copy,       // with src, to dst
  receive_reduce_copy_send,  // with src, to dst, and on
  reduce,                    // dst with src, to dst
  copy,                      // src to dst
  nothing,                   // a dependency and no more
};
inline constexpr std::array<std::string_view, 9> kStepTypeNames{"s",    "r",  "rcs", "rrs", "rrc",
                                                                "rrcs", "re", "cpy", "nop"};
constexpr bool sends(StepType type) {
  return type == StepType::send || type == StepType::receive_copy_send || type == StepType::receive_reduce_send ||
         type == StepType::receive_reduce_copy_send;
}
constexpr bool receives(StepType type) {
  return type >= StepType::receive && type <= StepType::receive_reduce_copy_send;
}
constexpr bool folds(StepType type) {
  return type >= StepType::receive_reduce_send && type <= StepType::reduce;
}
constexpr bool reads_source(StepType type) {
  return type == StepType::send || folds(type) || type == StepType::copy;
}
constexpr bool writes(StepType type) {
  return type != StepType::send && type != StepType::receive_reduce_send && type != StepType::nothing;
}

enum class Buffer : std::uint8_t { input, output, scratch };
inline constexpr std::array<std::string_view, 3> kBufferNames{"i", "o", "s"};

struct Step {
  int line = 0;
  StepType type = StepType::nothing;
  Buffer source = Buffer::input, target = Buffer::output;
  int source_at = 0, target_at = 0;       // chunks
  int count = 1;                          // of chunks that follow each other
  int after_block = -1, after_step = -1;  // place of the threadblock and number of its step; -1: none
  bool has_dependents = false;
};
struct ThreadBlock {
  int line = 0, id = 0;
  int send = -1, receive = -1;  // gpus; -1: none
  int channel = 0;
  std::vector<Step> steps;
};
struct Gpu {
  int line = 0;
  int inputs = 0, outputs = 0, scratch = 0;  // chunks
  std::vector<ThreadBlock> blocks;
};
struct Schedule {
  std::string file, name;
  CollectiveOperation operation = CollectiveOperation::all_reduce;
  bool in_place = false;
  int chunks = 1;  // of the tensor of an all-reduce; of a block of the others
  std::vector<Gpu> gpus;

  int ranks() const { return static_cast<int>(gpus.size()); }
};

/// Reads a file's text. ConfigurationError with all problems, a line each:
///   ring.xml:7: step 2 of tb 0 of gpu 1: unknown type "rrx"; take one of s, r, rcs, …
Schedule parse(const std::string& text, const std::string& file);

/// "step 2 of tb 0 of gpu 1"; a step of -1: the threadblock.
std::string place_text(const Schedule& schedule, int gpu, int block, int step);
/// Throws the ConfigurationError of one fault, at a line of the file.
[[noreturn]] void refuse(const Schedule& schedule, int line, const std::string& what, const std::string& reason);

}  // namespace kernbench::distributed::msccl
