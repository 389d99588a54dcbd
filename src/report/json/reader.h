// The visitor that reads what a description describes from JSON. Every error names the value by its place:
// "launches[2].waits[0].time_ps".
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernbench/units.h"
#include "report/description/key.h"

namespace kernbench::report {

/// A value of the file, and where it is. It refers to the one that it is part of.
class Node {
 public:
  using Json = nlohmann::ordered_json;

  Node(const Json& value, const std::string& file) : value_(value), file_(file) {}

  Node at(std::string_view key) const;
  bool has(std::string_view key) const;
  bool is_null() const { return value_.is_null(); }

  bool truth() const;
  std::string text() const;
  std::uint64_t natural() const;
  /// A natural number that fits into the signed type.
  template <class Integer = std::int64_t>
  Integer integer() const {
    const std::uint64_t value = natural();
    if (value > static_cast<std::uint64_t>(std::numeric_limits<Integer>::max())) fail("a smaller number");
    return static_cast<Integer>(value);
  }
  /// NaN for null, which stands for what JSON cannot hold.
  double real() const;
  /// 16 digits.
  std::uint64_t hexadecimal() const;
  /// The position of the text among `names`.
  std::size_t one_of(std::span<const std::string_view> names) const;

  template <class Visit>
  void each(Visit visit) const {
    if (!value_.is_array()) fail("an array");
    std::size_t index = 0;
    for (const Json& element : value_) visit(Node(element, *this, {}, index++));
  }
  template <class Visit>
  void each_key(Visit visit) const {
    if (!value_.is_object()) fail("an object");
    for (const auto& [key, element] : value_.items()) visit(key, Node(element, *this, key, 0));
  }

  /// ConfigurationError.
  [[noreturn]] void fail(const std::string& wanted) const;

 private:
  Node(const Json& value, const Node& parent, std::string_view key, std::size_t index)
      : value_(value), file_(parent.file_), parent_(&parent), key_(key), index_(index) {}
  std::string path() const;

  const Json& value_;
  const std::string& file_;
  const Node* parent_ = nullptr;
  std::string_view key_;  // within the parent; empty for elements of arrays
  std::size_t index_ = 0;
};

class Reader {
 public:
  explicit Reader(const Node& node) : node_(&node) {}

  template <class T>
  void key(const Key& key, T& member) {
    if constexpr (!std::is_const_v<T>) {
      const bool missing = !key.missing_with.empty() && !node_->has(key.missing_with);
      if (!key.derived && !missing) read(key, node_->at(key.name), member);
    }
  }
  template <class F>
  void object(const Key& key, F visit_keys) {
    const Node inner = node_->at(key.name);
    const Node* outer = std::exchange(node_, &inner);
    visit_keys();
    node_ = outer;
  }

 private:
  static void read(const Key& key, const Node& node, std::string& text) {
    text = key.nullable && node.is_null() ? std::string() : node.text();
  }
  static void read(const Key& key, const Node& node, bool& value) {
    value = key.choices.empty() ? node.truth() : node.one_of(key.choices) == 1;
  }
  template <class E>
    requires std::is_enum_v<E>
  static void read(const Key& key, const Node& node, E& value) {
    value = static_cast<E>(node.one_of(key.choices));
  }
  static void read(const Key& key, const Node& node, double& value) {
    value = key.nullable && node.is_null() ? 0 : node.real();
  }
  static void read(const Key& key, const Node& node, std::uint64_t& value) {
    value = key.hexadecimal ? node.hexadecimal() : node.natural();
  }
  template <std::signed_integral T>
  static void read(const Key& key, const Node& node, T& value) {
    value = key.nullable && node.is_null() ? 0 : node.integer<T>();
  }
  static void read(const Key&, const Node& node, Time& value) { value = Time::picoseconds(node.integer()); }
  static void read(const Key&, const Node& node, Bytes& value) { value = Bytes(node.integer()); }
  static void read(const Key&, const Node& node, Bandwidth& value) {
    value = Bandwidth::bytes_per_second(node.integer());
  }

  template <class T>
  static void read(const Key& key, const Node& node, std::optional<T>& value) {
    if (!node.is_null()) read(key, node, value.emplace());
  }
  template <class T>
  static void read(const Key&, const Node& node, std::vector<T>& values) {
    node.each([&](const Node& element) { read(Key{}, element, values.emplace_back()); });
  }
  template <class T>
  static void read(const Key&, const Node& node, std::vector<std::pair<std::string, T>>& values) {
    node.each_key([&](const std::string& name, const Node& element) {
      read(Key{}, element, values.emplace_back(name, T{}).second);
    });
  }
  template <class T>
  static void read(const Key&, const Node& node, std::map<std::string, T>& values) {
    node.each_key([&](const std::string& name, const Node& element) { read(Key{}, element, values[name]); });
  }
  template <class T>
    requires std::is_class_v<T>
  static void read(const Key& key, const Node& node, T& value) {
    if (key.nullable && node.is_null()) return;
    Reader reader(node);
    describe(reader, value);
  }

  const Node* node_;
};

}  // namespace kernbench::report
