// Which experts tokens are taken to go to where nobody computes a router's scores, and how rows are grouped by expert.
#include "benches/gpt/routing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <map>
#include <random>
#include <set>

namespace benches::gpt {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Host tensors belong to one.
void in_a_simulation(const std::function<void()>& body) {
  kernbench::SimulateOptions options;
  options.topology = "tiny";
  const kernbench::RunResult result = kernbench::simulate(options, body);
  EXPECT_FALSE(result.error) << result.error->message;
}

std::vector<std::int64_t> numbers_of(const Tensor& tensor) {
  const auto* first = tensor.data_ptr<std::int64_t>();
  return {first, first + tensor.numel()};
}

/// How many of `tokens` have each expert among their choices, in shares of the mean.
std::vector<double> shares(const AssumedRouting& routing, std::int64_t experts, std::int64_t chosen) {
  constexpr std::int64_t kTokens = 20'000;
  std::vector<double> result(static_cast<std::size_t>(experts), 0.0);
  const double even = static_cast<double>(kTokens * chosen) / static_cast<double>(experts);
  for (const std::int64_t expert : numbers_of(routing.choices(3, 0, kTokens, chosen)))
    result[static_cast<std::size_t>(expert)] += 1 / even;
  return result;
}

std::string routing_refusal(const std::string& text, std::int64_t experts = 4) {
  try {
    const AssumedRouting routing(text, experts);
  } catch (const kernbench::ConfigurationError& error) {
    EXPECT_EQ(error.where(), "") << "the program prints it in front of the message, which names the file";
    return error.what();
  }
  return "it was accepted";
}

TEST(AssumedRoutings, FollowTheirWeights) {
  in_a_simulation([] {
    for (const double share : shares({"uniform", 8}, 8, 2)) EXPECT_NEAR(share, 1, 0.05);
    for (const double share : shares({"zipf:0", 8}, 8, 1)) EXPECT_NEAR(share, 1, 0.05);
    // One of two, with weights 1 and 1/4.
    EXPECT_THAT(shares({"zipf:2", 2}, 2, 1),
                ElementsAre(::testing::DoubleNear(1.6, 0.03), ::testing::DoubleNear(0.4, 0.03)));
    // Two of three with weights 4, 2, 1, the second of what the first has left.
    const auto of = [](double a, double b, double c) {  // how likely a is one of the two
      const double all = a + b + c;
      return a / all + b / all * a / (a + c) + c / all * a / (a + b);
    };
    const std::string path = (std::filesystem::temp_directory_path() / "kernbench_routing_weights.txt").string();
    std::ofstream(path) << "4 2\n1\n";
    const std::vector<double> found = shares({path, 3}, 3, 2);
    EXPECT_NEAR(found[0], of(4, 2, 1) * 1.5, 0.02);
    EXPECT_NEAR(found[1], of(2, 4, 1) * 1.5, 0.02);
    EXPECT_NEAR(found[2], of(1, 4, 2) * 1.5, 0.02);
    std::filesystem::remove(path);
  });
}

TEST(AssumedRoutings, GiveATokenDifferentExpertsAndTheSameEachTime) {
  in_a_simulation([] {
    const AssumedRouting routing("zipf:3", 4);
    const Tensor all = routing.choices(1, 0, 100, 4);
    for (std::int64_t i = 0; i < 100; ++i) {
      const std::vector<std::int64_t> one = numbers_of(routing.choices(1, i, 1, 4));
      EXPECT_EQ(std::set<std::int64_t>(one.begin(), one.end()).size(), 4u);
      EXPECT_EQ(one, numbers_of(all[i].contiguous()));
    }
    EXPECT_NE(numbers_of(all), numbers_of(routing.choices(2, 0, 100, 4)));
  });
}

TEST(AssumedRoutings, ThatCannotBeAreRefused) {
  for (const char* const text : {"zipf:", "zipf:x", "zipf:-1", "zipf:1.2x", "zipf:nan"})
    EXPECT_THAT(routing_refusal(text), HasSubstr("zipf:S needs a number S from 0 to 100")) << text;
  EXPECT_THAT(routing_refusal("/no/such/file"), HasSubstr("a routing is uniform, zipf:S, or a file"));
  const std::string path = (std::filesystem::temp_directory_path() / "kernbench_routing_wrong.txt").string();
  const std::map<std::string, std::string> wrong{
      {"1 2 3", "there are 3 weights"},    {"1 2 3 4 5", "there are 5 weights"},  {"1 2 x 4", "\"x\" is no weight"},
      {"1 2 -3 4", "\"-3\" is no weight"}, {"1 nan 3 4", "\"nan\" is no weight"}, {"0 0 0 0", "all weights are 0"},
      {"", "there are 0 weights"}};
  for (const auto& [content, message] : wrong) {
    std::ofstream(path) << content;
    EXPECT_THAT(routing_refusal(path), HasSubstr(message));
  }
  std::filesystem::remove(path);
}

TEST(Groupings, PutRowsInTheOrderOfTheExperts) {
  in_a_simulation([] {
    std::mt19937_64 engine(7);
    for (int round = 0; round < 100; ++round) {
      const auto tokens = static_cast<std::int64_t>(engine() % 20),
                 experts = static_cast<std::int64_t>(1 + engine() % 9);
      const auto chosen = static_cast<std::int64_t>(1 + engine() % 3);
      Tensor choices = torch::empty({tokens, chosen}, torch::kLong);
      for (std::int64_t i = 0; i < choices.numel(); ++i)
        choices.data_ptr<std::int64_t>()[i] = static_cast<std::int64_t>(engine() % static_cast<std::uint64_t>(experts));
      const Grouping grouping(choices, experts);
      EXPECT_EQ(grouping.rows_of(0, experts), tokens * chosen);
      // The expert of each row, by the counts.
      std::vector<std::int64_t> expert_of;
      for (std::int64_t e = 0; e < experts; ++e)
        expert_of.insert(expert_of.end(), static_cast<std::size_t>(grouping.rows_of(e, 1)), e);
      std::set<std::int64_t> rows;
      for (std::int64_t i = 0; i < choices.numel(); ++i) {
        const auto row = static_cast<std::size_t>(grouping.places[static_cast<std::size_t>(i)]);
        EXPECT_EQ(grouping.tokens[row], i / chosen);
        EXPECT_EQ(expert_of[row], choices.data_ptr<std::int64_t>()[i]);
        rows.insert(static_cast<std::int64_t>(row));
      }
      EXPECT_EQ(static_cast<std::int64_t>(rows.size()), tokens * chosen);
    }
  });
}

TEST(Groupings, LeaveOutWhatAnExpertHasNoPlaceFor) {
  in_a_simulation([] {
    const Tensor choices = long_tensor({1, 0, 1, 2, 0, 1, 1, 0}).view({4, 2});
    const Tensor kept = dropped_beyond(2, choices, 3);
    EXPECT_THAT(numbers_of(kept), ElementsAre(1, 0, 1, 2, 0, -2, -2, -1));
    EXPECT_EQ(expert_of(-2), 1);
    const Grouping grouping(kept, 3);
    EXPECT_THAT(grouping.rows, ElementsAre(2, 2, 1));
    EXPECT_THAT(grouping.tokens, ElementsAre(0, 2, 0, 1, 1));
    EXPECT_THAT(grouping.places, ElementsAre(2, 0, 3, 4, 1, -1, -1, -1));
    NotedChoices noted;
    noted.note(0, 0, kept);
    EXPECT_EQ(noted.dropped(1), 3.0 / 8);
    EXPECT_EQ(noted.busiest(1, 3), 1.5);  // also what is dropped was chosen
  });
}

TEST(NotedChoices, AreThoseOfAllRanksAndNameTheBusiestExpert) {
  in_a_simulation([] {
    NotedChoices noted;
    noted.note(0, 2, long_tensor({1, 1, 2, 3}).view({2, 2}));
    noted.note(0, 0, long_tensor({0, 1, 0, 1}).view({2, 2}));
    EXPECT_TRUE(noted.has(0));
    EXPECT_FALSE(noted.has(1));
    EXPECT_THAT(numbers_of(noted.choices(0, 2)), ElementsAre(0, 1, 0, 1, 1, 1, 2, 3));
    EXPECT_EQ(noted.busiest(1, 4), 2.0);  // expert 1 has 4 of 8 rows
    noted.note(1, 0, long_tensor({2, 2}).view({1, 2}));
    EXPECT_EQ(noted.busiest(1, 4), 2.0);
    EXPECT_EQ(noted.busiest(2, 4), 4.0);
  });
}

}  // namespace
}  // namespace benches::gpt
