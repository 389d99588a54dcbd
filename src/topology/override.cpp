// Overrides from the command line: "cube.hbm.bandwidth=2TB/s" replaces or adds one value of the tree.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/quantity.h"
#include "topology/document.h"
#include "topology/part_names.h"

namespace kernbench::topology {
namespace {

constexpr std::string_view kForm = "expected PATH=VALUE, for example cube.hbm.bandwidth=2TB/s";

std::vector<std::string> split(std::string_view path) {
  std::vector<std::string> keys;
  while (true) {
    const std::size_t dot = path.find('.');
    keys.emplace_back(path.substr(0, dot));
    if (dot == std::string_view::npos) return keys;
    path.remove_prefix(dot + 1);
  }
}

// Of "overrides.sip0.io.to_sip1.bandwidth" the name of the part is one key.
std::vector<std::string> keys_of(std::string_view path) {
  std::vector<std::string> keys = split(path);
  if (keys.front() != "overrides" || keys.size() < 4) return keys;
  std::string part = keys[1];
  for (std::size_t i = 2; i + 1 < keys.size(); ++i) part += "." + keys[i];
  return {keys.front(), std::move(part), keys.back()};
}

// The value of `key` in a mapping, put there if it is missing.
Entry& entry(Node& mapping, const std::string& key, SourcePlace place) {
  const auto found = std::ranges::find(mapping.entries, key, &Entry::key);
  if (found != mapping.entries.end()) return *found;
  Node child;
  child.kind = Node::Kind::mapping;
  child.place = place;
  mapping.entries.push_back({key, place, std::move(child)});
  return mapping.entries.back();
}

/// Whether an entry changes a key of parts that `part` stands for, too.
bool changes(const Entry& entry, const std::string& part, const std::string& key) {
  return entry.value.find(key) != nullptr && may_meet(entry.key, part);
}

/// Puts an entry of `overrides` behind all others, because the later one wins. Returns an entry that must not come
/// before it, for it changes another key of the same parts, which this entry would win then; none: null.
const Entry* move_behind_others(Node& overrides, const std::string& part, const std::string& key) {
  auto& entries = overrides.entries;
  const auto moved = std::ranges::find(entries, part, &Entry::key);
  for (const Entry& own : moved->value.entries) {
    if (own.key == key) continue;
    const auto wins =
        std::find_if(moved + 1, entries.end(), [&](const Entry& later) { return changes(later, part, own.key); });
    if (wins != entries.end()) return &*wins;
  }
  std::rotate(moved, moved + 1, entries.end());
  return nullptr;
}

/// Whether a later entry has the same key for the same parts.
bool is_shadowed(const Node& overrides, const std::string& part, const std::string& key) {
  const auto entry = std::ranges::find(overrides.entries, part, &Entry::key);
  return std::any_of(entry + 1, overrides.entries.end(), [&](const Entry& later) { return changes(later, part, key); });
}

}  // namespace

void apply_override(Node& root, std::string_view assignment, std::int32_t override_index,
                    std::vector<Problem>& problems) {
  const SourcePlace place{override_index, 1, 1};
  const std::size_t equals = assignment.find('=');
  if (equals == std::string_view::npos) {
    problems.push_back({place, std::string(kForm)});
    return;
  }
  const std::vector<std::string> keys = keys_of(assignment.substr(0, equals));
  const std::string_view text = assignment.substr(equals + 1);
  if (keys.size() > kMaximumDepth || std::ranges::any_of(keys, &std::string::empty) || text.empty()) {
    problems.push_back({place, std::string(kForm)});
    return;
  }
  Node value = parse_document(text, override_index, problems);
  if (value.kind == Node::Kind::mapping) {
    problems.push_back({place, "expected one value, found a mapping; override its keys one by one"});
    return;
  }
  if (root.kind != Node::Kind::mapping) return;  // reported with the file

  Node* mapping = &root;
  std::string path;
  for (std::size_t i = 0; i + 1 < keys.size(); ++i) {
    path += (i == 0 ? "" : ".") + keys[i];
    mapping = &entry(*mapping, keys[i], place).value;
    if (mapping->kind == Node::Kind::invalid) return;
    if (mapping->kind != Node::Kind::mapping) {
      problems.push_back({place, in_quotes(path) + " is a value and has no keys"});
      return;
    }
  }
  Entry& target = entry(*mapping, keys.back(), place);
  target.place = place;
  target.value = std::move(value);
  if (keys.front() != "overrides" || keys.size() != 3 || !is_shadowed(root.find(keys[0])->value, keys[1], keys[2])) {
    return;
  }
  const Entry* const wins = move_behind_others(entry(root, keys[0], place).value, keys[1], keys[2]);
  if (wins == nullptr) return;
  problems.push_back(
      {place, fmt::format("has no effect: \"{}\" comes later, changes this key and another one of {}, too; "
                          "in the file, write {} behind it",
                          printable(wins->key), printable(keys[1]), printable(keys[1]))});
}

}  // namespace kernbench::topology
