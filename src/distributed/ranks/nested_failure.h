// Failures that come up through many nested spawns, in a few lines.
#pragma once

#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernbench/multiprocessing.h"

namespace kernbench::distributed {

/// The spawns through which a failure has come up, where each had no other causes.
struct Nest {
  int levels = 1;
  std::string innermost;  // the text of the innermost kMostNestedTexts, or of all
};

/// So many levels are told in full; of more, only the innermost ones and the outermost.
inline constexpr int kMostNestedTexts = 2;

/// A SpawnException whose causes are all the same SpawnException of a spawn within.
class NestedSpawnException final : public torch::multiprocessing::SpawnException {
 public:
  NestedSpawnException(const std::string& message, std::int64_t process,
                       std::vector<torch::multiprocessing::RankError> causes, std::vector<int> unwound, Nest nest)
      : SpawnException(message, process, std::move(causes), std::move(unwound)), nest_(std::move(nest)) {}
  const Nest& nest() const { return nest_; }

 private:
  Nest nest_;
};

/// Of an error that a spawn has thrown.
std::optional<Nest> nest_of(const std::exception_ptr& error);
/// Of a spawn with these causes, whose text is `text`; none: its causes are not all of one spawn within.
std::optional<Nest> nest_around(const std::vector<torch::multiprocessing::RankError>& causes, const std::string& text);
/// "after 997 more nested spawns:", and then the innermost ones.
std::string nest_text(const Nest& nest);

}  // namespace kernbench::distributed
