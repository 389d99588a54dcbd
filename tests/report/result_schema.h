// What the descriptions of src/report/description say, as JSON Schemas and as tables of a page.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace kernbench::report {

nlohmann::ordered_json schema_of_result();
nlohmann::ordered_json schema_of_difference();

/// The tables of the keys of each object, in Markdown, by its place: `name` for the whole, "launches.waits" for an
/// element of such a list.
std::map<std::string, std::string> tables_of(const nlohmann::ordered_json& schema, const std::string& name);

/// Why `value` is not as `schema` says; empty when it is.
std::string violation(const nlohmann::ordered_json& value, const nlohmann::ordered_json& schema,
                      const std::string& place = "");

}  // namespace kernbench::report
