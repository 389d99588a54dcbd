#include "distributed/tuning.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>
#include <vector>

#include "base/quantity.h"
#include "base/text.h"
#include "kernbench/error.h"
#include "topology/document.h"
#include "topology/files.h"

namespace kernbench::distributed {
namespace {

using topology::Entry;
using topology::Node;
using Problems = std::vector<topology::Problem>;

constexpr std::string_view kSips = "_sips", kPes = "_pes";

std::string group_text(int ranks, bool rank_per_pe) {
  return fmt::format("{}{}", ranks, rank_per_pe ? kPes : kSips);
}

/// "4_sips": the number of ranks, and whether each is a PE.
std::optional<std::pair<int, bool>> group_of(std::string_view text) {
  const bool pes = text.ends_with(kPes);
  if (!pes && !text.ends_with(kSips)) return {};
  const std::string_view digits = text.substr(0, text.size() - (pes ? kPes : kSips).size());
  int ranks = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), ranks);
  if (error != std::errc() || end != digits.data() + digits.size() || ranks < 1) return {};
  return std::pair{ranks, pes};
}

const std::vector<Entry>& entries_of(const Node& node, const std::string& what, Problems& problems) {
  if (node.kind != Node::Kind::mapping && node.kind != Node::Kind::invalid)
    problems.push_back({node.place, what + ": a mapping is expected here"});
  return node.entries;
}

}  // namespace

Tuning::Tuning(std::string_view yaml, const std::string& file_name, const AlgorithmTable& table) : file_(file_name) {
  Problems problems;
  const Node root = topology::parse_document(yaml, -1, problems);
  for (const Entry& by_operation : entries_of(root, "the file", problems)) {
    const auto name = std::ranges::find(kCollectiveOperationNames, by_operation.key);
    if (name == kCollectiveOperationNames.end()) {
      problems.push_back({by_operation.place, fmt::format("{}: unknown operation; there are {}", by_operation.key,
                                                          fmt::join(kCollectiveOperationNames, ", "))});
      continue;
    }
    const auto operation = kCollectiveOperations[static_cast<std::size_t>(name - kCollectiveOperationNames.begin())];
    for (const Entry& by_group : entries_of(by_operation.value, by_operation.key, problems)) {
      const std::string path = by_operation.key + "." + by_group.key;
      const auto group = group_of(by_group.key);
      if (!group) {
        problems.push_back({by_group.place, path + ": expected a number of ranks such as 4_sips or 128_pes"});
        continue;
      }
      Sizes sizes;
      for (const Entry& from : entries_of(by_group.value, path, problems)) {
        try {
          const Bytes bytes = parse_bytes(from.key);
          sizes[bytes.count()] = table.find(operation, from.value.text).name;
        } catch (const Error& error) {
          problems.push_back({from.place, fmt::format("{}.{}: {}", path, from.key, error.what())});
        }
      }
      if (sizes.empty()) problems.push_back({by_group.place, path + ": expected a size and an algorithm"});
      best_[operation][{group->first, group->second}] = std::move(sizes);
    }
  }
  if (!problems.empty()) topology::throw_problems(problems, file_name);
}

const Tuning::Sizes* Tuning::sizes_of(CollectiveOperation operation, int ranks, bool rank_per_pe) const {
  const auto groups = best_.find(operation);
  if (groups == best_.end()) return nullptr;
  const auto sizes = groups->second.find({ranks, rank_per_pe});
  return sizes == groups->second.end() ? nullptr : &sizes->second;
}

void Tuning::set(CollectiveOperation operation, int ranks, bool rank_per_pe, Sizes sizes) {
  best_[operation][{ranks, rank_per_pe}] = std::move(sizes);
}

std::string Tuning::yaml() const {
  std::string text = "# The best algorithm from each size on, by measurement: written by kernbench ccl --tune.\n";
  for (const auto& [operation, groups] : best_) {
    text += fmt::format("{}:\n", name(operation));
    for (const auto& [group, sizes] : groups) {
      text += fmt::format("  {}:\n", group_text(group.ranks, group.rank_per_pe));
      for (const auto& [from, algorithm] : sizes) text += fmt::format("    {}B: {}\n", from, algorithm);
    }
  }
  return text;
}

}  // namespace kernbench::distributed
