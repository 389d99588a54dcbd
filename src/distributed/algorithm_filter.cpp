#include "distributed/algorithm_filter.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <optional>

#include "base/quantity.h"
#include "base/text.h"
#include "kernbench/error.h"

namespace kernbench::distributed {
namespace {

constexpr std::string_view kVariable = "KB_ALGO";

[[noreturn]] void refuse(const std::string& reason) {
  throw ConfigurationError(
      fmt::format("{}: {}; it is written like allreduce:tree;broadcast:ring, ring,tree or ^ring", kVariable, reason));
}

/// Parts of a text between separators, without blanks around them.
std::vector<std::string_view> parts_of(std::string_view text, char separator) {
  const auto trimmed = [](std::string_view part) {
    const std::size_t first = part.find_first_not_of(' ');
    if (first == std::string_view::npos) return std::string_view();
    return part.substr(first, part.find_last_not_of(' ') - first + 1);
  };
  std::vector<std::string_view> parts;
  for (std::size_t end = text.find(separator); end != std::string_view::npos; end = text.find(separator)) {
    parts.push_back(trimmed(text.substr(0, end)));
    text.remove_prefix(end + 1);
  }
  parts.push_back(trimmed(text));
  return parts;
}

/// Without capitals and underscores: `AllReduce` and `all_reduce` are one word.
std::string plain(std::string_view text) {
  std::string word;
  for (const char c : text) {
    if (c != '_') word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return word;
}

CollectiveOperation operation_of(std::string_view text) {
  for (const CollectiveOperation operation : kCollectiveOperations) {
    if (plain(name(operation)) == plain(text)) return operation;
  }
  refuse(fmt::format("there is no operation {} (known: {})", in_quotes(std::string(text)),
                     fmt::join(kCollectiveOperationNames, ", ")));
}

bool is_meant(const CollectiveAlgorithm& algorithm, std::string_view text) {
  const std::string word = plain(text), family = plain(family_of(algorithm));
  // As NCCL calls its double binary tree.
  return word == plain(algorithm.name) || word == family || (word == "tree" && family == "doubletree");
}

/// One part of the text between semicolons.
struct Choice {
  std::string_view text;
  std::optional<CollectiveOperation> operation = {};  // nothing: all
  bool excludes = false;
  std::vector<std::string_view> names = {};
};

Choice choice_of(std::string_view text, const AlgorithmTable& table) {
  Choice choice{text};
  const std::size_t colon = text.find(':');
  if (colon != std::string_view::npos) {
    choice.operation = operation_of(parts_of(text.substr(0, colon), ':').front());
    text = parts_of(text.substr(colon + 1), '\n').front();
  }
  choice.excludes = text.starts_with('^');
  if (choice.excludes) text.remove_prefix(1);
  choice.names = parts_of(text, ',');
  for (const std::string_view each : choice.names) {
    if (each.empty()) refuse(fmt::format("{} has an empty choice", in_quotes(std::string(choice.text))));
    const bool known = std::ranges::any_of(table.all(), [&](const CollectiveAlgorithm& algorithm) {
      return (!choice.operation || algorithm.operation == *choice.operation) && is_meant(algorithm, each);
    });
    if (known) continue;
    refuse(fmt::format("there is no algorithm {} for {}{}", in_quotes(std::string(each)),
                       choice.operation ? name(*choice.operation) : "any operation",
                       choice.operation ? fmt::format(" (known: {})", fmt::join(table.names(*choice.operation), ", "))
                                        : std::string()));
  }
  return choice;
}

std::vector<std::string_view> left_by(const Choice& choice, CollectiveOperation operation,
                                      const AlgorithmTable& table) {
  std::vector<std::string_view> left;
  for (const CollectiveAlgorithm& algorithm : table.all()) {
    if (algorithm.operation != operation) continue;
    const bool named =
        std::ranges::any_of(choice.names, [&](std::string_view text) { return is_meant(algorithm, text); });
    if (named != choice.excludes) left.push_back(algorithm.name);
  }
  return left;
}

}  // namespace

std::string_view family_of(const CollectiveAlgorithm& algorithm) {
  const std::string_view whole = algorithm.name;
  // All-reduces of partial sums are named as all-reduces.
  const bool reduces_partials = algorithm.operation == CollectiveOperation::all_reduce_partials;
  const auto operation = reduces_partials ? CollectiveOperation::all_reduce : algorithm.operation;
  for (std::size_t end = whole.find('_'); end != std::string_view::npos; end = whole.find('_', end + 1)) {
    if (plain(whole.substr(end)) == plain(name(operation))) return whole.substr(0, end);
  }
  return whole;
}

AlgorithmFilter::AlgorithmFilter(std::string_view text, AlgorithmTableRef table) : table_(std::move(table)) {
  std::array<bool, kCollectiveOperations.size()> named{};
  bool for_all = false;
  for (const std::string_view part : parts_of(text, ';')) {
    const Choice choice = choice_of(part, *table_);
    if (!choice.operation && for_all)
      refuse(fmt::format("{} is a second choice for all", in_quotes(std::string(part))));
    for_all = for_all || !choice.operation;
    bool any = false;
    for (const CollectiveOperation operation : kCollectiveOperations) {
      const auto place = static_cast<std::size_t>(operation);
      if (choice.operation && *choice.operation != operation) continue;
      if (choice.operation && named[place]) refuse(fmt::format("{} has two choices", name(operation)));
      if (!choice.operation && named[place]) continue;  // what names the operation decides
      auto left = left_by(choice, operation, *table_);
      if (choice.operation) named[place] = true;
      any = any || !left.empty();
      if (!left.empty()) allowed_[place] = std::move(left);
    }
    if (!any) refuse(fmt::format("{} leaves no algorithm", in_quotes(std::string(part))));
  }
}

bool AlgorithmFilter::allows(const CollectiveAlgorithm& algorithm) const {
  const auto& allowed = allowed_[static_cast<std::size_t>(algorithm.operation)];
  return allowed.empty() || std::ranges::find(allowed, algorithm.name) != allowed.end();
}

AlgorithmSpec AlgorithmFilter::applied_to(const GroupDescription& group) const {
  AlgorithmSpec spec = group.spec;
  for (const CollectiveOperation operation : kCollectiveOperations) {
    const std::string mine = spec.algorithm_for(operation);
    const auto& allowed = allowed_[static_cast<std::size_t>(operation)];
    const auto runs = [&](std::string_view each) {
      return group.ranks < 2 || table_->find(operation, each).refusal(group).empty();
    };
    const auto fits = std::ranges::find_if(allowed, runs);
    if (mine == kAutomatic) {
      const auto has_cost = [&](std::string_view each) {
        return runs(each) && static_cast<bool>(table_->find(operation, each).steps);
      };
      if (allowed.empty() || std::ranges::any_of(allowed, has_cost)) {
        spec.candidates.insert(spec.candidates.end(), allowed.begin(), allowed.end());
        continue;
      }
    } else if (allows(table_->find(operation, mine))) {
      continue;
    }
    spec.take(table_->find(operation, fits == allowed.end() ? allowed.front() : *fits));
  }
  return spec;
}

}  // namespace kernbench::distributed
