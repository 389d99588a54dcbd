// The words in which a result is described, once: its keys in their order, what they mean, and how each is written.
// The JSON that is written, the one that is read, its schema and the tables of docs/json.md are visitors over the
// descriptions in this folder; there is no second list of the keys.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

namespace kernbench::report {

/// How the elements of a list stand in the text: all on one line, each on a line of its own, or each of them an object
/// with its keys on lines of their own.
enum class Layout : std::uint8_t { line, lines, blocks };

/// What a comparison of two results calls a key that went into the run; no kind: it came out of it.
struct Input {
  std::string_view kind;      // "parameter"
  std::string_view key = {};  // empty: the key's own name
};

/// How a key is written, read and compared.
struct KeyTraits {
  Layout layout = Layout::line;
  std::span<const std::string_view> choices = {};  // the texts of an enumeration, or of false and true, in order
  bool nullable = false;                           // a value that is nothing (0, an empty text) is null
  bool hexadecimal = false;                        // 16 digits, as a text
  bool derived = false;                            // it follows from other keys: written, but not read
  bool omitted = false;                            // this value is not written
  /// May be missing where the key of this name (possibly this one) is: earlier versions wrote neither, or it is for
  /// some values only.
  std::string_view missing_with = {};
  Input input = {};
};

/// What is known of one key besides its value.
struct Key : KeyTraits {
  Key() = default;
  /// `documentation` is Markdown without links.
  Key(std::string_view name_of_key, std::string_view meaning, const KeyTraits& traits = {})
      : KeyTraits(traits), name(name_of_key), documentation(meaning) {}

  std::string_view name, documentation;
};

/// R is Result or const Result.
template <class R, class Result>
concept Of = std::same_as<std::remove_const_t<R>, Result>;

// A visitor V has
//   template <class T> void key(const Key&, T& member);               one key
//   template <class F> void object(const Key&, F visit_keys);         keys of the result that stand in an object of
//   theirs
// A member is a text, a bool, a number, an enumeration, a unit (Time in ps, Bytes, Bandwidth in B/s), something with a
// description, a std::optional of that (or null), or a std::vector of that; a std::map and a std::vector of pairs with
// names are objects.

}  // namespace kernbench::report
