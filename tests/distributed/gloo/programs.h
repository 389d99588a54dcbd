// The programs of this folder in C++: those of the Python files, by the same names.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernbench/kernbench.h"

namespace kernbench::testing::gloo {

namespace dist = torch::distributed;
using dist::ReduceOp;
using torch::Tensor;

inline const std::vector<torch::ScalarType> kIntegers{torch::kInt, torch::kLong, torch::kChar, torch::kByte};
inline const std::vector<torch::ScalarType> kTypes{torch::kFloat, torch::kHalf, torch::kInt,
                                                   torch::kLong,  torch::kChar, torch::kByte};

/// Small whole numbers on the current device, another row of them for each rank.
Tensor values(int rank, std::int64_t n, torch::ScalarType dtype = torch::kFloat);

/// A rank of a program, and what it has shown.
class Rank {
 public:
  Rank(int number, int size) : rank(number), world(size) {}
  const int rank, world;
  const std::vector<std::string>& lines() const { return lines_; }

  int next() const { return (rank + 1) % world; }
  int previous() const { return (rank + world - 1) % world; }
  Tensor values(std::int64_t n, torch::ScalarType dtype = torch::kFloat) const { return gloo::values(rank, n, dtype); }

  template <class... Tensors>
  void show(const Tensors&... tensors) {
    (show_one(tensors), ...);
  }
  /// The words, as Python prints them, with blanks between them.
  template <class... Words>
  void say(const Words&... words) {
    std::string line;
    ((line += (line.empty() ? "" : " ") + word(words)), ...);
    lines_.push_back(line);
  }
  /// Only whether it fails: the words may differ.
  void attempt(const std::function<void()>& call);

 private:
  void show_one(const Tensor& tensor);
  static std::string word(bool value) { return value ? "True" : "False"; }
  static std::string word(int value) { return std::to_string(value); }
  static std::string word(const std::string& value) { return value; }
  static std::string word(const char* value) { return value; }
  std::vector<std::string> lines_;
};

struct Program {
  const char* name;
  void (*run)(Rank& me);
  /// A rank calls init_process_group before `run`.
  bool in_a_world = true;
  /// What the error says that ends the program here, for one that never ends on gloo, or fails on each rank.
  std::vector<std::string> error = {};
};

/// Waits on the host, as gloo's works do.
void finish(const dist::WorkRef& work);
void join_world(const Rank& me, int number = 0);

// One list for each Python file.
std::vector<Program> collective_programs();
std::vector<Program> block_programs();
std::vector<Program> group_programs();
std::vector<Program> transfer_programs();
std::vector<Program> lifecycle_programs();
std::vector<Program> object_programs();
std::vector<Program> hanging_programs();
/// All of them.
std::vector<Program> programs();

}  // namespace kernbench::testing::gloo
