// The description of a topology as a flat walk: each key with its path and its texts, for printers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "topology/describe.h"
#include "topology/file_path.h"
#include "topology/values.h"

namespace kernbench::topology {

enum class Shape : std::uint8_t { number, quantity, part_of_one, rate, text, truth, mesh, parameters };

/// One key as texts.
struct FieldText {
  const Field* field = nullptr;
  std::size_t depth = 0;  // sections around it
  std::string path;       // "cube.hbm.bandwidth"
  Shape shape = Shape::text;
  std::string_view type;     // "bandwidth"
  std::string_view pattern;  // of a quantity
  std::string minimum;       // as one writes it; empty for texts
  std::string maximum;
  std::string value;  // as one writes it; empty for a mesh that is not given
};

/// The key under which the keys of an override stand where no part is named.
inline constexpr std::string_view kAnyPart = "PART";

/// The visitor that hands each key to `sink.key(const FieldText&)` and each section to `sink.open(key, path,
/// documentation, depth)` and `sink.close()`. A sink whose `of_values` is true sees the
/// overrides that there are; any other sees the keys of an override once, in a section kAnyPart.
template <class Sink>
class Walk {
 public:
  explicit Walk(Sink& sink) : sink_(sink) {}

  template <class T>
  void field(const Field& field, const T& member) {
    FieldText text;
    text.field = &field;
    text.depth = depth_;
    text.path = path_of(field.key);
    fill(text, member);
    sink_.key(text);
  }

  template <class F>
  void section(std::string_view key, std::string_view documentation, F visit_keys) {
    const std::string outer = path_;
    path_ = path_of(key);
    sink_.open(key, path_, documentation, depth_++);
    visit_keys();
    sink_.close();
    --depth_;
    path_ = outer;
  }

  void parts(std::string_view key, std::string_view documentation, const std::vector<PartOverride>& parts) {
    if constexpr (!Sink::of_values) {
      section(key, documentation, [&] {
        const PartOverride any{};
        section(kAnyPart, "the name of a link or a PE; '*' stands for any characters but '.'",
                [&] { describe(*this, any); });
      });
    } else if (!parts.empty()) {
      section(key, documentation, [&] {
        for (const PartOverride& part : parts) section(part.part, "", [&] { describe(*this, part); });
      });
    }
  }

 private:
  template <Number T>
  static void fill(FieldText& text, T value) {
    using Traits = NumberTraits<T>;
    text.shape = shape_of<T>();
    text.type = Traits::type;
    text.pattern = Traits::pattern;
    text.minimum = Traits::print(text.field->minimum);
    text.maximum = Traits::print(text.field->maximum);
    text.value = Traits::print(Traits::count(value));
  }
  template <Number T>
  static constexpr Shape shape_of() {
    if (std::same_as<T, std::int32_t>) return Shape::number;
    return std::same_as<T, Efficiency> ? Shape::part_of_one : Shape::quantity;
  }
  static void fill(FieldText& text, const std::string& value) {
    text.type = text.field->choices.empty() ? "name" : "choice";
    text.value = value;
  }
  static void fill(FieldText& text, const FilePath& value) {
    text.type = kFilePathType;
    text.value = value.text;
  }
  static void fill(FieldText& text, Rate value) {
    text.shape = Shape::rate;
    text.type = kRateType;
    text.pattern = kRatePattern;
    text.minimum = print_rate({1, static_cast<std::int32_t>(text.field->maximum)});
    text.maximum = print_rate({static_cast<std::int32_t>(text.field->maximum), 1});
    text.value = print_rate(value);
  }
  // Quoted, so that nothing is read as a null, a list or a number.
  static void fill(FieldText& text, const ModelParameterTexts& values) {
    text.shape = Shape::parameters;
    text.type = "key: value";
    for (const auto& [key, value] : values) {
      text.value += (text.value.empty() ? "{" : ", ") + ('"' + key + "\": \"" + value + '"');
    }
    if (!text.value.empty()) text.value += '}';
  }
  template <class E>
    requires std::is_enum_v<E>
  static void fill(FieldText& text, E value) {
    text.type = "choice";
    text.value = text.field->choices[static_cast<std::size_t>(value)];
  }
  static void fill(FieldText& text, MeshExtent value) {
    fill_mesh(text);
    text.value = "[" + std::to_string(value.width) + ", " + std::to_string(value.height) + "]";
  }
  static void fill(FieldText& text, bool value) {
    text.shape = Shape::truth;
    text.type = "truth value";
    text.value = text.field->choices[value ? 1 : 0];
  }
  template <class T>
  static void fill(FieldText& text, const std::optional<T>& value) {
    fill(text, value.value_or(T{}));
    if (!value) text.value.clear();
  }
  static void fill_mesh(FieldText& text) {
    text.shape = Shape::mesh;
    text.type = "[width, height]";
    text.minimum = std::to_string(text.field->minimum);
    text.maximum = std::to_string(text.field->maximum);
  }

  std::string path_of(std::string_view key) const {
    return path_.empty() ? std::string(key) : path_ + "." + std::string(key);
  }

  Sink& sink_;
  std::string path_;
  std::size_t depth_ = 0;
};

}  // namespace kernbench::topology
