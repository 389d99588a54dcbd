#include "result_schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <regex>
#include <type_traits>
#include <utility>
#include <vector>

#include "report/description/difference.h"
#include "report/description/result.h"

namespace kernbench::report {
namespace {

using Json = nlohmann::ordered_json;

template <class T>
concept Described = std::is_class_v<T> && !std::same_as<T, std::string>;

/// The visitor that builds the schema of one object.
class Schema {
 public:
  template <class T>
  void key(const Key& key, const T& member) {
    add(key, value(key, member));
  }
  template <class F>
  void object(const Key& key, F visit_keys) {
    Schema inner;
    std::swap(inner, *this);
    visit_keys();
    std::swap(inner, *this);
    add(key, std::move(inner.schema_));
  }

  template <class T>
  static Json of(const T& value) {
    Schema schema;
    describe(schema, value);
    return schema.schema_;
  }

 private:
  void add(const Key& key, Json schema) {
    schema["description"] = key.documentation;
    schema_["properties"][std::string(key.name)] = std::move(schema);
    if (key.missing_with.empty()) schema_["required"].push_back(key.name);
  }

  static Json typed(const Key& key, const char* type) {
    if (key.nullable) return {{"type", {type, "null"}}};
    return {{"type", type}};
  }
  static Json one_of(const Key& key) {
    Json schema = typed(key, "string");
    for (const std::string_view choice : key.choices) schema["enum"].push_back(choice);
    return schema;
  }

  static Json value(const Key& key, const std::string&) { return typed(key, "string"); }
  static Json value(const Key& key, bool) { return key.choices.empty() ? typed(key, "boolean") : one_of(key); }
  template <class E>
    requires std::is_enum_v<E>
  static Json value(const Key& key, E) {
    return one_of(key);
  }
  static Json value(const Key&, double) { return {{"type", {"number", "null"}}}; }
  template <std::integral T>
  static Json value(const Key& key, T) {
    if (key.hexadecimal) return {{"type", "string"}, {"pattern", "^[0-9a-f]{16}$"}};
    return typed(key, "integer");
  }
  static Json value(const Key&, Time) { return {{"type", "integer"}, {"unit", "ps"}}; }
  static Json value(const Key&, Bytes) { return {{"type", "integer"}, {"unit", "B"}}; }
  static Json value(const Key&, Bandwidth) { return {{"type", "integer"}, {"unit", "B/s"}}; }
  template <class T>
  static Json value(const Key& key, const std::optional<T>&) {
    Json schema = value(key, T{});
    if (!schema["type"].is_array()) schema["type"] = {schema["type"], "null"};
    return schema;
  }
  template <class T>
  static Json value(const Key&, const std::vector<T>&) {
    return {{"type", "array"}, {"items", value({}, T{})}};
  }
  template <class T>
  static Json value(const Key&, const std::vector<std::pair<std::string, T>>&) {
    return {{"type", "object"}, {"additionalProperties", value({}, T{})}};
  }
  template <class T>
  static Json value(const Key&, const std::map<std::string, T>&) {
    return {{"type", "object"}, {"additionalProperties", value({}, T{})}};
  }
  template <Described T>
  static Json value(const Key& key, const T&) {
    Json schema = of(T{});
    if (key.nullable) schema["type"] = {"object", "null"};
    return schema;
  }

  Json schema_ = {{"type", "object"}, {"properties", Json::object()}, {"required", Json::array()}};
};

Json document(const char* title, Json schema) {
  Json out = {{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", title}};
  out.update(schema);
  return out;
}

std::vector<std::string> types_of(const Json& schema) {
  const Json& type = schema.at("type");
  return type.is_array() ? type.get<std::vector<std::string>>() : std::vector<std::string>{type.get<std::string>()};
}

std::string with_unit(const std::string& type, const Json& schema) {
  return schema.contains("unit") ? fmt::format("{} ({})", type, schema["unit"].get<std::string>()) : type;
}

std::string plural(const Json& schema) {
  const std::string type = types_of(schema).front();
  const std::string items = schema.contains("items") ? fmt::format(" of {}", plural(schema["items"])) : "";
  return with_unit(type + "s", schema) + items;
}

std::string type_text(const Json& schema) {
  const std::vector<std::string> types = types_of(schema);
  std::string out = with_unit(types.front(), schema);
  if (schema.contains("items")) out += " of " + plural(schema["items"]);
  if (schema.contains("additionalProperties")) out += " of " + plural(schema["additionalProperties"]);
  if (schema.contains("enum")) {
    std::string choices;
    for (const Json& choice : schema["enum"]) {
      choices += (choices.empty() ? ": `" : ", `") + choice.get<std::string>() + "`";
    }
    out += choices;
  }
  return types.size() > 1 ? out + " or null" : out;
}

/// The object within lists, if that is what it comes to.
const Json* object_within(const Json& schema) {
  if (schema.contains("properties")) return &schema;
  for (const char* inner : {"items", "additionalProperties"}) {
    if (schema.contains(inner)) return object_within(schema[inner]);
  }
  return nullptr;
}

void add_tables(const Json& object, const std::string& place, const std::string& prefix,
                std::map<std::string, std::string>& tables) {
  std::string& table = tables[place];
  table = "| key | type | meaning |\n|---|---|---|\n";
  for (const auto& [key, schema] : object["properties"].items()) {
    table += fmt::format("| `{}` | {} | {} |\n", key, type_text(schema), schema["description"].get<std::string>());
    if (const Json* inner = object_within(schema)) add_tables(*inner, prefix + key, prefix + key + ".", tables);
  }
}

bool has_type(const Json& value, const std::string& type) {
  if (type == "integer") return value.is_number_integer();
  if (type == "number") return value.is_number();
  return type == value.type_name();
}

}  // namespace

Json schema_of_result() {
  return document("KernBench result", Schema::of(RunResult{}));
}

Json schema_of_difference() {
  const Difference none;
  return document("KernBench difference", Schema::of(ComparedFiles{none, "", ""}));
}

std::map<std::string, std::string> tables_of(const Json& schema, const std::string& name) {
  std::map<std::string, std::string> tables;
  add_tables(schema, name, name == "result" ? "" : name + ".", tables);
  return tables;
}

std::string violation(const Json& value, const Json& schema, const std::string& place) {
  const std::vector<std::string> types = types_of(schema);
  if (std::ranges::none_of(types, [&](const std::string& type) { return has_type(value, type); })) {
    return fmt::format("{} is {}, but should be {}", place, value.type_name(), fmt::join(types, " or "));
  }
  if (schema.contains("enum") && !value.is_null() && std::ranges::count(schema["enum"], value) == 0) {
    return place + " is none of the choices";
  }
  if (schema.contains("pattern") && !std::regex_search(value.get<std::string>(), std::regex(schema["pattern"]))) {
    return place + " does not match the pattern";
  }
  if (value.is_array()) {
    for (const Json& element : value) {
      if (auto found = violation(element, schema["items"], place + "[]"); !found.empty()) return found;
    }
  }
  if (!value.is_object()) return {};
  for (const auto& [key, inner] : value.items()) {
    const bool known = schema.contains("properties") && schema["properties"].contains(key);
    if (!known && !schema.contains("additionalProperties")) return place + "." + key + " is not described";
    const Json& described = known ? schema["properties"][key] : schema["additionalProperties"];
    if (auto found = violation(inner, described, place + "." + key); !found.empty()) return found;
  }
  for (const Json& key : schema.value("required", Json::array())) {
    if (!value.contains(key.get<std::string>())) return place + "." + key.get<std::string>() + " is missing";
  }
  return {};
}

}  // namespace kernbench::report
