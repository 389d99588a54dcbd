#include "report/json/read_json.h"

#include <fmt/format.h>

#include <concepts>
#include <exception>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/part.h"
#include "kernbench/error.h"
#include "report/description/result.h"
#include "report/json/kernel_name.h"
#include "report/json/reader.h"
#include "report/json/split_array.h"
#include "report/outcome.h"

namespace kernbench::report {
namespace {

Node::Json parsed(std::string_view text, const std::string& file) {
  try {
    return Node::Json::parse(text);
  } catch (const Node::Json::exception& error) {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: …"
    const std::string_view message = error.what();
    const std::size_t start = message.find("] ");
    throw ConfigurationError(
        fmt::format("not JSON: {}", start == std::string_view::npos ? message : message.substr(start + 2)), file);
  }
}

void require_result(const Node& root, const std::string& file) {
  if (!root.has("kernbench")) {
    throw ConfigurationError("JSON, but no result of \"kernbench run --json\": it has no key \"kernbench\"", file);
  }
  if (!root.has("schema")) {
    throw ConfigurationError(
        fmt::format("a result without a key \"schema\", but this program reads schema {}: run the bench again",
                    kJsonSchema),
        file);
  }
  if (const auto schema = root.at("schema").natural(); schema != kJsonSchema) {
    throw ConfigurationError(fmt::format("a result of schema {}, but this program reads schema {}: run the bench again",
                                         schema, kJsonSchema),
                             file);
  }
}

/// The launches have the times that `nodes` give.
void require_order(std::span<const LaunchResult> launches, const Node& nodes) {
  auto launch = launches.begin();
  nodes.each([&](const Node& node) {
    if (launch->end < launch->start) node.at("end_ps").fail("at least start_ps");
    ++launch;
  });
}

/// Results of earlier versions name their resources, and do not say of which kind they are.
void add_kinds(std::vector<ResourceResult>& resources) {
  for (ResourceResult& resource : resources) {
    if (!resource.kind.empty()) continue;
    const std::optional<PartKind> kind = part_kind(resource.name);
    resource.kind = kind ? to_text(*kind) : resource.name;
  }
}

RunResult result_of(std::string_view text, const std::string& file) {
  const Node::Json json = parsed(text, file);
  const Node root(json, file);
  require_result(root, file);
  RunResult out;
  Reader reader(root);
  describe(reader, out);
  require_order(out.launches, root.at("launches"));
  return out;
}

/// The launches of one that is read alone.
struct OneLaunch {
  std::vector<LaunchResult> launches;
};
template <class V, class R>
  requires std::same_as<std::remove_const_t<R>, OneLaunch>
void describe(V& visit, R& part) {
  visit.key({"launches", "one launch"}, part.launches);
}

/// The launches make up nearly all of a large result, and take five times their text as JSON values: they are read one
/// after the other. Empty when the text is no such result, or its launches do not stand apart.
std::optional<RunResult> read_by_launches(std::string_view text, const std::string& file) {
  const std::optional<ArrayParts> parts = split_array(text, "launches");
  if (!parts || parts->elements.empty()) return std::nullopt;
  try {
    RunResult out = result_of(parts->rest, file);
    out.launches.reserve(parts->elements.size());
    std::string one;
    for (const std::string_view element : parts->elements) {
      one.assign("{\"launches\":[").append(element).append("]}");
      const Node::Json json = Node::Json::parse(one);
      const Node root(json, file);
      Reader reader(root);
      OneLaunch part;
      describe(reader, part);
      require_order(part.launches, root.at("launches"));
      out.launches.push_back(std::move(part.launches.front()));
    }
    return out;
  } catch (const std::exception&) {
    return std::nullopt;  // read as a whole, it says what is wrong, and where
  }
}

}  // namespace

RunResult from_json(std::string_view text, const std::string& file) {
  std::optional<RunResult> by_launches = read_by_launches(text, file);
  RunResult out = by_launches ? std::move(*by_launches) : result_of(text, file);
  add_kinds(out.resources);
  for (LaunchResult& launch : out.launches) launch.kernel = kernel_name(launch.name);
  for (LaunchTotal& total : out.launch_totals) total.longest_launch.kernel = total.name;
  out.status = status_of(out);
  return out;
}

}  // namespace kernbench::report
