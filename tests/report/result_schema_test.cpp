// docs/json.md and docs/result.schema.json say what the descriptions of results say, and results are so.
#include "result_schema.h"

#include <gtest/gtest.h>

#include <random>
#include <regex>
#include <set>
#include <sstream>

#include "report/difference/difference.h"
#include "report/difference/difference_text.h"
#include "report/json/json.h"
#include "sample_results.h"
#include "support/source_tree.h"

namespace kernbench::report {
namespace {

using Json = nlohmann::ordered_json;

std::map<std::string, std::string> all_tables() {
  auto tables = tables_of(schema_of_result(), "result");
  tables.merge(tables_of(schema_of_difference(), "difference"));
  return tables;
}

// "<!-- keys: PLACE, PLACE -->", the table of each of these places, "<!-- end of keys -->".
TEST(ResultSchemaTest, ThePageHasTheTableOfEachObject) {
  const auto tables = all_tables();
  const std::string page = source_tree::read("docs/json.md");
  const std::regex section(R"(<!-- keys: ([^>]*) -->\n(?:\|[^\n]*\n)*<!-- end of keys -->)");
  std::set<std::string> shown;
  std::string renewed;
  auto rest = page.cbegin();
  for (std::sregex_iterator match(page.begin(), page.end(), section), end; match != end; ++match) {
    std::istringstream places((*match)[1].str());
    std::string table;
    for (std::string place; std::getline(places >> std::ws, place, ',');) {
      ASSERT_TRUE(tables.contains(place)) << place;
      EXPECT_TRUE(table.empty() || table == tables.at(place)) << place << " differs from those beside it";
      EXPECT_TRUE(shown.insert(place).second) << place << " is shown twice";
      table = tables.at(place);
    }
    renewed.append(rest, (*match)[0].first);
    renewed += "<!-- keys: " + (*match)[1].str() + " -->\n" + table + "<!-- end of keys -->";
    rest = (*match)[0].second;
  }
  renewed.append(rest, page.cend());
  for (const auto& [place, table] : tables) EXPECT_TRUE(shown.contains(place)) << place << " is not on the page";
  source_tree::expect_golden("docs/json.md", renewed);
}

TEST(ResultSchemaTest, ThePageHasAnExampleThatWasWritten) {
  EXPECT_NE(source_tree::read("docs/json.md").find("```json\n" + to_json(samples::deadlock()) + "```"),
            std::string::npos);
}

TEST(ResultSchemaTest, TheSchemaOfResultsIsTheOneBesideThePage) {
  source_tree::expect_golden("docs/result.schema.json", schema_of_result().dump(2) + "\n");
}

TEST(ResultSchemaTest, ResultsAreAsTheirSchemaSays) {
  const Json schema = schema_of_result();
  std::mt19937_64 generator(11);
  for (const RunResult& result : {samples::gemm(), samples::training_step(), samples::deadlock(), samples::empty(),
                                  samples::random(generator), samples::random(generator)}) {
    EXPECT_EQ(violation(Json::parse(to_json(result)), schema), "");
  }
  const Difference changed = difference(samples::gemm(), samples::training_step());
  EXPECT_EQ(violation(Json::parse(to_json(changed, "a", "b")), schema_of_difference()), "");
}

TEST(ResultSchemaTest, TheSchemaRefusesWhatIsNoResult) {
  const Json schema = schema_of_result(), good = Json::parse(to_json(samples::gemm()));
  Json bad = good;
  bad["launches"][0]["waits"][0]["time_ps"] = 1.5;
  EXPECT_EQ(violation(bad, schema), ".launches[].waits[].time_ps is number, but should be integer");
  bad = good;
  bad["status"] = "fine";
  EXPECT_EQ(violation(bad, schema), ".status is none of the choices");
  bad = good;
  bad["fingerprint"].erase("times");
  EXPECT_EQ(violation(bad, schema), ".fingerprint.times is missing");
}

}  // namespace
}  // namespace kernbench::report
