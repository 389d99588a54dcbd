#include "topology/schema.h"

#include <nlohmann/json.hpp>
#include <vector>

#include "topology/walk.h"

namespace kernbench::topology {
namespace {

using Json = nlohmann::ordered_json;

class SchemaSink {
 public:
  static constexpr bool of_values = false;
  SchemaSink() { stack_.push_back({"", false, object("A machine that KernBench simulates.")}); }

  void key(const FieldText& text) {
    const Field& field = *text.field;
    Json schema = {{"description", description(text)}};
    switch (text.shape) {
      case Shape::number:
        schema["type"] = "integer";
        schema["minimum"] = field.minimum;
        schema["maximum"] = field.maximum;
        break;
      case Shape::quantity:
        schema["type"] = "string";
        schema["pattern"] = text.pattern;
        break;
      case Shape::part_of_one:
        schema["type"] = {"number", "string"};
        schema["exclusiveMinimum"] = 0;
        schema["maximum"] = 1;
        schema["pattern"] = text.pattern;
        break;
      case Shape::rate:
        schema["type"] = {"integer", "string"};
        schema["minimum"] = 1;
        schema["maximum"] = field.maximum;
        schema["pattern"] = text.pattern;
        break;
      case Shape::mesh:
        schema["type"] = "array";
        schema["items"] = {{"type", "integer"}, {"minimum", field.minimum}, {"maximum", field.maximum}};
        schema["minItems"] = schema["maxItems"] = 2;
        break;
      case Shape::text:
        schema["type"] = "string";
        if (field.choices.empty() || field.models != ModelKind::none) schema["pattern"] = "^[A-Za-z0-9._-]{1,64}$";
        // The names of a user's own models are not known here.
        for (const std::string_view choice : field.choices) {
          schema[field.models == ModelKind::none ? "enum" : "examples"].push_back(choice);
        }
        break;
      case Shape::truth:
        schema["type"] = "boolean";
        break;
      case Shape::parameters:
        schema["type"] = "object";
        schema["additionalProperties"] = {{"type", {"string", "number"}}};
        break;
    }
    if (!field.required && !text.value.empty()) {
      schema["default"] = text.shape == Shape::number ? Json(std::stoll(text.value)) : Json(text.value);
    }
    add(std::string(field.key), field.required, std::move(schema));
  }

  void open(std::string_view key, const std::string&, std::string_view documentation, std::size_t) {
    stack_.push_back({std::string(key), false, object(documentation)});
  }

  void close() {
    Section section = std::move(stack_.back());
    stack_.pop_back();
    if (section.key == kAnyPart) {
      stack_.back().schema["additionalProperties"] = std::move(section.schema);
    } else {
      add(section.key, section.required, std::move(section.schema));
    }
  }

  Json take() { return std::move(stack_.back().schema); }

 private:
  struct Section {
    std::string key;
    bool required;  // as one of its keys is
    Json schema;
  };

  static Json object(std::string_view documentation) {
    return {{"description", documentation},
            {"type", "object"},
            {"additionalProperties", false},
            {"required", Json::array()},
            {"properties", Json::object()}};
  }

  static std::string description(const FieldText& text) {
    std::string description(text.field->documentation);
    if (text.shape == Shape::quantity) description += " (" + text.minimum + " to " + text.maximum + ")";
    return description;
  }

  void add(const std::string& key, bool required, Json schema) {
    Section& section = stack_.back();
    section.schema["properties"][key] = std::move(schema);
    if (!required) return;
    section.required = true;
    section.schema["required"].push_back(key);
  }

  std::vector<Section> stack_;
};

}  // namespace

std::string json_schema() {
  SchemaSink sink;
  Walk<SchemaSink> visitor(sink);
  const Topology defaults;
  describe(visitor, defaults);
  Json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", "KernBench topology"}};
  schema.update(sink.take());
  return schema.dump(2) + "\n";
}

}  // namespace kernbench::topology
