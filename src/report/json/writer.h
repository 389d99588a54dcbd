// The visitor that writes what a description describes as JSON.
#pragma once

#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernbench/units.h"
#include "report/description/key.h"

namespace kernbench::report {

/// `text` as JSON; bytes that are not UTF-8 become U+FFFD.
void append_json(std::string& out, std::string_view text);
/// The shortest text that reads back equal; null when it is not finite.
void append_json(std::string& out, double value);
/// 16 digits, as a text.
void append_hexadecimal(std::string& out, std::uint64_t value);

/// Writes straight into a text: a result may have so many launches that a tree of its values would not fit into memory.
class Writer {
 public:
  explicit Writer(std::string& out) : out_(out) {}

  /// The whole document: an object with its keys on lines of their own, and a final newline.
  template <class T>
  void document(const T& value) {
    object_ = {.on_lines = true, .column = 2};
    out_ += "{\n  ";
    describe(*this, value);
    out_ += "\n}\n";
  }

  template <class T>
  void key(const Key& key, const T& member) {
    if (key.omitted) return;
    begin(key.name);
    write(key, member);
  }
  template <class F>
  void object(const Key& key, F visit_keys) {
    begin(key.name);
    in_braces(false, object_.column, visit_keys);
  }

 private:
  // The object that is being written.
  struct Object {
    bool on_lines = false;   // its keys stand on lines of their own
    std::size_t column = 0;  // of its keys
    bool empty = true;
  };

  void begin(std::string_view key) {
    if (!object_.empty) out_ += object_.on_lines ? "," : ", ";
    if (!object_.empty && object_.on_lines) out_.append("\n").append(object_.column, ' ');
    object_.empty = false;
    append_json(out_, key);
    out_ += ": ";
  }

  // `column` is that of the brace, in a list, and of the key in front of it.
  template <class F>
  void in_braces(bool on_lines, std::size_t column, F visit_keys) {
    const Object outer = std::exchange(object_, {.on_lines = on_lines, .column = column + 1});
    out_ += '{';
    visit_keys();
    out_ += '}';
    object_ = outer;
  }

  template <class Range, class F>
  void list(const Key& key, const Range& range, char open, char close, F write_element) {
    out_ += open;
    const bool lines = key.layout != Layout::line && !range.empty();
    bool first = true;
    for (const auto& element : range) {
      if (!first) out_ += lines ? "," : ", ";
      first = false;
      if (lines) out_.append("\n").append(object_.column + 2, ' ');
      write_element(element);
    }
    if (lines) out_.append("\n").append(object_.column, ' ');
    out_ += close;
  }

  template <class T>
  void element(const Key& key, const T& value) {
    if constexpr (std::is_class_v<T> && requires { describe(*this, value); }) {
      in_braces(key.layout == Layout::blocks, object_.column + 2, [&] { describe(*this, value); });
    } else {
      write(Key{}, value);
    }
  }

  void null() { out_ += "null"; }

  void write(const Key& key, const std::string& text) {
    key.nullable&& text.empty() ? null() : append_json(out_, text);
  }
  void write(const Key& key, bool value) {
    if (!key.choices.empty()) return append_json(out_, key.choices[value ? 1 : 0]);
    out_ += value ? "true" : "false";
  }
  template <class E>
    requires std::is_enum_v<E>
  void write(const Key& key, E value) {
    append_json(out_, key.choices[static_cast<std::size_t>(value)]);
  }
  void write(const Key& key, double value) { key.nullable && !(value > 0) ? null() : append_json(out_, value); }
  template <std::integral T>
  void write(const Key& key, T value) {
    if (key.nullable && value <= 0) return null();
    if (key.hexadecimal) return append_hexadecimal(out_, static_cast<std::uint64_t>(value));
    out_ += std::to_string(value);
  }
  void write(const Key& key, Time value) { write(key, value.count()); }
  void write(const Key& key, Bytes value) { write(key, value.count()); }
  void write(const Key& key, Bandwidth value) { write(key, value.count()); }

  template <class T>
  void write(const Key& key, const std::optional<T>& value) {
    value ? write(key, *value) : null();
  }
  template <class T>
  void write(const Key& key, const std::vector<T>& values) {
    list(key, values, '[', ']', [&](const T& value) { element(key, value); });
  }
  template <class T>
  void write(const Key& key, const std::vector<std::pair<std::string, T>>& values) {
    write_named(key, values);
  }
  template <class T>
  void write(const Key& key, const std::map<std::string, T>& values) {
    write_named(key, values);
  }
  template <class Range>
  void write_named(const Key& key, const Range& values) {
    list(key, values, '{', '}', [&](const auto& named) {
      append_json(out_, named.first);
      out_ += ": ";
      element(key, named.second);
    });
  }
  template <class T>
    requires std::is_class_v<T>
  void write(const Key& key, const T& value) {
    if constexpr (requires { is_nothing(value); }) {
      if (key.nullable && is_nothing(value)) return null();
    }
    in_braces(false, object_.column, [&] { describe(*this, value); });
  }

  std::string& out_;
  Object object_;
};

}  // namespace kernbench::report
