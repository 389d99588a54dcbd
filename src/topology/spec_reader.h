// Reads any spec from the tree of a YAML file, by its description.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/quantity.h"
#include "base/text.h"
#include "kernbench/error.h"
#include "topology/describe.h"
#include "topology/document.h"
#include "topology/file_path.h"
#include "topology/models.h"
#include "topology/part_names.h"
#include "topology/values.h"

namespace kernbench::topology {

inline constexpr std::size_t kLongestWord = 64;  // a longer key is no typing error

inline std::string_view near(std::string_view word, std::span<const std::string_view> candidates) {
  return word.size() > kLongestWord ? std::string_view() : nearest(word, candidates);
}

/// What a key is called now that had another name once.
struct RenamedKey {
  std::string_view before, now;
};
inline constexpr std::array kRenamedKeys{RenamedKey{"chunk", "burst"}, RenamedKey{"credits", "buffer"}};

/// The key of `candidates` that `word` probably stands for; none: "".
inline std::string_view meant_key(std::string_view word, std::span<const std::string_view> candidates) {
  const auto renamed = std::ranges::find(kRenamedKeys, word, &RenamedKey::before);
  if (renamed != kRenamedKeys.end() && std::ranges::find(candidates, renamed->now) != candidates.end()) {
    return renamed->now;
  }
  return near(word, candidates);
}

// What a node is, for "expected ..., found ...".
inline std::string found(const Node& node) {
  switch (node.kind) {
    case Node::Kind::null:
      return "nothing";
    case Node::Kind::scalar:
      return in_quotes(node.text);
    case Node::Kind::sequence:
      return "a list";
    case Node::Kind::mapping:
      return "a mapping";
    case Node::Kind::invalid:
      break;
  }
  return "something unreadable";
}

/// The visitor that fills a spec (see describe.h) from a tree: unknown, missing and wrong keys become problems. The
/// sections that the visit is in stand on a stack.
class SpecReader {
 public:
  SpecReader(const Node& root, const ModelNames& models, std::vector<Problem>& problems, std::set<std::string>& unread)
      : models_(models), problems_(problems), unread_(unread) {
    sections_.push_back({{}, nullptr, root.place, State::present, {}, {}, false});
    enter_node(root);
  }

  template <class T>
  void field(const Field& field, T& member) {
    Section& section = sections_.back();
    section.keys.push_back(field.key);
    const std::string path = path_of(field.key);
    paths_.push_back(path);
    const Entry* entry = section.mapping ? section.mapping->find(field.key) : nullptr;
    if (entry) {
      if (entry->value.kind == Node::Kind::invalid) {
        unread_.insert(path);
      } else if (const std::string message = read(field, entry->value, member); !message.empty()) {
        report(entry->value.place, path, message);
        unread_.insert(path);
      }
      return;
    }
    if (section.state == State::unreadable || field.required) unread_.insert(path);
    if (field.required) require(field.key, expectation(field, member));
  }

  template <class F>
  void section(std::string_view key, std::string_view documentation, F visit_keys) {
    Section& outer = sections_.back();
    outer.keys.push_back(key);
    paths_.push_back(path_of(key));
    const Entry* entry = outer.mapping ? outer.mapping->find(key) : nullptr;
    const State absent = outer.state == State::unreadable ? State::unreadable : State::absent;
    const SourcePlace place = entry ? entry->place : outer.place;
    sections_.push_back({path_of(key), nullptr, place, entry ? State::present : absent, {}, {}, false});
    if (entry) enter_node(entry->value);
    visit_keys();
    leave(key, documentation);
  }

  /// A mapping whose keys are names of the file's own: calls visit_keys(name) within the section of each.
  template <class F>
  void entries(std::string_view key, std::string_view documentation, F visit_keys) {
    section(key, documentation, [&] {
      const Node* mapping = sections_.back().mapping;
      if (mapping == nullptr) return;
      for (const Entry& entry : mapping->entries) {
        if (const std::string message = check_name(entry.key); !message.empty()) {
          sections_.back().keys.push_back(entry.key);
          report(entry.place, sections_.back().path, message);
        } else {
          section(entry.key, documentation, [&] { visit_keys(entry.key); });
        }
      }
    });
  }

  /// A mapping by names of parts. Their keys are none that another one may be meant as.
  void parts(std::string_view key, std::string_view, std::vector<PartOverride>& parts) {
    Section& outer = sections_.back();
    outer.keys.push_back(key);
    const Entry* entry = outer.mapping ? outer.mapping->find(key) : nullptr;
    if (!entry || entry->value.kind == Node::Kind::invalid) return;
    const std::string path = path_of(key);
    if (entry->value.kind != Node::Kind::mapping) {
      return report(entry->value.place, path,
                    "expected parts by name such as sip0.cube0.pe1: {clock: 500MHz}, found " + found(entry->value));
    }
    const std::size_t paths = paths_.size();
    for (const Entry& part : entry->value.entries) {
      const std::string part_path = path + "." + printable(part.key);
      if (!is_part_pattern(part.key)) {
        report(part.place, part_path,
               "expected the name of a part such as sip0.cube0.pe1 or sip*.io.to_host, of letters, digits, '.', '_' "
               "and '*'");
        continue;
      }
      PartOverride& described = parts.emplace_back();
      described.part = part.key;
      sections_.push_back({part_path, nullptr, part.place, State::present, {}, {}, false});
      enter_node(part.value);
      describe(*this, described);
      leave({}, {});
      paths_.resize(paths);
    }
  }

  /// Ends the outermost section.
  void finish() { leave({}, {}); }

 private:
  enum class State : std::uint8_t { present, absent, unreadable };
  struct Section {
    std::string path;
    const Node* mapping;
    SourcePlace place;
    State state;
    std::vector<std::string_view> keys;  // the valid ones, as the visit comes by
    std::vector<std::pair<std::string_view, std::string>> missing;
    bool requires_key;  // absent, but has a required key
  };

  void enter_node(const Node& node) {
    Section& section = sections_.back();
    if (node.kind == Node::Kind::mapping) {
      section.mapping = &node;
      return;
    }
    section.state = State::unreadable;
    if (node.kind != Node::Kind::invalid) {
      report(node.place, section.path, "expected a mapping, found " + found(node));
    }
  }

  void require(std::string_view key, std::string expected) {
    Section& section = sections_.back();
    if (section.state == State::present) section.missing.emplace_back(key, std::move(expected));
    if (section.state == State::absent) section.requires_key = true;
  }

  void leave(std::string_view key, std::string_view documentation) {
    const Section section = std::move(sections_.back());
    sections_.pop_back();
    if (section.state == State::present) report_keys(section);
    if (section.requires_key) require(key, fmt::format("a mapping: {}", documentation));
  }

  // Of a key that was given without what stands before it.
  std::vector<std::string> paths_that_end_in(const std::string& key) const {
    std::vector<std::string> found;
    for (const std::string& path : paths_) {
      if (path.ends_with("." + key)) found.push_back(path);
    }
    return found;
  }

  // An unknown key that is nearly a missing one is that one: it is reported once.
  void report_keys(const Section& section) {
    std::set<std::string_view> meant;
    for (const Entry& entry : section.mapping->entries) {
      if (std::ranges::find(section.keys, entry.key) != section.keys.end()) continue;
      const std::string_view suggestion = meant_key(entry.key, section.keys);
      meant.insert(suggestion);
      std::string path = section.path;
      if (!path.empty()) path += '.';
      if (!suggestion.empty()) unread_.insert(path + std::string(suggestion));
      std::string message = fmt::format("unknown key, did you mean \"{}\"?", suggestion);
      if (suggestion.empty()) {
        const std::vector<std::string> deeper =
            path.empty() ? paths_that_end_in(entry.key) : std::vector<std::string>();
        message = deeper.empty() ? fmt::format("unknown key; the keys here are {}", fmt::join(section.keys, ", "))
                                 : fmt::format("unknown key, did you mean {}?", fmt::join(deeper, " or "));
      }
      report(entry.place, path + printable(entry.key), message);
    }
    for (const auto& [key, expected] : section.missing) {
      if (!meant.contains(key)) {
        report(section.place, section.path, fmt::format("missing required key \"{}\" ({})", key, expected));
      }
    }
  }

  template <Number T>
  static std::string expectation(const Field&, const T&) {
    return fmt::format("{} such as {}", NumberTraits<T>::type, NumberTraits<T>::example);
  }
  static std::string expectation(const Field& field, const std::string&) { return std::string(field.documentation); }
  static std::string expectation(const Field&, const MeshExtent&) { return "width and height such as [4, 2]"; }
  static std::string expectation(const Field&, const Rate&) {
    return fmt::format("{} such as {}", kRateType, kRateExample);
  }
  template <class T>
  static std::string expectation(const Field& field, const T&) {
    return std::string(field.documentation);
  }

  // Each reads one value and returns what is wrong with it.
  template <Number T>
  static std::string read(const Field& field, const Node& node, T& member) {
    using Traits = NumberTraits<T>;
    if (node.kind != Node::Kind::scalar) {
      return fmt::format("expected a {} such as {}, found {}", Traits::type, Traits::example, found(node));
    }
    try {
      const std::int64_t count = Traits::count(std::string_view(node.text));
      const bool has_one_value = field.minimum == field.maximum;
      if (has_one_value && count != field.minimum) {
        return fmt::format("must be {} ({}), found {}", Traits::print(field.minimum), field.documentation,
                           in_quotes(node.text));
      }
      if (count < field.minimum) {
        return fmt::format("must be at least {}, found {}", Traits::print(field.minimum), in_quotes(node.text));
      }
      if (count > field.maximum) {
        return fmt::format("must be at most {}, found {}", Traits::print(field.maximum), in_quotes(node.text));
      }
      member = Traits::value(count);
    } catch (const ConfigurationError& error) {
      return error.what();
    }
    return {};
  }

  static std::string read(const Field& field, const Node& node, Rate& member) {
    const std::string_view text = node.text;
    const std::size_t slash = text.find('/');
    if (node.kind == Node::Kind::scalar) {
      try {
        const std::int64_t steps = parse_integer(text.substr(0, slash));
        const std::int64_t cycles = slash == std::string_view::npos ? 1 : parse_integer(text.substr(slash + 1));
        const auto allowed = [&](std::int64_t n) { return n >= field.minimum && n <= field.maximum; };
        if (allowed(steps) && allowed(cycles)) {
          const std::int64_t common = std::gcd(steps, cycles);
          member = {static_cast<std::int32_t>(steps / common), static_cast<std::int32_t>(cycles / common)};
          return {};
        }
      } catch (const ConfigurationError&) {  // NOLINT(bugprone-empty-catch): the message below says what is expected
      }
    }
    return fmt::format("expected {} such as {}, of numbers from {} to {}, found {}", kRateType, kRateExample,
                       field.minimum, field.maximum, found(node));
  }

  static std::string read_choice(std::span<const std::string_view> choices, const Node& node, std::size_t& choice) {
    const auto chosen = node.kind == Node::Kind::scalar ? std::ranges::find(choices, node.text) : choices.end();
    if (chosen != choices.end()) {
      choice = static_cast<std::size_t>(chosen - choices.begin());
      return {};
    }
    const std::string_view suggestion = node.kind == Node::Kind::scalar ? near(node.text, choices) : std::string_view();
    return fmt::format("expected {}{}, found {}{}", choices.size() == 1 ? "" : "one of ", fmt::join(choices, ", "),
                       found(node), suggestion.empty() ? "" : fmt::format("; did you mean \"{}\"?", suggestion));
  }

  template <class E>
    requires std::is_enum_v<E>
  static std::string read(const Field& field, const Node& node, E& member) {
    std::size_t choice = 0;
    std::string message = read_choice(field.choices, node, choice);
    if (message.empty()) member = static_cast<E>(choice);
    return message;
  }

  std::string read(const Field& field, const Node& node, std::string& member) const {
    if (!field.choices.empty() && !(field.models != ModelKind::none && models_.any)) {
      std::vector<std::string_view> choices(field.choices.begin(), field.choices.end());
      if (field.models != ModelKind::none) {
        for (const std::string& name : models_.of(field.models)) choices.push_back(name);
      }
      std::size_t choice = 0;
      std::string message = read_choice(choices, node, choice);
      if (message.empty()) member = choices[choice];
      return message;
    }
    const auto allowed = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
             c == '-';
    };
    if (node.kind != Node::Kind::scalar || node.text.empty() || node.text.size() > kLongestWord ||
        !std::ranges::all_of(node.text, allowed)) {
      return fmt::format("expected a name of at most {} letters, digits, '.', '_' and '-', found {}", kLongestWord,
                         found(node));
    }
    member = node.text;
    return {};
  }

  static std::string read(const Field&, const Node& node, FilePath& member) {
    const auto is_control = [](char c) { return (c >= 0 && c < ' ') || c == '\x7f'; };
    if (node.kind != Node::Kind::scalar || node.text.empty() || node.text.size() > kLongestPath ||
        std::ranges::any_of(node.text, is_control)) {
      return fmt::format("expected a path of at most {} bytes without control characters, found {}", kLongestPath,
                         found(node));
    }
    member.text = node.text;
    return {};
  }

  static std::string read(const Field&, const Node& node, ModelParameterTexts& member) {
    if (node.kind != Node::Kind::mapping)
      return "expected keys and values such as {row_hit: 20ns}, found " + found(node);
    ModelParameterTexts values;
    for (const Entry& entry : node.entries) {
      if (!is_parameter_text(entry.key)) {
        return fmt::format("a key is 1 to 64 letters, digits and signs of ._+-/%, found {}", in_quotes(entry.key));
      }
      if (entry.value.kind != Node::Kind::scalar || !is_parameter_text(entry.value.text)) {
        return fmt::format("{}: a value is 1 to 64 letters, digits and signs of ._+-/%, found {}", entry.key,
                           found(entry.value));
      }
      values.emplace(entry.key, entry.value.text);
    }
    member = std::move(values);
    return {};
  }

  static std::string read(const Field& field, const Node& node, MeshExtent& member) {
    if (node.kind != Node::Kind::sequence || node.items.size() != 2) {
      const std::string what =
          node.kind == Node::Kind::sequence ? fmt::format("a list of {}", node.items.size()) : found(node);
      return "expected width and height such as [4, 2], found " + what;
    }
    MeshExtent extent;
    if (std::string message = read(field, node.items[0], extent.width); !message.empty()) return "width: " + message;
    if (std::string message = read(field, node.items[1], extent.height); !message.empty()) return "height: " + message;
    member = extent;
    return {};
  }

  static std::string read(const Field& field, const Node& node, bool& member) {
    std::size_t choice = 0;
    std::string message = read_choice(field.choices, node, choice);
    if (message.empty()) member = choice == 1;
    return message;
  }

  template <class T>
  std::string read(const Field& field, const Node& node, std::optional<T>& member) const {
    T value{};
    std::string message = read(field, node, value);
    if (message.empty()) member = value;
    return message;
  }

  static std::string check_name(const std::string& name) {
    const auto allowed = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
    };
    if (!name.empty() && name.size() <= kLongestWord && std::ranges::all_of(name, allowed)) return {};
    return fmt::format("a name has at most {} letters, digits, '_' and '-', found {}", kLongestWord, in_quotes(name));
  }

  std::string path_of(std::string_view key) const {
    const std::string& outer = sections_.back().path;
    return outer.empty() ? std::string(key) : fmt::format("{}.{}", outer, key);
  }

  void report(SourcePlace place, const std::string& path, const std::string& message) {
    problems_.push_back({place, path.empty() ? message : path + ": " + message});
  }

  const ModelNames& models_;
  std::vector<Problem>& problems_;
  std::set<std::string>& unread_;
  std::vector<Section> sections_;
  std::vector<std::string> paths_;  // of all keys that the visit has come by
};

}  // namespace kernbench::topology
