#include "distributed/tuning.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>
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
  if (digits.starts_with('0')) return {};  // so that each group has one name
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

/// The sizes of one group, each with its algorithm.
Tuning::Sizes sizes_in(const Entry& group, const std::string& path, const AlgorithmTable& table,
                       CollectiveOperation operation, Problems& problems) {
  Tuning::Sizes sizes;
  std::map<std::int64_t, const Entry*> known;
  const std::vector<Entry>& entries = entries_of(group.value, path, problems);
  for (const Entry& from : entries) {
    try {
      const std::int64_t bytes = parse_bytes(from.key).count();
      const auto [same, is_new] = known.emplace(bytes, &from);
      if (!is_new)
        throw ConfigurationError(fmt::format("it is as many bytes as {} in line {}; leave one out", same->second->key,
                                             same->second->place.line));
      sizes[bytes] = table.find(operation, from.value.text).name;
    } catch (const Error& error) {
      problems.push_back({from.place, fmt::format("{}.{}: {}", path, printable(from.key), error.what())});
    }
  }
  if (entries.empty() && group.value.kind == Node::Kind::mapping)
    problems.push_back({group.place, path + ": expected a size and an algorithm"});
  return sizes;
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
      best_[operation][{group->first, group->second}] = sizes_in(by_group, path, table, operation, problems);
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
