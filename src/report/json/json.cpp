#include "report/json/json.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "report/json/json_text.h"
#include "report/outcome.h"

namespace kernbench::report {
namespace {

std::string hex(std::uint64_t value) {
  std::string out(16, '0');
  for (auto digit = out.rbegin(); digit != out.rend(); ++digit, value >>= 4) *digit = "0123456789abcdef"[value & 15];
  return out;
}

std::string json(const PathPart& part) {
  Collection out = object();
  out.add("activity", quoted(part.activity));
  out.add("operation", quoted(part.operation));
  out.add("where", quoted(part.where));
  out.add("on", quoted(part.on));
  out.add("time_ps", number(part.time.count()));
  out.add("count", number(part.count));
  return out.finish();
}

std::string json(const PathSegment& segment) {
  Collection out = object();
  out.add("activity", quoted(segment.activity));
  out.add("operation", quoted(segment.operation));
  out.add("where", quoted(segment.where));
  out.add("on", quoted(segment.on));
  out.add("start_ps", number(segment.start.count()));
  out.add("end_ps", number(segment.end.count()));
  return out.finish();
}

std::string json(const WaitResult& wait) {
  Collection out = object();
  out.add("reason", quoted(wait.reason));
  out.add("operation", quoted(wait.operation));
  out.add("where", quoted(wait.where));
  out.add("cause", quoted(wait.cause));
  out.add("cause_where", quoted(wait.cause_where));
  out.add("time_ps", number(wait.time.count()));
  out.add("count", number(wait.count));
  return out.finish();
}

std::string json(const OperationResult& operation) {
  Collection out = object();
  out.add("operation", quoted(operation.operation));
  out.add("engine", quoted(operation.engine));
  out.add("count", number(operation.count));
  out.add("waiting_ps", number(operation.waiting.count()));
  out.add("work_ps", number(operation.work.count()));
  out.add("bound_ps", number(operation.bound.count()));
  return out.finish();
}

std::string json(const EngineResult& engine) {
  const auto peak = [](double per_s) { return per_s > 0 ? number(per_s) : "null"; };
  Collection out = object();
  out.add("engine", quoted(engine.engine));
  out.add("types", quoted(engine.types));
  out.add("work", number(engine.work));
  out.add("busiest_ps", number(engine.busiest.count()));
  out.add("attained_per_s", number(engine.attained));
  out.add("device_peak_per_s", peak(engine.device_peak));
  out.add("used_peak_per_s", peak(engine.used_peak));
  return out.finish();
}

std::string json(const Roof& roof) {
  Collection out = object();
  out.add("compute_per_s", number(roof.compute));
  out.add("hbm_bytes_per_s", number(roof.bandwidth));
  out.add("roof_per_s", number(roof.roof));
  out.add("share", number(roof.share));
  out.add("bound", quoted(roof.compute_bound ? "compute" : "hbm"));
  return out.finish();
}

std::string json(const Roofline& roofline) {
  Collection out = object();
  out.add("engine", quoted(roofline.engine));
  out.add("intensity", number(roofline.intensity));
  out.add("attained_per_s", number(roofline.attained));
  out.add("used", json(roofline.used));
  out.add("device", json(roofline.device));
  return out.finish();
}

std::string json(const DistanceBytes& bytes) {
  Collection out = object();
  out.add("own_slice", number(bytes.own_slice.count()));
  out.add("same_cube", number(bytes.same_cube.count()));
  out.add("same_sip", number(bytes.same_sip.count()));
  out.add("other_sips", number(bytes.other_sips.count()));
  return out.finish();
}

std::string json(const PlanResult& plan) {
  Collection choices = object();
  for (const auto& [name, value] : plan.choices) choices.add(name, quoted(value));
  Collection out = object();
  out.add("of", quoted(plan.of));
  out.add("choices", choices.finish());
  out.add("estimated_ps", number(plan.estimated.count()));
  return out.finish();
}

std::string json(const LaunchResult& launch) {
  const auto element = [](const auto& value) { return json(value); };
  constexpr std::string_view kIndent = "     ";
  Collection breakdown = object();
  for (const auto& [category, time] : launch.breakdown) breakdown.add(category, number(time.count()));
  Collection out('{', '}', ",\n     ");
  out.add("name", quoted(launch.name));
  out.add("device", number(launch.device));
  out.add("where", quoted(launch.where));
  out.add("start_ps", number(launch.start.count()));
  out.add("end_ps", number(launch.end.count()));
  out.add("programs", number(launch.programs));
  out.add("pes", number(launch.pes));
  out.add("available_pes", number(launch.available_pes));
  out.add("range", quoted(launch.range));
  out.add("in_region", launch.in_region ? "true" : "false");
  out.add("plan", launch.plan ? json(*launch.plan) : "null");
  out.add("breakdown_ps", breakdown.finish());
  out.add("bound_ps", number(launch.bound.count()));
  out.add("bound_by", quoted(launch.bound_by));
  out.add("flops", number(launch.flops));
  out.add("hbm_bytes", number(launch.hbm_bytes.count()));
  out.add("bytes_by_distance", json(launch.distance));
  out.add("tensor_bytes", number(launch.tensor_bytes.count()));
  out.add("engines", lines(launch.engines, element, '[', ']', kIndent));
  out.add("roofline", launch.roofline.engine.empty() ? "null" : json(launch.roofline));
  out.add("critical_path", lines(launch.critical_path, element, '[', ']', kIndent));
  out.add("longest_segments", lines(launch.longest_segments, element, '[', ']', kIndent));
  out.add("waits", lines(launch.waits, element, '[', ']', kIndent));
  out.add("operations", lines(launch.operations, element, '[', ']', kIndent));
  return out.finish();
}

std::string json(const CheckResult& check) {
  Collection out = object();
  out.add("name", quoted(check.name));
  out.add("status", quoted(name(check.status)));
  out.add("max_abs_error", number(check.max_abs_error));
  out.add("max_rel_error", number(check.max_rel_error));
  return out.finish();
}

std::string json(const std::pair<const std::string, Metric>& metric) {
  Collection value = object();
  value.add("value", number(metric.second.value));
  value.add("unit", quoted(metric.second.unit));
  return quoted(metric.first) + ": " + value.finish();
}

std::string json(const ResourceResult& resource) {
  Collection out = object();
  out.add("name", quoted(resource.name));
  out.add("busy_ps", number(resource.busy.count()));
  out.add("bytes", number(resource.bytes.count()));
  out.add("utilisation", number(resource.utilisation));
  out.add("kind", quoted(resource.kind));
  return out.finish();
}

std::string json(const TlbResult& tlb) {
  Collection out = object();
  out.add("name", quoted(tlb.name));
  out.add("hits", number(tlb.hits));
  out.add("misses", number(tlb.misses));
  out.add("walking_ps", number(tlb.walking.count()));
  return out.finish();
}

std::string json(const RegionResult& region) {
  Collection out = object();
  out.add("windows", number(region.windows));
  out.add("time_ps", number(region.time.count()));
  out.add("start_ps", number(region.start.count()));
  out.add("end_ps", number(region.end.count()));
  return out.finish();
}

std::string json(const RangeResult& range) {
  Collection out = object();
  out.add("name", quoted(range.name));
  out.add("count", number(range.count));
  out.add("host_ps", number(range.host.count()));
  out.add("complete_ps", number(range.complete.count()));
  out.add("launches", number(range.launches));
  out.add("launch_ps", number(range.launch_time.count()));
  return out.finish();
}

std::string json(const WaitEdgeResult& edge) {
  Collection out = object();
  out.add("who", quoted(edge.who));
  out.add("reason", quoted(edge.reason));
  out.add("target", edge.target.empty() ? "null" : quoted(edge.target));
  out.add("in_cycle", edge.in_cycle ? "true" : "false");
  return out.finish();
}

std::string json(const SlotAdvice& slots) {
  Collection out = object();
  out.add("needed", slots.needed > 0 ? number(slots.needed) : "null");
  out.add("tried", number(slots.tried));
  out.add("text", quoted(slots.text));
  return out.finish();
}

std::string numbers(const std::vector<int>& values) {
  Collection out('[', ']', ", ");
  for (const int value : values) out.add(number(value));
  return out.finish();
}

std::string json(const RankErrorResult& error) {
  Collection out = object();
  out.add("ranks", numbers(error.ranks));
  out.add("time_ps", number(error.time.count()));
  out.add("type", quoted(error.type));
  out.add("message", quoted(error.message));
  out.add("where", quoted(error.where));
  return out.finish();
}

std::string json(const ErrorResult& error) {
  Collection out = object();
  out.add("type", quoted(error.type));
  out.add("message", quoted(error.message));
  out.add("where", quoted(error.where));
  if (!error.rank_errors.empty()) {
    const auto rank_error = [](const RankErrorResult& each) { return json(each); };
    out.add("errors", lines(error.rank_errors, rank_error, '[', ']', "   "));
    out.add("victims", numbers(error.victims));
  }
  if (error.waits.empty()) return out.finish();
  const auto wait = [](const WaitEdgeResult& edge) { return json(edge); };
  const auto cycle = [](const std::vector<std::string>& names) {
    Collection list('[', ']', ", ");
    for (const std::string& name : names) list.add(quoted(name));
    return list.finish();
  };
  out.add("waits", lines(error.waits, wait, '[', ']', "   "));
  out.add("cycles", lines(error.cycles, cycle, '[', ']', "   "));
  if (error.slots) out.add("slots", json(*error.slots));
  return out.finish();
}

std::string json(const Origin::File& file) {
  Collection out = object();
  out.add("path", quoted(file.path));
  out.add("content", quoted(file.content));
  return out.finish();
}

std::string json(const Origin& origin) {
  Collection files('[', ']', ", ");
  for (const Origin::File& file : origin.files) files.add(json(file));
  Collection out = object();
  out.add("kind", quoted(origin.kind));
  out.add("path", quoted(origin.path));
  out.add("files", files.finish());
  out.add("compiler", quoted(origin.compiler));
  out.add("flags", quoted(origin.flags));
  out.add("build", quoted(origin.build));
  return out.finish();
}

std::string device_peak(const RunResult& result) {
  Collection gemm = object();
  for (const auto& [type, per_s] : result.peak_gemm) gemm.add(type, number(per_s));
  Collection out = object();
  out.add("flops_per_s", number(result.peak_flops));
  out.add("hbm_bytes_per_s", number(result.peak_hbm_bandwidth.count()));
  out.add("gemm_per_s", gemm.finish());
  out.add("vector_per_s", number(result.peak_vector));
  return out.finish();
}

std::string fingerprint(const RunResult& result) {
  Collection out = object();
  out.add("times", quoted(hex(result.times_fingerprint)));
  out.add("values", quoted(hex(result.values_fingerprint)));
  return out.finish();
}

std::string texts(const std::map<std::string, std::string>& values) {
  Collection out = object();
  for (const auto& [key, value] : values) out.add(key, quoted(value));
  return out.finish();
}

}  // namespace

std::string to_json(const RunResult& result) {
  const auto element = [](const auto& value) { return json(value); };
  Collection out('{', '}', ",\n  ");
  out.add("schema", number(kJsonSchema));
  out.add("kernbench", quoted(result.version));
  out.add("bench", quoted(result.bench));
  out.add("topology", quoted(result.topology));
  out.add("parameters", texts(result.parameters));
  out.add("seed", number(result.seed));
  out.add("switches", texts(result.switches));
  out.add("correlation_id", quoted(result.correlation_id));
  out.add("origin", json(result.origin));
  out.add("status", quoted(name(result.status)));
  out.add("simulated_time_ps", number(result.simulated_time.count()));
  out.add("wall_time_s", number(result.wall_time_s));
  out.add("events", number(result.events));
  out.add("launches", lines(result.launches, element, '[', ']'));
  out.add("checks", lines(result.checks, element, '[', ']'));
  out.add("metrics", lines(result.metrics, element, '{', '}'));
  out.add("resources", lines(result.resources, element, '[', ']'));
  out.add("tlbs", lines(result.tlbs, element, '[', ']'));
  const auto warning = [](const std::string& text) { return quoted(text); };
  out.add("region", result.region ? json(*result.region) : "null");
  out.add("ranges", lines(result.ranges, element, '[', ']'));
  out.add("warnings", lines(result.warnings, warning, '[', ']'));
  const auto setting = [](const auto& key) { return report::quoted(key.first) + ": " + report::quoted(key.second); };
  out.add("device_peak", device_peak(result));
  out.add("machine", lines(result.machine, setting, '{', '}'));
  out.add("error", result.error ? json(*result.error) : "null");
  out.add("fingerprint", fingerprint(result));
  return document(std::move(out));
}

}  // namespace kernbench::report
