#include "report/sections/metric_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "report/sections/table.h"

namespace kernbench::report {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

Metrics sample() {
  return {{"bytes of HBM, near", {4096, "B"}},
          {"bytes of HBM, far", {8192, "B"}},
          {"busiest, near", {50, "% HBM"}},
          {"busiest, far", {75.5, "% link"}},
          {"time, near", {1000, "ns"}},
          {"time, far", {2500, "ns"}},
          {"tiles", {12, ""}}};
}

TEST(MetricTableTest, QuantitiesOfTheSameItemsStandSideBySideTheFastestItemFirst) {
  const Metrics metrics = sample();
  const MetricTable table = metric_table(metrics);
  EXPECT_THAT(table.quantities, ElementsAre("time", "bytes of HBM", "busiest"));
  EXPECT_THAT(table.items, ElementsAre("near", "far"));
  EXPECT_EQ(table.at(metrics, 1, 1).value, 8192);
}

TEST(MetricTableTest, NumbersInNamesStandByTheirValue) {
  std::map<std::string, Metric> metrics;
  for (const char* quantity : {"rate", "time"}) {
    for (const char* item : {"1024 B", "64 B", "131072 B", "64 KiB"}) {
      metrics[std::string(quantity) + ", " + item] = {3, "ns"};
    }
  }
  EXPECT_EQ(metric_table(metrics).items, (std::vector<std::string>{"64 B", "64 KiB", "1024 B", "131072 B"}));
  std::vector<std::string_view> names;
  for (const auto& [name, metric] : shown(metrics)) names.push_back(name);
  EXPECT_EQ(names.front(), "rate, 64 B");
  EXPECT_EQ(names.back(), "time, 131072 B");
}

TEST(MetricTableTest, OneQuantityOrOneItemOrUnequalItemsMakeNoTable) {
  EXPECT_TRUE(metric_table({}).items.empty());
  EXPECT_TRUE(metric_table({{"time, a", {1, "ns"}}, {"time, b", {2, "ns"}}}).items.empty());
  EXPECT_TRUE(metric_table({{"time, a", {1, "ns"}}, {"bytes, a", {2, "B"}}}).items.empty());
  EXPECT_TRUE(metric_table({{"time, a", {1, "ns"}}, {"time, b", {1, "ns"}}, {"bytes, a", {2, "B"}}}).items.empty());
}

TEST(MetricTableTest, TheMainOnesAreTimesAndRatesThenOthersThenTerms) {
  const Metrics metrics = {{"memory of a device", {94, "MiB"}},
                           {"memory of a device, of its capacity", {0.1, "%"}},
                           {"time to the first token", {98, "us"}},
                           {"token: kernels by the queue's law", {7, "us"}},
                           {"tokens per second", {16358, "1/s"}}};
  EXPECT_THAT(main_metrics(metrics, 2), ElementsAre("time to the first token", "tokens per second"));
  EXPECT_THAT(main_metrics(metrics, 3),
              ElementsAre("memory of a device", "time to the first token", "tokens per second"));
  EXPECT_EQ(main_metrics(metrics, 9).size(), metrics.size());
}

TEST(MetricTableTest, AnItemWithoutANumberComesLast) {
  Metrics metrics = sample();
  metrics["time, near"].value = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(metric_table(metrics).items, ElementsAre("far", "near"));
}

TEST(MetricTableTest, TheReportShowsItAndTheOtherMetricsBelow) {
  RunResult result;
  result.metrics = sample();
  EXPECT_THAT(to_table(result, {}), HasSubstr("Metrics\n"
                                              "            time    of HBM      busiest\n"
                                              "  near  1.000 us  4.00 KiB     50 % HBM\n"
                                              "  far   2.500 us  8.00 KiB  75.5 % link\n"
                                              "  tiles  12\n"));
}

TEST(MetricTableTest, WhatDoesNotFitOnALineIsListed) {
  RunResult result;
  for (const char* quantity : {"a", "b", "c", "d", "e"}) {
    for (const char* item : {"x", "y"}) {
      result.metrics[std::string(quantity) + ", " + item] = {1, "of something that has a long name"};
    }
  }
  EXPECT_THAT(to_table(result, {}), HasSubstr("a, x  1  of something that has a long name\n"));
  EXPECT_THAT(to_table(result, {.cuts = true}), HasSubstr("a, x  1  of somethin.."));
  for (const bool cuts : {false, true}) EXPECT_THAT(to_table(result, {.cuts = cuts}), Not(HasSubstr("\n  x ")));
}

}  // namespace
}  // namespace kernbench::report
