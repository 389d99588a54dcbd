#include "kernbench/parameters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "kernbench/error.h"

namespace kernbench {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const std::vector<BenchParameter> kDeclared = {
    {"M", "2048", "rows"}, {"alpha", "0.5", "factor"}, {"dtype", "f16", "type"}, {"check", "true", "compare"}};

Parameters with(const std::map<std::string, std::string>& given) {
  return Parameters("gemm", kDeclared, given);
}

template <class F>
std::string error_of(F call) {
  try {
    call();
  } catch (const ConfigurationError& error) {
    return error.what();
  }
  return "no error";
}

TEST(ParametersTest, DefaultsHoldUnlessGiven) {
  EXPECT_EQ(with({}).integer("M"), 2048);
  EXPECT_EQ(with({{"M", "-7"}}).integer("M"), -7);
  EXPECT_EQ(with({{"alpha", "1e-3"}}).real("alpha"), 1e-3);
  EXPECT_EQ(with({}).text("dtype"), "f16");
  EXPECT_TRUE(with({}).boolean("check"));
  EXPECT_FALSE(with({{"check", "false"}}).boolean("check"));
  EXPECT_EQ(with({{"M", "1"}}).values().at("M"), "1");
  EXPECT_EQ(with({}).values().size(), 4u);
}

TEST(ParametersTest, DefaultsMayBeNumbersAndTruthValues) {
  const Parameters parameters(
      "gemm", {{"n", std::int64_t{1} << 40, ""}, {"alpha", 0.1, ""}, {"beta", -2.5f, ""}, {"on", true, ""}}, {});
  EXPECT_EQ(parameters.integer("n"), std::int64_t{1} << 40);
  EXPECT_EQ(parameters.real("alpha"), 0.1);
  EXPECT_EQ(parameters.text("beta"), "-2.5");
  EXPECT_TRUE(parameters.boolean("on"));
}

TEST(ParametersTest, AnUnknownNameGetsASuggestion) {
  EXPECT_EQ(error_of([] { with({{"dtpye", "f16"}}); }),
            "gemm has no parameter \"dtpye\", did you mean \"dtype\"? it takes: M, alpha, dtype, check");
  EXPECT_THAT(error_of([] { with({{"batch_size", "1"}}); }), HasSubstr("it takes: M, alpha, dtype, check"));
  EXPECT_THAT(error_of([] { Parameters("none", {}, {{"M", "1"}}); }), HasSubstr("it takes none"));
}

TEST(ParametersTest, AWrongValueIsNamedWithWhatIsExpected) {
  for (const char* text : {"", "abc", "1.5", "1 ", " 1", "0x10", "99999999999999999999", "1e3", "+1"}) {
    EXPECT_THAT(error_of([&] { with({{"M", text}}).integer("M"); }),
                AllOf(HasSubstr("parameter M of gemm"), HasSubstr("a whole number")))
        << text;
  }
  EXPECT_EQ(error_of([] { with({{"M", "0"}}).integer("M", 1); }),
            "parameter M of gemm is \"0\"; expected a whole number of at least 1");
  EXPECT_THAT(error_of([] { with({{"M", "9"}}).integer("M", 1, 8); }), HasSubstr("a whole number from 1 to 8"));
  for (const char* text : {"", "x", "nan", "inf", "1,5", "1e999"}) {
    EXPECT_THAT(error_of([&] { with({{"alpha", text}}).real("alpha"); }), HasSubstr("expected a number")) << text;
  }
  EXPECT_THAT(error_of([] { with({{"alpha", "2"}}).real("alpha", 0, 1); }), HasSubstr("a number from 0 to 1"));
  EXPECT_THAT(error_of([] { with({{"check", "yes"}}).boolean("check"); }), HasSubstr("one of true, false"));
  EXPECT_EQ(error_of([] { with({{"dtype", "bf61"}}).choice("dtype", {"f16", "bf16", "f32"}); }),
            "parameter dtype of gemm is \"bf61\"; expected one of f16, bf16, f32; did you mean \"bf16\"?");
}

TEST(ParametersTest, AskingForAnUndeclaredParameterIsTheBenchsFault) {
  EXPECT_THROW(with({}).integer("N"), std::logic_error);
}

}  // namespace
}  // namespace kernbench
