// Collective algorithms of the user's own: registered by name, chosen in every way, checked before they run.
#include "own_collectives.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "distributed/algorithms/slices.h"
#include "kernbench/collectives.h"
#include "kernbench/error.h"
#include "kernbench/kernbench.h"
#include "ranks.h"
#include "support/test_files.h"

namespace kernbench::testing {
namespace {

namespace dist = torch::distributed;
using collectives::Algorithm;
using collectives::Operation;
using collectives::Program;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

/// Around the ring: each rank adds its own on the right, rank 0's first; the last one sends the sum around.
void chain(Program& program) {
  const auto mine = program.input();
  const int last = program.ranks() - 1;
  for (std::int64_t tile = 0; tile < mine.tiles(); ++tile) {
    tl::Tile sum = mine.load(tile);
    if (program.rank() > 0) sum = program.reduce(program.receive(program.before(1), mine, tile), sum);
    if (program.rank() < last) {
      program.send(program.after(1), sum);
      sum = program.receive(program.before(1), mine, tile, 1);
    } else {
      sum = program.finish(sum);
    }
    mine.store(tile, sum);
    if (program.after(1) != last && last > 0) program.send(program.after(1), sum, 1);
  }
}

Algorithm chain_allreduce() {
  return {.name = "chain_allreduce",
          .operation = Operation::all_reduce,
          .method = "along a chain and around",
          .fold_order = "from rank 0 on",
          .channels = [](const collectives::Shape& shape) { return collectives::ring_channels(shape.ranks); },
          .kernel = chain};
}

SimulateOptions options_with(int sips, std::vector<Algorithm> algorithms) {
  SimulateOptions options = machine_of(sips);
  for (Algorithm& each : algorithms) options.algorithms.add(std::move(each));
  return options;
}

std::vector<std::string> launches_of(const RanksResult& outcome) {
  std::vector<std::string> names;
  for (const auto& launch : outcome.run.launches) names.push_back(launch.name);
  return names;
}

RanksResult sum_by(const SimulateOptions& options, int ranks, const std::string& algorithm) {
  auto outcome = run_ranks(options, ranks, [&](int rank) {
    dist::init_process_group("ahbm", rank, ranks, {.algorithm = algorithm});
    for (const std::int64_t elements : {0, 1, 7, 1023, 30011}) {
      std::vector<double> values, wanted;
      for (std::int64_t i = 0; i < elements; ++i) {
        // Each rank's third, or any, share of it is exact, whether it is taken before the sum or behind it.
        values.push_back(static_cast<double>(ranks * ((7 * rank + i) % 5)));
        double sum = 0;
        for (int other = 0; other < ranks; ++other) sum += static_cast<double>((7 * other + i) % 5);
        wanted.push_back(sum);
      }
      const auto x = torch::tensor(values, torch::dtype(torch::kFloat)).to("ahbm");
      dist::all_reduce(x, dist::ReduceOp::AVG);
      EXPECT_TRUE(torch::equal(x.cpu(), torch::tensor(wanted, torch::dtype(torch::kFloat)))) << elements;
    }
    dist::barrier();
  });
  EXPECT_EQ(outcome.run.status, RunStatus::ok) << outcome.error.message;
  EXPECT_THAT(outcome.errors, Each(""));
  return outcome;
}

/// KB_ALGO while it lives.
class WithKbAlgo {
 public:
  explicit WithKbAlgo(const char* text) { ::setenv("KB_ALGO", text, 1); }
  ~WithKbAlgo() { ::unsetenv("KB_ALGO"); }
  WithKbAlgo(const WithKbAlgo&) = delete;
  WithKbAlgo& operator=(const WithKbAlgo&) = delete;
};

std::string collectives_file(const std::string& text) {
  const std::string path = test_files::folder() + "own_collectives.yaml";
  std::ofstream(path) << text;
  return path;
}

TEST(OwnCollective, IsTakenByItsNameAsAProgramsChoice) {
  for (const int ranks : {2, 4, 5}) {
    const auto outcome = sum_by(options_with(ranks, {chain_allreduce()}), ranks, "chain_allreduce");
    EXPECT_THAT(launches_of(outcome), Contains(HasSubstr("chain_allreduce")));
  }
}

TEST(OwnCollective, RunsOnOneRank) {
  sum_by(options_with(1, {chain_allreduce()}), 1, "chain_allreduce");
}

TEST(OwnCollective, IsTakenFromKbAlgoWholeOrWithoutItsOperation) {
  for (const char* text : {"chain_allreduce", "allreduce:chain", "Chain"}) {
    const WithKbAlgo variable(text);
    EXPECT_THAT(launches_of(sum_by(options_with(3, {chain_allreduce()}), 3, "")),
                Contains(HasSubstr("chain_allreduce")))
        << text;
  }
}

TEST(OwnCollective, IsTakenFromACollectivesFileByTheLastPartOfItsModule) {
  SimulateOptions options = options_with(3, {chain_allreduce()});
  options.collectives =
      collectives_file("defaults: {algorithm: mine}\nalgorithms: {mine: {module: my.package.chain_allreduce}}\n");
  EXPECT_THAT(launches_of(sum_by(options, 3, "")), Contains(HasSubstr("chain_allreduce")));
}

TEST(OwnCollective, OfEachOperationGivesItsValues) {
  for (const int ranks : {2, 4}) {
    const auto outcome =
        run_ranks(options_with(ranks, relays_of_all_operations()), ranks, [&](int rank) { check_relays(rank, ranks); });
    EXPECT_EQ(outcome.run.status, RunStatus::ok) << outcome.error.message;
    EXPECT_THAT(outcome.errors, Each(""));
    for (const Algorithm& each : relays_of_all_operations())
      EXPECT_THAT(launches_of(outcome), Contains(HasSubstr(each.name))) << ranks;
  }
}

TEST(OwnCollective, IsChosenByAutoWhenItsCostIsLeast) {
  Algorithm free = chain_allreduce();
  free.steps = [](const collectives::Shape&) { return std::vector<collectives::Step>(1); };
  EXPECT_THAT(launches_of(sum_by(options_with(3, {free}), 3, "auto")), Contains(HasSubstr("chain_allreduce")));
  EXPECT_THAT(launches_of(sum_by(options_with(3, {chain_allreduce()}), 3, "auto")),
              Not(Contains(HasSubstr("chain_allreduce"))));
}

/// What ranks are told whose group is to use it.
std::string answer(const SimulateOptions& options, int ranks, const std::string& algorithm) {
  const auto outcome = run_ranks(options, ranks, [&](int rank) {
    dist::init_process_group("ahbm", rank, ranks, {.algorithm = algorithm});
    dist::all_reduce(torch::ones({8}, torch::device("ahbm")));
    torch::ahbm::synchronize();
  });
  return outcome.errors.front().empty() ? outcome.error.message : outcome.errors.front();
}

TEST(OwnCollective, ThatRefusesAGroupSaysWhyAndWhatWouldFit) {
  Algorithm picky = chain_allreduce();
  picky.refusal = [](const collectives::Group& group) {
    return group.wiring == "ring_1d" && group.slots == 8 && !group.rank_per_pe && group.shape.ranks == 3
               ? "three ranks are one too many; take two"
               : std::string();
  };
  EXPECT_THAT(
      answer(options_with(3, {picky}), 3, "chain_allreduce"),
      HasSubstr("chain_allreduce cannot run on 3 ranks, each a SIP: three ranks are one too many; take two; for "
                "all_reduce of this group there is ring_allreduce"));
  EXPECT_EQ(answer(options_with(2, {picky}), 2, "chain_allreduce"), "");
}

TEST(OwnCollective, OfWrongChannelsIsRefused) {
  const std::vector<std::pair<collectives::Channel, std::string>> wrong{
      {{0, 0}, "its channel from rank 0 to rank 0 of 2 ranks leads to the rank itself"},
      {{0, 2}, "its channel from rank 0 to rank 2 of 2 ranks has an end that is no rank: they are 0 to 1"},
      {{0, 1}, "its channel from rank 0 to rank 1 of 2 ranks is there twice"}};
  for (const auto& [channel, text] : wrong) {
    Algorithm bad = chain_allreduce();
    bad.channels = [more = channel](const collectives::Shape&) {
      return std::vector<collectives::Channel>{{0, 1}, more};
    };
    EXPECT_THAT(answer(options_with(2, {bad}), 2, "chain_allreduce"), HasSubstr("algorithm chain_allreduce: " + text));
  }
}

/// One that sends a tile too much: rank 0 to the next one.
void chain_and_one_more(Program& program) {
  chain(program);
  const auto mine = program.input();
  if (program.rank() == 0 && program.ranks() > 1 && mine.tiles() > 0) program.send(program.after(1), mine.load(0), 2);
}

TEST(OwnCollective, ThatLeavesAMessageInAChannelSaysSo) {
  Algorithm algorithm = chain_allreduce();
  algorithm.kernel = chain_and_one_more;
  for (const bool waits : {true, false}) {
    const auto outcome = run_ranks(options_with(3, {algorithm}), 3, [&](int rank) {
      dist::init_process_group("ahbm", rank, 3, {.algorithm = "chain_allreduce"});
      const auto x = torch::full({100}, 1.0, torch::device("ahbm"));
      dist::all_reduce(x);
      if (waits) x.cpu();
      dist::all_reduce(x);
    });
    const std::string all = outcome.error.message + outcome.errors[0] + outcome.errors[1] + outcome.errors[2];
    EXPECT_THAT(all, HasSubstr("by chain_allreduce: "));
    EXPECT_THAT(all, HasSubstr("never received; call Program::receive for each:"));
    EXPECT_THAT(all, HasSubstr("own_collectives_test.cpp:")) << "the line of the send";
  }
}

TEST(OwnCollective, OfStepsThatMeanNothingIsRefused) {
  using Step = collectives::Step;
  const double infinite = std::numeric_limits<double>::infinity(), none = std::numeric_limits<double>::quiet_NaN();
  const std::vector<std::pair<Step, std::string>> faults{
      {{.messages = {{-3, 1}}, .share = 1}, "a message from rank -3 to rank 1: they are 0 to 3"},
      {{.messages = {{0, 4}}, .share = 1}, "a message from rank 0 to rank 4: they are 0 to 3"},
      {{.messages = {{2, 2}}, .share = 1}, "a message from rank 2 to itself"},
      {{.messages = {{0, 1, none}}, .share = 1}, "a message of weight nan"},
      {{.messages = {{0, 1}}, .share = -5}, "a share of -5"},
      {{.messages = {{0, 1}}, .share = infinite}, "a share of inf"},
      {{.messages = {{0, 1}}, .share = 1, .latencies = -7}, "-7 latencies"},
      {{.messages = {{0, 1}}, .share = 1, .times = std::int64_t{1} << 60}, "to be done 1152921504606846976 times"},
      {{.messages = {{0, 1}}, .share = 1, .fresh = 2}, "2 fresh messages"},
      {{.messages = {{0, 1}}, .share = 1, .memory = -1}, "a memory of -1"}};
  const auto error_with = [](std::function<std::vector<Step>(const collectives::Shape&)> steps) {
    Algorithm algorithm = chain_allreduce();
    algorithm.steps = std::move(steps);
    const auto outcome = run_ranks(options_with(4, {algorithm}), 4, [](int rank) {
      dist::init_process_group("ahbm", rank, 4, {.algorithm = "auto"});
      dist::all_reduce(torch::full({100}, 1.0, torch::device("ahbm")));
    });
    return outcome.error.message + outcome.errors[0];
  };
  for (const auto& [step, text] : faults) {
    const auto error = error_with([bad = step](const collectives::Shape&) { return std::vector{Step(), bad}; });
    EXPECT_THAT(error, HasSubstr("algorithm chain_allreduce: step 1 of 4 ranks has " + text));
  }
  EXPECT_THAT(error_with([](const collectives::Shape&) { return std::vector<Step>(); }),
              HasSubstr("its function `steps` yields none for 4 ranks"));
  EXPECT_THAT(error_with([](const collectives::Shape&) -> std::vector<Step> { throw std::runtime_error("no idea"); }),
              HasSubstr("algorithm chain_allreduce: its function `steps` threw: no idea"));
}

TEST(OwnCollective, OfAnEntrysNameIsRefusedUnlessTheEntryTakesIt) {
  SimulateOptions options = options_with(3, {chain_allreduce()});
  const auto error_of_choice = [&] {
    const auto outcome = run_ranks(
        options, 3, [](int rank) { dist::init_process_group("ahbm", rank, 3, {.algorithm = "chain_allreduce"}); });
    return outcome.error.message + outcome.errors[0];
  };
  options.collectives = collectives_file(
      "defaults: {algorithm: chain_allreduce}\nalgorithms: {chain_allreduce: {module: direct_allreduce}}\n");
  EXPECT_THAT(error_of_choice(),
              HasSubstr("chain_allreduce is the name of an algorithm of all_reduce and of an entry of "
                        "the collectives file, which takes direct_allreduce for that: rename one"));
  options.collectives = collectives_file(
      "defaults: {algorithm: chain_allreduce}\nalgorithms: {chain_allreduce: {module: chain_allreduce, n_slots: 4}}\n");
  EXPECT_EQ(error_of_choice(), "");
}

TEST(OwnCollective, ThatIsNotThereIsNamedWithTheNearest) {
  EXPECT_THAT(answer(options_with(2, {chain_allreduce()}), 2, "chain_alreduce"),
              HasSubstr("no algorithm is named \"chain_alreduce\"; did you mean \"chain_allreduce\"?"));
}

/// What an all-reduce by chain_allreduce with another kernel says of it: message and place.
std::string told_of(void (*kernel)(Program&), int ranks = 2, SimulateOptions options = {}) {
  Algorithm bad = chain_allreduce();
  bad.kernel = kernel;
  const std::string collectives = options.collectives;
  options = options_with(ranks, {bad});
  if (!collectives.empty()) options.collectives = collectives;
  std::string told;
  const auto outcome = run_ranks(options, ranks, [&](int rank) {
    try {
      dist::init_process_group("ahbm", rank, ranks, {.algorithm = "chain_allreduce"});
      const auto x = torch::full({40}, 1.0, torch::device("ahbm").placement({.num_cubes = 1, .num_pes = 1}));
      dist::all_reduce(x);
      torch::ahbm::synchronize();
    } catch (const Error& error) {
      told += error.type() + ": " + error.what() + " at " + error.where() + "\n";
    }
  });
  return told + outcome.error.type + ": " + outcome.error.message + " at " + outcome.error.where;
}

TEST(OwnCollective, ThatTalksToNobodySaysSo) {
  const auto with = [](void (*kernel)(Program&)) { return told_of(kernel); };
  EXPECT_THAT(with([](Program& program) { program.send(program.rank(), program.input().load(0)); }),
              HasSubstr("is the program's own; load and store need no message"));
  EXPECT_THAT(with([](Program& program) { program.receive(7, program.input(), 0); }),
              HasSubstr("receive: there is no rank 7: they are 0 to 1"));
  EXPECT_THAT(with([](Program& program) { program.input().load(99); }), HasSubstr("there is no tile 99"));
  EXPECT_THAT(with([](Program& program) { program.input().part(2, 2); }), HasSubstr("there is no part 2 of 2"));
}

TEST(OwnCollective, ThatDoesWrongIsNamedWithItsRankAndItsLine) {
  const std::vector<void (*)(Program&)> wrong{
      [](Program& program) { program.send(program.rank(), program.input().load(0)); },
      [](Program& program) { program.receive(7, program.input(), 0); },
      [](Program& program) { program.input().load(99); },
      [](Program& program) { program.input().store(99, program.input().load(0)); },
      [](Program& program) { program.input().part(2, 2); },
      [](Program& program) { program.output(7); }};
  for (const auto& kernel : wrong) {
    const std::string told = told_of(kernel);
    EXPECT_THAT(told, HasSubstr("ValueError: algorithm chain_allreduce on rank "));
    EXPECT_THAT(told, ::testing::ContainsRegex("kernel chain_allreduce[^\n]*, own_collectives_test\\.cpp:"));
  }
}

TEST(OwnCollective, HasNoOtherBlockOfWhatThereIsOneOf) {
  EXPECT_THAT(told_of([](Program& program) { program.output(7); }),
              HasSubstr("output: there is no block 7 of the output of all_reduce: it is one; leave the number out"));
  EXPECT_THAT(told_of([](Program& program) { program.input(-1); }),
              HasSubstr("input: there is no block -1 of the input of all_reduce"));
}

TEST(OwnCollective, StoresNoTileOfAnotherSize) {
  const auto larger = [](Program& program) {
    const auto mine = program.input();
    mine.part(0, 4).store(0, mine.load(0));
  };
  EXPECT_THAT(told_of(larger), HasSubstr("store: tile 0 of these elements of the input has 10 elements, the value 40; "
                                         "give a value of its shape"));
  const auto smaller = [](Program& program) {
    const auto mine = program.input();
    mine.store(0, mine.part(0, 4).load(0));
  };
  EXPECT_THAT(told_of(smaller), HasSubstr("has 40 elements, the value 10"));
}

/// The other way around the ring than the channels of chain_allreduce.
void against_the_ring(Program& program) {
  program.send(program.before(1), program.input().load(0));
  program.receive(program.after(1), program.input(), 0);
}

TEST(OwnCollective, HasTheChannelsOnlyThatItDeclares) {
  SimulateOptions with_others;  // the broadcast of the group has channels between all ranks
  with_others.collectives = collectives_file(
      "defaults: {algorithm: mine}\nalgorithms: {mine: {module: auto, "
      "broadcast: direct_broadcast}}\n");
  for (const SimulateOptions& options : {SimulateOptions(), with_others}) {
    const std::string told = told_of(against_the_ring, 3, options);
    EXPECT_THAT(told, HasSubstr("NoChannelError: algorithm chain_allreduce on rank "));
    EXPECT_THAT(told, HasSubstr("send: the algorithm declares no channel from rank 0 to rank 2; add it to what "
                                "Algorithm::channels yields"));
    EXPECT_THAT(told, HasSubstr(", from rank 0 to rank 2"));
  }
}

std::string fault_of(Algorithm algorithm) {
  CollectiveRegistry registry;
  registry.add(chain_allreduce());
  try {
    registry.add(std::move(algorithm));
  } catch (const ValueError& error) {
    return error.what();
  }
  return "";
}

TEST(OwnCollective, IsRegisteredOnceWithAllThatItNeeds) {
  const auto changed = [](const std::function<void(Algorithm&)>& change) {
    Algorithm other = chain_allreduce();
    other.name = "other";
    change(other);
    return fault_of(std::move(other));
  };
  EXPECT_EQ(changed([](Algorithm&) {}), "");
  EXPECT_EQ(fault_of(chain_allreduce()),
            "a collective algorithm chain_allreduce is registered twice: take another name");
  EXPECT_EQ(changed([](Algorithm& a) { a.name = "ring_allreduce"; }),
            "there is a shipped collective algorithm ring_allreduce already: take another name");
  EXPECT_THAT(changed([](Algorithm& a) { a.name = "auto"; }), HasSubstr("already"));
  EXPECT_THAT(changed([](Algorithm& a) { a.name = "my ring"; }), HasSubstr("letters, digits and underscores"));
  EXPECT_EQ(changed([](Algorithm& a) { a.kernel = {}; }),
            "collective algorithm other has no kernel: set Algorithm::kernel");
  EXPECT_THAT(changed([](Algorithm& a) { a.channels = {}; }), HasSubstr("has no channels"));
  EXPECT_THAT(changed([](Algorithm& a) { a.method = ""; }), HasSubstr("has no method"));
  EXPECT_THAT(changed([](Algorithm& a) { a.fold_order = ""; }), HasSubstr("has no fold_order"));
}

TEST(SlicesOfAShare, AreItsElementsInTheirOrder) {
  using distributed::Pieces;
  const Pieces pieces{{.begin = 100, .rows = 3, .stride = 10, .columns = 4}, {.begin = 7, .columns = 5}};
  const auto elements = [](const Pieces& of) {
    std::vector<std::int64_t> all;
    for (const auto& piece : of)
      for (std::int64_t row = 0; row < piece.rows; ++row)
        for (std::int64_t column = 0; column < piece.columns; ++column)
          all.push_back(piece.begin + row * piece.stride + column);
    return all;
  };
  const auto whole = elements(pieces);
  ASSERT_EQ(distributed::elements_of(pieces), std::ssize(whole));
  for (std::int64_t begin = 0; begin <= std::ssize(whole); ++begin)
    for (std::int64_t end = begin; end <= std::ssize(whole); ++end)
      EXPECT_EQ(elements(distributed::slice_of(pieces, begin, end)),
                std::vector(whole.begin() + begin, whole.begin() + end));
  EXPECT_THAT(elements(distributed::part_of(pieces, 6, 7)), ElementsAre());
  EXPECT_THAT(elements(distributed::part_of(pieces, 3, 4)), ElementsAre(10, 11));
}

/// Takes tensors of at least 100 elements that lie on one PE, of groups of SIPs.
std::string large_on_one_pe(const collectives::Group& group, const collectives::Call& call) {
  if (group.rank_per_pe) return "ranks are PEs";
  if (call.pes != 1 || call.cubes != 1) return "the tensor lies on " + std::to_string(call.pes) + " PEs, give it one";
  if (call.replicated || call.dtype != DType::f32) return "not this";
  return call.elements < 100 ? "it has " + std::to_string(call.elements) + " elements, give it 100" : "";
}

TEST(OwnCollectives, RefuseACallByItsPlacementAndSizeWithTheirReason) {
  Algorithm algorithm = chain_allreduce();
  algorithm.validator = large_on_one_pe;
  const auto outcome = run_ranks(options_with(3, {algorithm}), 3, [](int rank) {
    dist::init_process_group("ahbm", rank, 3, {.algorithm = "chain_allreduce"});
    const auto one_pe = torch::device("ahbm").placement({.num_cubes = 1, .num_pes = 1});
    const auto x = torch::ones({100}, one_pe);
    dist::all_reduce(x);
    EXPECT_EQ(x[7].item<float>(), 3.F);
    const auto error_of = [](const torch::Tensor& tensor) -> std::string {
      try {
        dist::all_reduce(tensor);
      } catch (const ValueError& error) {
        return error.what();
      }
      return "no error";
    };
    EXPECT_THAT(error_of(torch::ones({99}, one_pe)),
                HasSubstr("all_reduce: chain_allreduce does not take this call: it has 99 elements, give it 100; "
                          "all_reduce that take it: ring_allreduce, direct_allreduce"));
    EXPECT_THAT(error_of(torch::ones({100}, torch::device("ahbm"))),
                HasSubstr("the tensor lies on 2 PEs, give it one"));
    const auto again = torch::ones({200}, one_pe);
    dist::all_reduce(again);  // a call that was refused is none
    EXPECT_EQ(again[0].item<float>(), 3.F);
  });
  EXPECT_THAT(outcome.errors, Each(""));
}

TEST(OwnCollectives, AreChosenByCostForCallsThatTheyTakeOnly) {
  Algorithm algorithm = chain_allreduce();
  algorithm.validator = large_on_one_pe;
  algorithm.steps = [](const collectives::Shape&) { return std::vector<collectives::Step>(1); };  // costs nothing
  const auto outcome = run_ranks(options_with(3, {algorithm}), 3, [](int rank) {
    dist::init_process_group("ahbm", rank, 3, {.algorithm = "auto"});
    for (const std::int64_t elements : {99, 100}) {
      const auto x = torch::ones({elements}, torch::device("ahbm").placement({.num_cubes = 1, .num_pes = 1}));
      dist::all_reduce(x);
      EXPECT_EQ(x[7].item<float>(), 3.F);
    }
  });
  EXPECT_THAT(outcome.errors, Each(""));
  std::vector<std::string> reductions;
  for (const auto& launch : outcome.run.launches) {
    if (launch.device == 0 && launch.kernel.find("allreduce") != std::string::npos)
      reductions.push_back(launch.kernel == "chain_allreduce" ? "own" : "shipped");
  }
  EXPECT_THAT(reductions, ElementsAre("shipped", "own"));
}

}  // namespace
}  // namespace kernbench::testing
