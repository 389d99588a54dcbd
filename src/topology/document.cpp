#include "topology/document.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <sstream>
#include <utility>

#include "base/quantity.h"

namespace kernbench::topology {
namespace {

SourcePlace place_of(const YAML::Mark& mark, std::int32_t override_index) {
  if (mark.is_null()) return {override_index, 1, 1};
  return {override_index, mark.line + 1, mark.column + 1};
}

struct TooDeep {
  SourcePlace place;
};

// Builds the tree from the parser's events, which arrive in the order of the text.
class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(std::int32_t override_index, std::vector<Problem>& problems)
      : override_index_(override_index), problems_(problems) {}

  Node take_root() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    refuse(mark, "", anchor);
    add(make(Node::Kind::null, mark));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    report(mark, "aliases (*name) are not supported; write the value out");
    add(make(Node::Kind::invalid, mark));
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    refuse(mark, tag, anchor);
    Node node = make(Node::Kind::scalar, mark);
    node.text = value;
    add(std::move(node));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(Node::Kind::sequence, mark, tag, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(Node::Kind::mapping, mark, tag, anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Frame {
    Node node;
    bool has_key = false;  // of a mapping: a key has been read, its value comes next
    bool drop = false;     // of a mapping: that value is dropped, its key was refused
    std::string key;
    SourcePlace key_place;
  };

  Node make(Node::Kind kind, const YAML::Mark& mark) const {
    Node node;
    node.kind = kind;
    node.place = place_of(mark, override_index_);
    return node;
  }

  std::string path() const {
    std::string text;
    for (const Frame& frame : frames_) {
      if (!frame.has_key) continue;
      if (!text.empty()) text += '.';
      text += printable(frame.key);
    }
    return text;
  }

  void report(SourcePlace place, const std::string& message) {
    const std::string at = path();
    problems_.push_back({place, at.empty() ? message : at + ": " + message});
  }
  void report(const YAML::Mark& mark, const std::string& message) { report(place_of(mark, override_index_), message); }

  void refuse(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    // The parser gives "?" for no tag and "!" for a quoted scalar.
    if (!tag.empty() && tag != "?" && tag != "!") report(mark, "tags (!name) are not supported; leave it out");
    if (anchor != YAML::NullAnchor) report(mark, "anchors (&name) are not supported; leave it out");
  }

  void open(Node::Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    refuse(mark, tag, anchor);
    if (frames_.size() >= kMaximumDepth) throw TooDeep{place_of(mark, override_index_)};
    frames_.push_back({make(kind, mark), false, false, {}, {}});
  }
  void close() {
    Node node = std::move(frames_.back().node);
    frames_.pop_back();
    add(std::move(node));
  }

  void add(Node node) {
    if (frames_.empty()) {
      root_ = std::move(node);
    } else if (frames_.back().node.kind == Node::Kind::sequence) {
      frames_.back().node.items.push_back(std::move(node));
    } else if (!frames_.back().has_key) {
      add_key(node);
    } else {
      Frame& frame = frames_.back();
      // The parser places nothing at what comes after it.
      if (node.kind == Node::Kind::null) node.place = frame.key_place;
      if (!frame.drop) frame.node.entries.push_back({std::move(frame.key), frame.key_place, std::move(node)});
      frame.has_key = frame.drop = false;
    }
  }

  void add_key(const Node& key) {
    Frame& frame = frames_.back();
    std::string duplicate;
    if (key.kind != Node::Kind::scalar) {
      report(key.place, "a key must be a plain word");
      frame.drop = true;
    } else if (key.text == "<<") {
      report(key.place, "merge keys (<<) are not supported; write the keys out");
      frame.drop = true;
    } else if (const Entry* first = frame.node.find(key.text)) {
      duplicate = "duplicate key, first given in line " + std::to_string(first->place.line);
    }
    frame.has_key = true;
    frame.key = key.text;
    frame.key_place = key.place;
    if (duplicate.empty()) return;
    report(key.place, duplicate);
    frame.drop = true;
  }

  std::int32_t override_index_;
  std::vector<Problem>& problems_;
  std::vector<Frame> frames_;
  Node root_;
};

// Looks only at whether and where a second document begins.
class SecondDocument : public YAML::EventHandler {
 public:
  YAML::Mark start = YAML::Mark::null_mark();
  void OnDocumentStart(const YAML::Mark& mark) override { start = mark; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t, const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}
};

// A directive would start a line with '%', which nothing else in a topology file does.
bool report_directive(std::string_view text, std::int32_t override_index, std::vector<Problem>& problems) {
  std::int32_t line = 1;
  for (std::size_t at = 0; at < text.size(); ++line) {
    if (text[at] == '%') {
      problems.push_back({{override_index, line, 1}, "directives (%NAME) are not supported; leave the line out"});
      return true;
    }
    const std::size_t end = text.find('\n', at);
    if (end == std::string_view::npos) break;
    at = end + 1;
  }
  return false;
}

Node invalid_node(std::int32_t override_index) {
  Node node;
  node.kind = Node::Kind::invalid;
  node.place = {override_index, 1, 1};
  return node;
}

}  // namespace

const Entry* Node::find(std::string_view key) const {
  const auto found = std::ranges::find(entries, key, &Entry::key);
  return found == entries.end() ? nullptr : &*found;
}

Node parse_document(std::string_view text, std::int32_t override_index, std::vector<Problem>& problems) {
  const SourcePlace start{override_index, 1, 1};
  if (text.size() > kMaximumFileBytes) {
    problems.push_back({start, "the text has " + std::to_string(text.size()) + " bytes; at most " +
                                   std::to_string(kMaximumFileBytes) + " are read"});
    return invalid_node(override_index);
  }
  if (report_directive(text, override_index, problems)) return invalid_node(override_index);
  TreeBuilder builder(override_index, problems);
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    if (!parser.HandleNextDocument(builder)) {
      problems.push_back({start, override_index < 0 ? "the file is empty; expected a mapping" : "the value is empty"});
      return invalid_node(override_index);
    }
    SecondDocument second;
    if (parser.HandleNextDocument(second)) {
      problems.push_back({place_of(second.start, override_index), "a second document begins here; a file has one"});
      return invalid_node(override_index);
    }
  } catch (const TooDeep& error) {
    problems.push_back({error.place, "nested deeper than " + std::to_string(kMaximumDepth) + " levels"});
    return invalid_node(override_index);
  } catch (const YAML::Exception& error) {
    problems.push_back({place_of(error.mark, override_index), "not valid YAML: " + error.msg});
    return invalid_node(override_index);
  }
  return builder.take_root();
}

}  // namespace kernbench::topology
