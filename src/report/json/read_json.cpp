// The only unit of this layer that includes nlohmann-json, which is slow to compile.
#include "report/json/read_json.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/part.h"
#include "kernbench/error.h"
#include "report/json/json.h"
#include "report/outcome.h"

namespace kernbench::report {
namespace {

using Json = nlohmann::ordered_json;

/// A value of the file, and where it is: "launches[2].waits[0].time_ps".
class Node {
 public:
  Node(const Json& value, const std::string& file, std::string path)
      : value_(value), file_(file), path_(std::move(path)) {}

  Node at(const char* key) const {
    if (!value_.is_object()) fail("an object");
    const auto found = value_.find(key);
    if (found == value_.end()) {
      throw ConfigurationError(fmt::format("the key \"{}\" is missing", joined(key)), file_);
    }
    return {*found, file_, joined(key)};
  }
  bool has(const char* key) const { return value_.is_object() && value_.contains(key); }
  bool is_null() const { return value_.is_null(); }
  bool truth() const {
    if (!value_.is_boolean()) fail("true or false");
    return value_.get<bool>();
  }

  std::string text() const {
    if (!value_.is_string()) fail("a string");
    return value_.get<std::string>();
  }
  std::uint64_t natural() const {
    if (!value_.is_number_unsigned()) fail("a whole number, not negative");
    return value_.get<std::uint64_t>();
  }
  /// A natural number that fits into the signed type.
  template <class Integer = std::int64_t>
  Integer integer() const {
    const std::uint64_t value = natural();
    if (value > static_cast<std::uint64_t>(std::numeric_limits<Integer>::max())) fail("a smaller number");
    return static_cast<Integer>(value);
  }
  Time time() const { return Time::picoseconds(integer()); }
  double real() const {
    if (value_.is_null()) return std::numeric_limits<double>::quiet_NaN();
    if (!value_.is_number()) fail("a number or null");
    return value_.get<double>();
  }
  template <class Visit>
  void each(Visit visit) const {
    if (!value_.is_array()) fail("an array");
    std::size_t index = 0;
    for (const Json& element : value_) visit(Node(element, file_, fmt::format("{}[{}]", path_, index++)));
  }
  template <class Visit>
  void each_key(Visit visit) const {
    if (!value_.is_object()) fail("an object");
    for (const auto& [key, element] : value_.items()) visit(key, Node(element, file_, joined(key)));
  }
  /// The position of the text among `names`.
  template <std::size_t kCount>
  std::size_t one_of(const std::array<std::string_view, kCount>& names) const {
    const std::string value = text();
    for (std::size_t i = 0; i < kCount; ++i) {
      if (names[i] == value) return i;
    }
    fail(fmt::format("one of {}", fmt::join(names, ", ")));
  }

  [[noreturn]] void fail(const std::string& wanted) const {
    const std::string what = path_.empty() ? "the file's value" : fmt::format("\"{}\"", path_);
    throw ConfigurationError(fmt::format("{} is {}, but should be {}", what, value_.type_name(), wanted), file_);
  }

 private:
  std::string joined(const std::string& key) const { return path_.empty() ? key : path_ + "." + key; }

  const Json& value_;
  const std::string& file_;
  std::string path_;
};

PathPart path_part(const Node& node) {
  return {node.at("activity").text(), node.at("operation").text(), node.at("where").text(),
          node.at("on").text(),       node.at("time_ps").time(),   node.at("count").integer()};
}

PathSegment path_segment(const Node& node) {
  return {node.at("activity").text(), node.at("operation").text(), node.at("where").text(),
          node.at("on").text(),       node.at("start_ps").time(),  node.at("end_ps").time()};
}

WaitResult wait(const Node& node) {
  return {node.at("reason").text(),  node.at("operation").text(),   node.at("where").text(),
          node.at("cause").text(),   node.at("cause_where").text(), node.at("time_ps").time(),
          node.at("count").integer()};
}

OperationResult operation(const Node& node) {
  return {node.at("operation").text(),  node.at("engine").text(),  node.at("count").integer(),
          node.at("waiting_ps").time(), node.at("work_ps").time(), node.at("bound_ps").time()};
}

EngineResult engine(const Node& node) {
  const auto peak = [](const Node& per_s) { return per_s.is_null() ? 0 : per_s.real(); };
  return {node.at("engine").text(),        node.at("types").text(),          node.at("work").real(),
          node.at("busiest_ps").time(),    node.at("attained_per_s").real(), peak(node.at("device_peak_per_s")),
          peak(node.at("used_peak_per_s"))};
}

Roof roof(const Node& node) {
  constexpr std::array<std::string_view, 2> kBounds = {"compute", "hbm"};
  return {node.at("compute_per_s").real(), node.at("hbm_bytes_per_s").real(), node.at("roof_per_s").real(),
          node.at("share").real(), node.at("bound").one_of(kBounds) == 0};
}

Roofline roofline(const Node& node) {
  if (node.is_null()) return {};
  return {node.at("engine").text(), node.at("intensity").real(), node.at("attained_per_s").real(),
          roof(node.at("used")), roof(node.at("device"))};
}

WaitEdgeResult wait_edge(const Node& node) {
  const Node target = node.at("target");
  return {node.at("who").text(), node.at("reason").text(), target.is_null() ? std::string() : target.text(),
          node.at("in_cycle").truth()};
}

SlotAdvice slot_advice(const Node& node) {
  const Node needed = node.at("needed");
  return {needed.is_null() ? 0 : needed.integer<std::int32_t>(), node.at("tried").integer<std::int32_t>(),
          node.at("text").text()};
}

std::vector<int> ranks(const Node& node) {
  std::vector<int> out;
  node.each([&](const Node& rank) { out.push_back(rank.integer<std::int32_t>()); });
  return out;
}

RankErrorResult rank_error(const Node& node) {
  return {ranks(node.at("ranks")), node.at("time_ps").time(), node.at("type").text(), node.at("message").text(),
          node.at("where").text()};
}

ErrorResult read_error(const Node& node) {
  ErrorResult out{node.at("type").text(), node.at("message").text(), node.at("where").text()};
  if (node.has("errors")) {
    node.at("errors").each([&](const Node& error) { out.rank_errors.push_back(rank_error(error)); });
    out.victims = ranks(node.at("victims"));
  }
  if (!node.has("waits")) return out;
  node.at("waits").each([&](const Node& edge) { out.waits.push_back(wait_edge(edge)); });
  node.at("cycles").each([&](const Node& cycle) {
    auto& names = out.cycles.emplace_back();
    cycle.each([&](const Node& name) { names.push_back(name.text()); });
  });
  if (node.has("slots")) out.slots = slot_advice(node.at("slots"));
  return out;
}

/// What results of earlier versions lack.
void read_place(LaunchResult& out, const Node& node) {
  if (!node.has("in_region")) return;
  out.pes = node.at("pes").integer();
  out.available_pes = node.at("available_pes").integer();
  out.range = node.at("range").text();
  out.in_region = node.at("in_region").truth();
  const Node bytes = node.at("bytes_by_distance");
  out.distance = {Bytes(bytes.at("own_slice").integer()), Bytes(bytes.at("same_cube").integer()),
                  Bytes(bytes.at("same_sip").integer()), Bytes(bytes.at("other_sips").integer())};
  out.tensor_bytes = Bytes(node.at("tensor_bytes").integer());
}

PlanResult plan(const Node& node) {
  PlanResult out{node.at("of").text(), {}, node.at("estimated_ps").time()};
  node.at("choices").each_key(
      [&](const std::string& name, const Node& value) { out.choices.emplace_back(name, value.text()); });
  return out;
}

LaunchResult launch(const Node& node) {
  LaunchResult out;
  out.name = node.at("name").text();
  out.device = node.at("device").integer<std::int32_t>();
  if (node.has("where")) out.where = node.at("where").text();
  out.start = node.at("start_ps").time();
  out.end = node.at("end_ps").time();
  if (out.end < out.start) node.at("end_ps").fail("at least start_ps");
  out.programs = node.at("programs").integer();
  // Earlier versions wrote none.
  if (node.has("plan") && !node.at("plan").is_null()) out.plan = plan(node.at("plan"));
  node.at("breakdown_ps").each_key([&](const std::string& category, const Node& time) {
    out.breakdown.emplace_back(category, time.time());
  });
  out.bound = node.at("bound_ps").time();
  out.bound_by = node.at("bound_by").text();
  out.flops = node.at("flops").real();
  out.hbm_bytes = Bytes(node.at("hbm_bytes").integer());
  read_place(out, node);
  if (node.has("engines")) {  // results of earlier versions lack it
    node.at("engines").each([&](const Node& part) { out.engines.push_back(engine(part)); });
  }
  out.roofline = roofline(node.at("roofline"));
  node.at("critical_path").each([&](const Node& part) { out.critical_path.push_back(path_part(part)); });
  node.at("longest_segments").each([&](const Node& part) { out.longest_segments.push_back(path_segment(part)); });
  node.at("waits").each([&](const Node& part) { out.waits.push_back(wait(part)); });
  node.at("operations").each([&](const Node& part) { out.operations.push_back(operation(part)); });
  return out;
}

CheckResult check(const Node& node) {
  constexpr std::array<std::string_view, 3> kStatuses = {"passed", "failed", "skipped"};
  return {node.at("name").text(), static_cast<CheckStatus>(node.at("status").one_of(kStatuses)),
          node.at("max_abs_error").real(), node.at("max_rel_error").real()};
}

/// Results of earlier versions have names only.
std::string resource_kind(const Node& node, const std::string& name) {
  if (node.has("kind")) return node.at("kind").text();
  const std::optional<PartKind> kind = part_kind(name);
  return kind ? to_text(*kind) : name;
}

ResourceResult resource(const Node& node) {
  const std::string name = node.at("name").text();
  return {name, node.at("busy_ps").time(), Bytes(node.at("bytes").integer()), node.at("utilisation").real(),
          resource_kind(node, name)};
}

TlbResult tlb(const Node& node) {
  return {node.at("name").text(), node.at("hits").natural(), node.at("misses").natural(), node.at("walking_ps").time()};
}

RegionResult region(const Node& node) {
  return {node.at("windows").integer(), node.at("time_ps").time(), node.at("start_ps").time(),
          node.at("end_ps").time()};
}

RangeResult range(const Node& node) {
  return {node.at("name").text(),        node.at("count").integer(),    node.at("host_ps").time(),
          node.at("complete_ps").time(), node.at("launches").integer(), node.at("launch_ps").time()};
}

/// What results of earlier versions lack.
void read_region(RunResult& out, const Node& root) {
  if (!root.has("region")) return;
  if (const Node part = root.at("region"); !part.is_null()) out.region = region(part);
  root.at("ranges").each([&](const Node& node) { out.ranges.push_back(range(node)); });
}

std::uint64_t fingerprint(const Node& node) {
  const std::string digits = node.text();
  if (digits.size() != 16 || digits.find_first_not_of("0123456789abcdef") != std::string::npos) {
    node.fail("16 hexadecimal digits");
  }
  return std::stoull(digits, nullptr, 16);
}

Origin origin(const Node& node) {
  Origin out;
  out.kind = node.at("kind").text();
  out.path = node.at("path").text();
  node.at("files").each(
      [&](const Node& file) { out.files.push_back({file.at("path").text(), file.at("content").text()}); });
  out.compiler = node.at("compiler").text();
  out.flags = node.at("flags").text();
  out.build = node.at("build").text();
  return out;
}

void read_inputs(RunResult& out, const Node& root) {
  out.version = root.at("kernbench").text();
  out.bench = root.at("bench").text();
  out.topology = root.at("topology").text();
  root.at("parameters").each_key([&](const std::string& key, const Node& value) {
    out.parameters[key] = value.text();
  });
  out.seed = root.at("seed").natural();
  if (root.has("origin")) out.origin = origin(root.at("origin"));
  if (root.has("switches")) {  // results of earlier versions lack it
    root.at("switches").each_key([&](const std::string& key, const Node& value) { out.switches[key] = value.text(); });
  }
  out.correlation_id = root.at("correlation_id").text();
  root.at("machine").each_key(
      [&](const std::string& key, const Node& value) { out.machine.emplace_back(key, value.text()); });
}

void read_outcome(RunResult& out, const Node& root) {
  out.simulated_time = root.at("simulated_time_ps").time();
  out.wall_time_s = root.at("wall_time_s").real();
  out.events = root.at("events").natural();
  root.at("launches").each([&](const Node& node) { out.launches.push_back(launch(node)); });
  root.at("checks").each([&](const Node& node) { out.checks.push_back(check(node)); });
  root.at("metrics").each_key([&](const std::string& key, const Node& node) {
    out.metrics[key] = {node.at("value").real(), node.at("unit").text()};
  });
  root.at("resources").each([&](const Node& node) { out.resources.push_back(resource(node)); });
  if (root.has("tlbs")) {  // files of before do without
    root.at("tlbs").each([&](const Node& node) { out.tlbs.push_back(tlb(node)); });
  }
  if (root.has("warnings")) {  // likewise
    root.at("warnings").each([&](const Node& node) { out.warnings.push_back(node.text()); });
  }
  read_region(out, root);
  const Node peak = root.at("device_peak");
  out.peak_flops = peak.at("flops_per_s").real();
  out.peak_hbm_bandwidth = Bandwidth::bytes_per_second(peak.at("hbm_bytes_per_s").integer());
  if (peak.has("gemm_per_s")) {  // results of earlier versions lack it
    peak.at("gemm_per_s").each_key([&](const std::string& type, const Node& per_s) {
      out.peak_gemm.emplace_back(type, per_s.real());
    });
    out.peak_vector = peak.at("vector_per_s").real();
  }
  if (const Node error = root.at("error"); !error.is_null()) {
    out.error = read_error(error);
  }
  out.times_fingerprint = fingerprint(root.at("fingerprint").at("times"));
  out.values_fingerprint = fingerprint(root.at("fingerprint").at("values"));
  out.status = status_of(out);
}

Json parsed(std::string_view text, const std::string& file) {
  try {
    return Json::parse(text);
  } catch (const Json::exception& error) {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: …"
    const std::string_view message = error.what();
    const std::size_t start = message.find("] ");
    throw ConfigurationError(
        fmt::format("not JSON: {}", start == std::string_view::npos ? message : message.substr(start + 2)), file);
  }
}

}  // namespace

RunResult from_json(std::string_view text, const std::string& file) {
  const Json json = parsed(text, file);
  if (!json.is_object() || json.find("kernbench") == json.end()) {
    throw ConfigurationError("JSON, but no result of \"kernbench run --json\": it has no key \"kernbench\"", file);
  }
  const Node root(json, file, "");
  if (json.find("schema") == json.end()) {
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
  RunResult out;
  read_inputs(out, root);
  read_outcome(out, root);
  return out;
}

}  // namespace kernbench::report
