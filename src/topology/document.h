// A topology file as a plain tree with places, read strictly: what YAML has beyond mappings, lists and values is an
// error, and so is a key that stands twice.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kernbench::topology {

/// Where something was written: a line and column of the file (from 1), or an override of the command line.
struct SourcePlace {
  std::int32_t override_index = -1;  // -1: the file
  std::int32_t line = 1;
  std::int32_t column = 1;
  constexpr auto operator<=>(const SourcePlace&) const = default;
};

struct Problem {
  SourcePlace place;
  std::string message;  // "cube.hbm.latency: expected a time such as 80ns, found ..."
};

struct Entry;

/// A value, a list or a mapping. An `invalid` node stands where a problem has been reported already.
struct Node {
  enum class Kind : std::uint8_t { null, scalar, sequence, mapping, invalid };
  Kind kind = Kind::null;
  SourcePlace place;
  std::string text;            // of a scalar
  std::vector<Node> items;     // of a sequence
  std::vector<Entry> entries;  // of a mapping, in order, no key twice

  const Entry* find(std::string_view key) const;
};

struct Entry {
  std::string key;
  SourcePlace place;  // of the key
  Node value;
};

inline constexpr std::size_t kMaximumFileBytes = 256 * 1024;
inline constexpr std::size_t kMaximumDepth = 16;

/// The one document in `text`, with places of the override `override_index` (or of the file, if -1). Problems are
/// appended; a document that cannot be read at all is an invalid node.
Node parse_document(std::string_view text, std::int32_t override_index, std::vector<Problem>& problems);

/// Puts the value of "path=value" into the tree, in place of what is there, as override `override_index`.
void apply_override(Node& root, std::string_view assignment, std::int32_t override_index,
                    std::vector<Problem>& problems);

}  // namespace kernbench::topology
