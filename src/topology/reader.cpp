#include "topology/reader.h"

#include <algorithm>

#include "topology/describe.h"
#include "topology/spec_reader.h"

namespace kernbench::topology {

namespace {

// The entry whose key begins `path`: names of parts have dots of their own.
const Entry* longest_prefix(const Node& node, std::string_view path) {
  const Entry* longest = nullptr;
  for (const Entry& entry : node.entries) {
    const std::size_t size = entry.key.size();
    const bool begins = path.starts_with(entry.key) && (path.size() == size || path[size] == '.');
    if (begins && (!longest || size > longest->key.size())) longest = &entry;
  }
  return longest;
}

}  // namespace

Reading read_topology(const Node& root, const ModelNames& models, std::vector<Problem>& problems) {
  Reading reading;
  SpecReader reader(root, models, problems, reading.unread);
  describe(reader, reading.topology);
  reader.finish();
  return reading;
}

SourcePlace place_of(const Node& root, std::string_view path) {
  const Node* node = &root;
  SourcePlace place = root.place;
  while (!path.empty()) {
    const Entry* entry = longest_prefix(*node, path);
    if (!entry) break;
    node = &entry->value;
    place = node->kind == Node::Kind::mapping ? entry->place : node->place;
    path.remove_prefix(std::min(entry->key.size() + 1, path.size()));
  }
  return place;
}

}  // namespace kernbench::topology
