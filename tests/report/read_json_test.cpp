#include "report/json/read_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "kernbench/error.h"
#include "report/json/json.h"
#include "report/json/split_array.h"
#include "sample_results.h"
#include "support/all_cases.h"

namespace kernbench::report {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Json = nlohmann::ordered_json;

std::string error_of(const std::string& text) {
  try {
    from_json(text, "result.json");
  } catch (const ConfigurationError& error) {
    EXPECT_EQ(error.where(), "result.json");
    return error.what();
  }
  return "no error";
}

// Names that are not UTF-8 become others when they are written, so what is compared has been written once.
TEST(ReadJsonTest, AnyResultReadsBackAsWhatWasWritten) {
  std::mt19937_64 generator(5);
  for (int i = 0; i < number_of_cases(300, 30, 5); ++i) {
    const RunResult once = from_json(to_json(samples::random(generator)), "once");
    ASSERT_EQ(to_json(from_json(to_json(once), "twice")), to_json(once));
  }
  for (const RunResult& result : {samples::gemm(), samples::training_step(), samples::deadlock(), samples::empty()}) {
    EXPECT_EQ(to_json(from_json(to_json(result), "sample")), to_json(result));
  }
}

TEST(ReadJsonTest, AResultOfAnEarlierVersionHasNoSwitches) {
  Json json = Json::parse(to_json(samples::gemm()));
  json.erase("switches");
  EXPECT_TRUE(from_json(json.dump(), "earlier").switches.empty());
  EXPECT_EQ(from_json(to_json(samples::gemm()), "now").switches, samples::gemm().switches);
}

// Large results are read launch by launch: nothing of that may be seen.
TEST(ReadJsonTest, LaunchesAreReadWhereverTheyStand) {
  RunResult result = samples::gemm();
  ASSERT_FALSE(result.launches.empty());
  result.launches.front().name = R"(a "quoted\" ] } name, [{)";
  result.launches.push_back(result.launches.front());
  const std::string text = to_json(result);
  const Json json = Json::parse(text);
  EXPECT_EQ(to_json(from_json(json.dump(), "in one line")), text);
  EXPECT_EQ(to_json(from_json(json.dump(3), "in many lines")), text);
  Json first = {{"launches", json["launches"]}}, last = json;
  first.update(json);
  last.erase("launches");
  last["launches"] = json["launches"];
  EXPECT_EQ(to_json(from_json(first.dump(), "first")), text);
  EXPECT_EQ(to_json(from_json(last.dump(), "last")), text);
}

TEST(SplitArray, CutsOneArrayOut) {
  const auto parts = split_array(R"( {"a": [1, {"x": []}], "x" : [ {"b": "]\""} ,{} ], "c": null} )", "x");
  ASSERT_TRUE(parts);
  EXPECT_EQ(parts->rest, R"( {"a": [1, {"x": []}], "x" : [], "c": null} )");
  EXPECT_THAT(parts->elements, ElementsAre(R"({"b": "]\""})", "{}"));
  EXPECT_THAT(split_array(R"({"x": []})", "x")->elements, IsEmpty());
}

TEST(SplitArray, IsForOneArrayOfObjectsInAnObject) {
  for (const char* text : {"", "{", "[]", "{}", R"({"y": []})", R"({"x": 1})", R"({"x": [1]})", R"({"x": [{} {}]})",
                           R"({"x": [{},]})", R"({"x": [{}})", R"({"x": [{}], "x": []})", R"({"x")", R"({"x": ["a\)",
                           R"({"y": "a\)", R"({"y" [], "x": []})"}) {
    EXPECT_FALSE(split_array(text, "x")) << text;
  }
}

TEST(ReadJsonTest, UnknownKeysAreIgnored) {
  Json json = Json::parse(to_json(samples::gemm()));
  json["later"] = {1, 2, 3};
  json["launches"][0]["later"] = "x";
  EXPECT_EQ(to_json(from_json(json.dump(), "later")), to_json(samples::gemm()));
}

TEST(ReadJsonTest, AKeyThatCameLaterMayBeMissing) {
  RunResult result = samples::gemm();
  Json json = Json::parse(to_json(result));
  json.erase("tlbs");
  result.tlbs.clear();
  EXPECT_EQ(to_json(from_json(json.dump(), "before")), to_json(result));
}

TEST(ReadJsonTest, TheKindOfAResourceIsThatOfItsNameWhereAnEarlierVersionSaysNone) {
  Json json = Json::parse(to_json(samples::gemm()));
  Json& first = json["resources"][0];
  Json& second = json["resources"][1];
  first["kind"] = "cooler";
  second.erase("kind");
  const auto kind_of_second = [&](const char* name) {
    second["name"] = name;
    const RunResult read = from_json(json.dump(), "before");
    EXPECT_EQ(read.resources[0].kind, "cooler");
    return read.resources[1].kind;
  };
  EXPECT_EQ(kind_of_second("sip0.cube12.pe3.gemm"), "sip*.cube*.pe*.gemm");
  EXPECT_EQ(kind_of_second("the cooler 7"), "the cooler 7");
}

// Where one of the keys that came with it is there, a key is not of an earlier version.
TEST(ReadJsonTest, KeysThatCameTogetherAreMissingTogether) {
  const Json whole = Json::parse(to_json(samples::gemm()));
  Json json = whole;
  json["launches"][0].erase("pes");
  EXPECT_THAT(error_of(json.dump()), HasSubstr("the key \"launches[0].pes\" is missing"));
  for (const char* key : {"pes", "available_pes", "range", "in_region", "bytes_by_distance", "tensor_bytes"}) {
    json["launches"][0].erase(key);
  }
  EXPECT_EQ(from_json(json.dump(), "before").launches[0].pes, 0);
  json = whole;
  json["device_peak"].erase("vector_per_s");
  EXPECT_THAT(error_of(json.dump()), HasSubstr("the key \"device_peak.vector_per_s\" is missing"));
  json = whole;
  json.erase("ranges");
  EXPECT_THAT(error_of(json.dump()), HasSubstr("the key \"ranges\" is missing"));
}

TEST(ReadJsonTest, WhatIsNoResultIsOneErrorThatSaysSo) {
  EXPECT_THAT(error_of(""), HasSubstr("not JSON"));
  EXPECT_THAT(error_of("# a document"), AllOf(HasSubstr("not JSON"), HasSubstr("line 1, column 1")));
  EXPECT_THAT(error_of(to_json(samples::gemm()).substr(0, 500)), HasSubstr("not JSON"));
  EXPECT_THAT(error_of("\xff\xfe"), HasSubstr("not JSON"));
  EXPECT_THAT(error_of("{\"seed\": 1e999}"), HasSubstr("not JSON"));
  EXPECT_THAT(error_of("[1, 2]"), HasSubstr("no result of \"kernbench run --json\""));
  EXPECT_THAT(error_of("{\"a\": 1}"), HasSubstr("no key \"kernbench\""));
  EXPECT_THAT(error_of("{\"kernbench\": \"0.1.0\"}"), AllOf(HasSubstr("\"schema\""), HasSubstr("reads schema 1")));
  EXPECT_THAT(error_of("{\"kernbench\": \"0.1.0\", \"schema\": 99}"), HasSubstr("schema 99"));
  EXPECT_THAT(error_of("{\"kernbench\": \"0.1.0\", \"schema\": \"1\"}"), HasSubstr("\"schema\" is string"));
}

// Every value of a result, one after the other, is taken away or replaced by something of another type.
void damage(const Json& whole, Json& at, const std::string& path, std::vector<std::pair<std::string, Json>>& damaged,
            const Json& root) {
  if (!at.is_structured()) return;
  for (auto& [key, value] : at.items()) {
    const Json kept = value;
    for (const Json& other : {Json("text"), Json(-1), Json(1.5), Json::array({1}), Json::object({{"x", 1}}), Json()}) {
      value = other;
      damaged.emplace_back(path + "/" + key, root);
    }
    value = kept;
    damage(whole, value, path + "/" + key, damaged, root);
  }
}

TEST(ReadJsonTest, AnyDamagedValueIsEitherTakenOrOneConfigurationError) {
  RunResult result = samples::gemm();
  result.resources.resize(2);
  result.error = ErrorResult{"ValueError", "m", "w"};
  Json root = Json::parse(to_json(result));
  std::vector<std::pair<std::string, Json>> damaged;
  damage(root, root, "", damaged, root);
  ASSERT_GT(damaged.size(), 500u);
  int refused = 0;
  std::size_t turn = 0;
  const std::size_t step = one_case_in(1, 10);
  for (const auto& [path, json] : damaged) {
    if (turn++ % step != 0) continue;
    SCOPED_TRACE(path);
    try {
      const RunResult read = from_json(json.dump(), "damaged");
      EXPECT_FALSE(to_json(read).empty());
    } catch (const ConfigurationError& error) {
      ++refused;
      EXPECT_GT(std::string(error.what()).size(), 10u);
    }
  }
  EXPECT_GT(refused, step == 1 ? 400 : 20);
}

TEST(ReadJsonTest, AMissingKeyIsNamedWithItsPlace) {
  Json json = Json::parse(to_json(samples::gemm()));
  json["launches"][0]["waits"][1].erase("time_ps");
  EXPECT_THAT(error_of(json.dump()), HasSubstr("the key \"launches[0].waits[1].time_ps\" is missing"));
  json = Json::parse(to_json(samples::gemm()));
  json["launches"][0]["end_ps"] = 1;
  EXPECT_THAT(error_of(json.dump()), HasSubstr("\"launches[0].end_ps\" is number, but should be at least start_ps"));
}

}  // namespace
}  // namespace kernbench::report
