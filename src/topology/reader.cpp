#include "topology/reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "topology/describe.h"
#include "topology/values.h"

namespace kernbench::topology {
namespace {

constexpr std::size_t kLongestWord = 64;  // a longer key is no typing error

std::string_view near(std::string_view word, std::span<const std::string_view> candidates) {
  return word.size() > kLongestWord ? std::string_view() : nearest(word, candidates);
}

// What a node is, for "expected ..., found ...".
std::string found(const Node& node) {
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

// The visitor that fills a Topology. The sections that the visit is in stand on a stack.
class Reader {
 public:
  Reader(const Node& root, const ModelNames& models, std::vector<Problem>& problems, std::set<std::string>& unread)
      : models_(models), problems_(problems), unread_(unread) {
    sections_.push_back({{}, nullptr, root.place, State::present, {}, {}, false});
    enter_node(root);
  }

  template <class T>
  void field(const Field& field, T& member) {
    Section& section = sections_.back();
    section.keys.push_back(field.key);
    const std::string path = path_of(field.key);
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
    const Entry* entry = outer.mapping ? outer.mapping->find(key) : nullptr;
    const State absent = outer.state == State::unreadable ? State::unreadable : State::absent;
    const Place place = entry ? entry->place : outer.place;
    sections_.push_back({path_of(key), nullptr, place, entry ? State::present : absent, {}, {}, false});
    if (entry) enter_node(entry->value);
    visit_keys();
    leave(key, documentation);
  }

  // Ends the outermost section.
  void finish() { leave({}, {}); }

 private:
  enum class State : std::uint8_t { present, absent, unreadable };
  struct Section {
    std::string path;
    const Node* mapping;
    Place place;
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

  // An unknown key that is nearly a missing one is that one: it is reported once.
  void report_keys(const Section& section) {
    std::set<std::string_view> meant;
    for (const Entry& entry : section.mapping->entries) {
      if (std::ranges::find(section.keys, entry.key) != section.keys.end()) continue;
      const std::string_view suggestion = near(entry.key, section.keys);
      meant.insert(suggestion);
      std::string path = section.path;
      if (!path.empty()) path += '.';
      if (!suggestion.empty()) unread_.insert(path + std::string(suggestion));
      report(entry.place, path + printable(entry.key),
             suggestion.empty() ? fmt::format("unknown key; the keys here are {}", fmt::join(section.keys, ", "))
                                : fmt::format("unknown key, did you mean \"{}\"?", suggestion));
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

  static std::string read(const Field& field, const Node& node, SystemTopology& member) {
    std::size_t choice = 0;
    std::string message = read_choice(field.choices, node, choice);
    if (message.empty()) member = static_cast<SystemTopology>(choice);
    return message;
  }

  std::string read(const Field& field, const Node& node, std::string& member) const {
    if (!field.choices.empty()) {
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

  static std::string read(const Field& field, const Node& node, std::optional<MeshExtent>& member) {
    MeshExtent extent;
    std::string message = read(field, node, extent);
    if (message.empty()) member = extent;
    return message;
  }

  std::string path_of(std::string_view key) const {
    const std::string& outer = sections_.back().path;
    return outer.empty() ? std::string(key) : fmt::format("{}.{}", outer, key);
  }

  void report(Place place, const std::string& path, const std::string& message) {
    problems_.push_back({place, path.empty() ? message : path + ": " + message});
  }

  const ModelNames& models_;
  std::vector<Problem>& problems_;
  std::set<std::string>& unread_;
  std::vector<Section> sections_;
};

}  // namespace

Reading read_topology(const Node& root, const ModelNames& models, std::vector<Problem>& problems) {
  Reading reading;
  Reader reader(root, models, problems, reading.unread);
  describe(reader, reading.topology);
  reader.finish();
  return reading;
}

Place place_of(const Node& root, std::string_view path) {
  const Node* node = &root;
  Place place = root.place;
  while (!path.empty()) {
    const std::size_t dot = path.find('.');
    const Entry* entry = node->find(path.substr(0, dot));
    if (!entry) break;
    node = &entry->value;
    place = node->kind == Node::Kind::mapping ? entry->place : node->place;
    path.remove_prefix(dot == std::string_view::npos ? path.size() : dot + 1);
  }
  return place;
}

}  // namespace kernbench::topology
