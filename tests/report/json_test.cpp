#include "report/json/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "report/outcome.h"
#include "sample_results.h"
#include "support/all_cases.h"
#include "support/source_tree.h"

namespace kernbench::report {
namespace {

using Json = nlohmann::ordered_json;

std::vector<std::string> keys(const Json& object) {
  std::vector<std::string> out;
  for (const auto& [key, value] : object.items()) out.push_back(key);
  return out;
}

using Keys = std::vector<std::string>;

TEST(JsonTest, TheKeysAreTheDocumentedOnesInTheirOrder) {
  RunResult result = samples::gemm();
  result.error = ErrorResult{"ValueError", "m", "w"};
  const Json json = Json::parse(to_json(result));
  EXPECT_EQ(keys(json),
            (Keys{"schema",      "kernbench",  "bench",          "topology", "overrides",   "parameters",
                  "seed",        "switches",   "correlation_id", "origin",   "status",      "simulated_time_ps",
                  "wall_time_s", "events",     "launches",       "checks",   "metrics",     "resources",
                  "tlbs",        "region",     "ranges",         "warnings", "device_peak", "machine",
                  "error",       "fingerprint"}));
  EXPECT_EQ(keys(json["launches"][0]), (Keys{"name",
                                             "device",
                                             "where",
                                             "start_ps",
                                             "end_ps",
                                             "programs",
                                             "pes",
                                             "program_span_ps",
                                             "program_mean_ps",
                                             "last_pe",
                                             "available_pes",
                                             "range",
                                             "in_region",
                                             "plan",
                                             "breakdown_ps",
                                             "bound_ps",
                                             "bound_by",
                                             "flops",
                                             "hbm_bytes",
                                             "hbm_occupied_bytes",
                                             "bytes_by_distance",
                                             "fused_bytes",
                                             "tensor_bytes",
                                             "engines",
                                             "roofline",
                                             "critical_path",
                                             "longest_segments",
                                             "waits",
                                             "operations"}));
  const Json& launch = json["launches"][0];
  EXPECT_EQ(keys(launch["plan"]), (Keys{"of", "choices", "estimated_ps"}));
  EXPECT_EQ(launch["plan"]["choices"]["tile_k"], "128");
  EXPECT_EQ(keys(launch["critical_path"][0]),
            (Keys{"activity", "operation", "where", "on", "time_ps", "count", "instance"}));
  EXPECT_EQ(keys(launch["longest_segments"][0]), (Keys{"activity", "operation", "where", "on", "start_ps", "end_ps"}));
  EXPECT_EQ(keys(launch["waits"][0]),
            (Keys{"reason", "operation", "where", "cause", "cause_where", "time_ps", "count"}));
  EXPECT_EQ(keys(launch["operations"][0]),
            (Keys{"operation", "engine", "count", "waiting_ps", "work_ps", "bound_ps", "bytes"}));
  EXPECT_EQ(keys(launch["roofline"]), (Keys{"engine", "intensity", "attained_per_s", "used", "device"}));
  EXPECT_EQ(keys(launch["roofline"]["used"]),
            (Keys{"compute_per_s", "hbm_bytes_per_s", "roof_per_s", "share", "bound"}));
  EXPECT_EQ(keys(json["origin"]), (Keys{"kind", "path", "files", "compiler", "flags", "build"}));
  EXPECT_EQ(keys(json["origin"]["files"][0]), (Keys{"path", "content"}));
  EXPECT_EQ(keys(json["device_peak"]), (Keys{"flops_per_s", "hbm_bytes_per_s", "gemm_per_s", "vector_per_s"}));
  EXPECT_EQ(keys(launch["engines"][0]),
            (Keys{"engine", "types", "work", "busiest_ps", "attained_per_s", "device_peak_per_s", "used_peak_per_s"}));
  EXPECT_EQ(keys(launch["bytes_by_distance"]), (Keys{"own_slice", "same_cube", "same_sip", "other_sips"}));
  EXPECT_TRUE(json["region"].is_null());
  const Json marked = Json::parse(to_json(samples::training_step()));
  EXPECT_EQ(keys(marked["region"]), (Keys{"windows", "time_ps", "start_ps", "end_ps"}));
  EXPECT_EQ(keys(marked["ranges"][0]),
            (Keys{"name", "count", "host_ps", "complete_ps", "launches", "launch_ps", "begun_ps", "compute_ps",
                  "communication_ps", "overlap_ps", "flops", "hbm_bytes"}));
  EXPECT_EQ(marked["warnings"].size(), 1u);
  EXPECT_EQ(keys(json["checks"][0]),
            (Keys{"name", "status", "max_abs_error", "max_rel_error", "where", "elements", "mismatched"}));
  EXPECT_EQ(keys(json["metrics"]["tiles"]), (Keys{"value", "unit"}));
  EXPECT_EQ(keys(json["resources"][0]), (Keys{"name", "busy_ps", "bytes", "utilisation", "kind"}));
  EXPECT_EQ(keys(json["error"]), (Keys{"type", "message", "where"}));
  result.error->waits = {{"rank 0", "a message", "rank 1", false}};
  const Json deadlock = Json::parse(to_json(result))["error"];
  EXPECT_EQ(keys(deadlock), (Keys{"type", "message", "where", "waits", "cycles"}));
  EXPECT_EQ(keys(deadlock["waits"][0]), (Keys{"who", "reason", "target", "in_cycle"}));
  result.error->slots = {2, 4, "2 slots would break it"};
  const Json explained = Json::parse(to_json(result))["error"];
  EXPECT_EQ(keys(explained), (Keys{"type", "message", "where", "waits", "cycles", "slots"}));
  EXPECT_EQ(explained["slots"].dump(), R"({"needed":2,"tried":4,"text":"2 slots would break it"})");
  result.error->slots->needed = 0;
  EXPECT_TRUE(Json::parse(to_json(result))["error"]["slots"]["needed"].is_null());
  EXPECT_EQ(keys(json["fingerprint"]), (Keys{"times", "values"}));
}

TEST(JsonTest, AFailedSpawnHasItsErrorsAndVictims) {
  RunResult result = samples::deadlock();
  result.error = ErrorResult{"SpawnException", "two of four", ""};
  result.error->rank_errors = {{{0, 2}, Time::nanoseconds(5), "ValueError", "bad", "a.cpp:1"},
                               {{1}, Time::nanoseconds(6), "ProcessExitedException", "exit code 3", ""}};
  const Json without = Json::parse(to_json(result))["error"];
  EXPECT_EQ(keys(without), (Keys{"type", "message", "where", "errors", "victims"}));
  EXPECT_EQ(without["victims"], Json::array());
  result.error->victims = {3, 4};
  const Json error = Json::parse(to_json(result))["error"];
  EXPECT_EQ(error["errors"][0].dump(),
            R"({"ranks":[0,2],"time_ps":5000,"type":"ValueError","message":"bad","where":"a.cpp:1"})");
  EXPECT_EQ(error["errors"].size(), 2u);
  EXPECT_EQ(error["victims"].dump(), "[3,4]");
}

TEST(JsonTest, ReadsBackAsTheResultItCameFrom) {
  const RunResult result = samples::training_step();
  const Json json = Json::parse(to_json(result));
  EXPECT_EQ(json["bench"], "training_step");
  EXPECT_EQ(json["status"], "check_failed");
  EXPECT_EQ(json["simulated_time_ps"], 1'900'000'000);
  ASSERT_EQ(json["launches"].size(), result.launches.size());
  for (std::size_t i = 0; i < result.launches.size(); ++i) {
    const LaunchResult& launch = result.launches[i];
    const Json& read = json["launches"][i];
    EXPECT_EQ(read["name"], launch.name);
    EXPECT_EQ(read["device"], launch.device);
    EXPECT_EQ(read["start_ps"], launch.start.count());
    EXPECT_EQ(read["end_ps"], launch.end.count());
    EXPECT_EQ(read["programs"], launch.programs);
    std::int64_t sum = 0;
    for (const auto& [category, time] : read["breakdown_ps"].items()) sum += time.get<std::int64_t>();
    EXPECT_EQ(sum, (launch.end - launch.start).count());
  }
  EXPECT_EQ(json["checks"][1]["status"], "failed");
  EXPECT_EQ(json["checks"][1]["max_abs_error"], 0.5);
  EXPECT_TRUE(json["checks"][1]["max_rel_error"].is_null()) << "infinity";
  EXPECT_TRUE(json["error"].is_null());
}

TEST(JsonTest, FingerprintsAreSixteenHexDigits) {
  RunResult result = samples::empty();
  result.times_fingerprint = 0xab;
  result.values_fingerprint = UINT64_MAX;
  const Json json = Json::parse(to_json(result));
  EXPECT_EQ(json["fingerprint"]["times"], "00000000000000ab");
  EXPECT_EQ(json["fingerprint"]["values"], "ffffffffffffffff");
}

TEST(JsonTest, IntegersBeyondTwoToThe53AreExact) {
  RunResult result = samples::empty();
  result.seed = UINT64_MAX;
  result.simulated_time = Time::max();
  const Json json = Json::parse(to_json(result));
  EXPECT_EQ(json["seed"].get<std::uint64_t>(), UINT64_MAX);
  EXPECT_EQ(json["simulated_time_ps"].get<std::int64_t>(), INT64_MAX);
}

TEST(JsonTest, ControlCharactersQuotesAndBrokenUtf8GiveValidText) {
  RunResult result = samples::empty();
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  result.bench = all;
  result.topology = "\xed\x95\x9c\xf0\x9f\x98\x80";  // three and four bytes
  const Json json = Json::parse(to_json(result));
  const auto bench = json["bench"].get<std::string>();
  EXPECT_EQ(bench.substr(0, 128), all.substr(0, 128));
  EXPECT_EQ(bench.size(), 128 + 128 * 3) << "each stray byte becomes U+FFFD";
  EXPECT_EQ(json["topology"], result.topology);
}

// The strict parser of nlohmann-json rejects whatever is not JSON in UTF-8.
TEST(JsonTest, AnyResultGivesValidJsonWithItsNumbers) {
  std::mt19937_64 generator(7);
  for (int i = 0; i < number_of_cases(500, 50, 10); ++i) {
    const RunResult result = samples::random(generator);
    const std::string text = to_json(result);
    ASSERT_EQ(text, to_json(result));
    const Json json = Json::parse(text);
    ASSERT_EQ(json["seed"].get<std::uint64_t>(), result.seed);
    ASSERT_EQ(json["launches"].size(), result.launches.size());
    ASSERT_EQ(json["resources"].size(), result.resources.size());
    for (std::size_t k = 0; k < result.resources.size(); ++k) {
      const double value = result.resources[k].utilisation;
      const Json& read = json["resources"][k]["utilisation"];
      if (std::isfinite(value)) {
        ASSERT_EQ(read.get<double>(), value) << "the shortest text reads back to the same bits";
      } else {
        ASSERT_TRUE(read.is_null());
      }
    }
    ASSERT_EQ(json["status"], std::string(name(status_of(result))));
  }
}

TEST(JsonTest, MatchesTheGoldenFiles) {
  RunResult gemm = samples::gemm();
  gemm.resources.resize(5);
  source_tree::expect_golden("tests/report/golden/gemm.json", to_json(gemm));
  source_tree::expect_golden("tests/report/golden/deadlock.json", to_json(samples::deadlock()));
  source_tree::expect_golden("tests/report/golden/empty.json", to_json(samples::empty()));
}

}  // namespace
}  // namespace kernbench::report
