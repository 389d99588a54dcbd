// Where the line of a call is shown: launches, errors, deadlocks, mismatches, the operation log.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <source_location>
#include <sstream>
#include <string>
#include <vector>

#include "spawning.h"

namespace kernbench::testing {
namespace {

namespace dist = torch::distributed;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using torch::Tensor;

std::string place(unsigned line) {
  return "host_line_reports_test.cpp:" + std::to_string(line);
}
unsigned this_line(std::source_location here = std::source_location::current()) {
  return here.line();
}

void touch(tl::Tensor x) {
  tl::store(x, {0}, tl::load(x, {0}, {x.numel()}));
}

void in_ranks(int ranks, const std::function<void(int rank)>& worker) {
  mp::spawn(
      [&](int rank) {
        torch::ahbm::set_device(rank);
        dist::init_process_group("ahbm", rank, ranks);
        worker(rank);
      },
      {}, {.nprocs = ranks});
}

TEST(HostLineReports, EachLaunchNamesTheLineOfItsCall) {
  std::map<std::string, unsigned> lines;
  const RunResult result = simulate(devices(2), [&] {
    in_ranks(2, [&](int rank) {
      const Tensor a = torch::empty({8, 8}, one_pe()), b = torch::empty({8, 8}, one_pe());
      lines["fill"] = (a.fill_(1), this_line());
      b.copy_(a);
      lines["touch"] = (torch::launch("touch", touch, torch::empty({8}, one_pe())), this_line());
      lines["add"] = (a + b, this_line());
      lines["mul"] = (torch::mul(a, b), this_line());
      lines["matmul"] = (torch::matmul(a, b), this_line());
      lines["ring_allreduce"] = (dist::all_reduce(a), this_line());
      lines["ring_broadcast"] = (dist::broadcast(a, 0), this_line());
      lines["ring_barrier"] = (dist::barrier(), this_line());
      if (rank == 0) lines["send"] = (dist::send(a, 1), this_line());
      if (rank == 1) lines["recv"] = (dist::recv(a, 0), this_line());
    });
  });
  std::map<std::string, int> seen;
  for (const LaunchResult& launch : result.launches) {
    const std::string name = launch.name.substr(0, launch.name.find('#'));
    EXPECT_THAT(launch.where, HasSubstr("host_line_reports_test.cpp:")) << launch.name;
    if (!lines.contains(name)) continue;
    ++seen[name];
    EXPECT_EQ(launch.where, place(lines[name])) << launch.name;
  }
  EXPECT_EQ(seen.size(), lines.size());
}

TEST(HostLineReports, ATensorFunctionOfSeveralLaunchesGivesAllOfThemItsLine) {
  unsigned line = 0;
  const RunResult result = simulate(devices(1), [&] {
    const Tensor x = torch::ones({8, 8}, torch::dtype(torch::kFloat).device("ahbm"));
    line = (torch::ahbm::matmul(x, x, {.exact_order = false, .split_k = 2}), this_line());
  });
  std::size_t launches = 0;
  for (const LaunchResult& launch : result.launches) launches += launch.where == place(line) ? 1 : 0;
  EXPECT_EQ(launches, result.launches.size() - 1) << "all but the fill";
  EXPECT_GE(launches, 2u);
}

struct Misuse {
  const char* name;
  std::function<unsigned(int rank)> call;
};

/// The error of each call names it and its line, in the ranks' errors and in the text for people.
TEST(HostLineReports, AnErrorOfARankSaysWhichCallItLeft) {
  unsigned line = 0;
  const std::vector<Misuse> misuses = {
      {"torch::launch", [&](int) { return line = this_line(), torch::launch("", touch, Tensor()), 0; }},
      {"copy_", [&](int) { return line = this_line(), torch::ones({2}).copy_(torch::ones({3})), 0; }},
      {"to", [&](int) { return line = this_line(), torch::ones({2}).to(torch::Device("ahbm:7")), 0; }},
      {"item", [&](int) { return line = this_line(), torch::ones({2}).item(), 0; }},
      {"add", [&](int) { return line = this_line(), torch::ones({2}) + torch::ones({3}), 0; }},
      {"select", [&](int) { return line = this_line(), torch::ones({2})[70], 0; }},
      {"copy_", [&](int) { return line = this_line(), torch::ones({2})[0] = torch::ones({3}), 0; }},
      {"matmul", [&](int) { return line = this_line(), torch::matmul(torch::ones({2, 2}), torch::ones({3, 2})), 0; }},
      {"view", [&](int) { return line = this_line(), torch::ones({2}).view({3}), 0; }},
      {"empty", [&](int) { return line = this_line(), torch::empty({int64_t{1} << 40}, one_pe()), 0; }},
      {"all_reduce", [&](int) { return line = this_line(), dist::all_reduce(torch::ones({2})), 0; }},
      {"broadcast", [&](int) { return line = this_line(), dist::broadcast(torch::ones({2}, one_pe()), 9), 0; }},
      {"send", [&](int rank) { return line = this_line(), dist::send(torch::ones({2}, one_pe()), rank), 0; }},
      {"recv", [&](int rank) { return line = this_line(), dist::recv(torch::ones({2}, one_pe()), rank), 0; }},
      {"batch_isend_irecv", [&](int) { return line = this_line(), dist::batch_isend_irecv({}), 0; }},
      {"init_process_group", [&](int) { return line = this_line(), dist::init_process_group("nccl"), 0; }},
      {"new_group", [&](int) { return line = this_line(), dist::new_group({9}), 0; }},
      {"set_device", [&](int) { return line = this_line(), torch::ahbm::set_device(9), 0; }},
      {"synchronize", [&](int) { return line = this_line(), torch::ahbm::synchronize(9), 0; }},
      {"torch::multiprocessing::spawn", [&](int) { return line = this_line(), mp::spawn([](int) {}, {}, {-1}), 0; }},
  };
  for (const Misuse& misuse : misuses) {
    std::string where, text;
    simulate(devices(2), [&] {
      try {
        in_ranks(2, [&](int rank) {
          if (rank == 1) misuse.call(rank);
        });
      } catch (const mp::SpawnException& error) {
        where = error.errors.at(0).where;
        text = error.what();
      }
    });
    EXPECT_EQ(where, place(line) + " (" + misuse.name + ")");
    EXPECT_THAT(text, HasSubstr("\n  at " + where));
  }
}

TEST(HostLineReports, AnErrorOfTheMainProgramSaysWhichCallItLeft) {
  unsigned line = 0;
  const RunResult result = try_simulate(devices(1), [&] {
    const Tensor x = torch::ones({4}, one_pe());
    line = this_line() + 1;
    torch::launch("touch", touch, x.cpu());
  });
  ASSERT_TRUE(result.error);
  EXPECT_EQ(result.error->where, place(line) + " (torch::launch)");
}

TEST(HostLineReports, AnIndexOutsideOfATensorNamesItsLine) {
  for (const bool on_device : {false, true}) {
    unsigned line = 0;
    const RunResult result = try_simulate(devices(1), [&] {
      const Tensor x = on_device ? torch::ones({64, 2}, one_pe()) : torch::ones({64, 2});
      line = this_line() + 1;
      x[3][70].item<float>();
    });
    ASSERT_TRUE(result.error);
    EXPECT_EQ(result.error->where, place(line) + " (select)");
  }
}

TEST(HostLineReports, AnErrorOfTheProgramsOwnIsNoCalls) {
  const RunResult result = try_simulate(devices(1), [] {
    try {
      torch::ones({4}).view({5});
    } catch (const Error&) {
    }
    torch::ones({4});
    throw std::runtime_error("of the program");
  });
  ASSERT_TRUE(result.error);
  EXPECT_THAT(result.error->where, IsEmpty());
}

TEST(HostLineReports, AFailureInsideRanksNamesTheSpawnForTheMainProgram) {
  unsigned line = 0;
  const RunResult result = try_simulate(devices(1), [&] {
    line = this_line() + 1;
    mp::spawn([](int) { torch::ones({4}).view({5}); });
  });
  ASSERT_TRUE(result.error);
  EXPECT_EQ(result.error->where, place(line) + " (torch::multiprocessing::spawn)");
}

TEST(HostLineReports, ADeadlockSaysInWhichCallEachRankWaits) {
  unsigned reduce = 0, join = 0;
  const RunResult result = try_simulate(devices(3), [&] {
    join = this_line() + 1;
    mp::spawn(
        [&](int rank) {
          torch::ahbm::set_device(rank);
          dist::init_process_group("ahbm", rank, 3);
          const Tensor x = torch::ones({64}, one_pe());
          if (rank == 2) return;
          reduce = this_line() + 1;
          dist::all_reduce(x);
        },
        {}, {.nprocs = 3});
  });
  ASSERT_TRUE(result.error);
  EXPECT_EQ(result.error->type, "DeadlockError");
  std::map<std::string, std::string> reasons;
  for (const auto& wait : result.error->waits) reasons.emplace(wait.who, wait.reason);
  EXPECT_EQ(reasons["rank 0"], "in all_reduce at " + place(reduce));
  EXPECT_EQ(reasons["rank 1"], "in all_reduce at " + place(reduce));
  EXPECT_THAT(reasons["main"], HasSubstr("in torch::multiprocessing::spawn at host_line_reports_test.cpp:"));
  EXPECT_THAT(result.error->message, HasSubstr("in all_reduce at " + place(reduce)));
}

TEST(HostLineReports, AWaitForALaunchNamesTheLinesOfBoth) {
  unsigned launch = 0, wait = 0;
  const RunResult result = try_simulate(devices(1), [&] {
    const Tensor x = torch::ones({64}, one_pe());
    const auto stuck = [](tl::Tensor out) { tl::store(out, {0}, tl::recv(DType::f32, {64}, tl::ring_previous())); };
    const torch::LaunchOptions ring{.queues = {.topology = QueueTopology::ring_1d}};
    launch = this_line() + 1;
    torch::launch(ring, "stuck", stuck, torch::ones({64}, torch::dtype(torch::kFloat).device("ahbm")));
    wait = this_line() + 1;
    torch::ahbm::synchronize();
  });
  ASSERT_TRUE(result.error);
  EXPECT_THAT(result.error->message, AllOf(HasSubstr("in synchronize at " + place(wait)),
                                           HasSubstr("its completion, called at " + place(launch))));
}

TEST(HostLineReports, AMismatchOfCollectivesNamesBothLines) {
  unsigned reduce = 0, broadcast = 0;
  const std::string error = error_of([&] {
    in_ranks(2, [&](int rank) {
      const Tensor x = torch::ones({64}, one_pe());
      if (rank == 0) reduce = this_line(), dist::all_reduce(x);
      if (rank == 1) broadcast = this_line(), dist::broadcast(x, 0);
    });
  });
  EXPECT_THAT(error, AllOf(HasSubstr("OpType=ALLREDUCE, TensorShape=[64], TensorDtypes=Float, ReduceOp=SUM) at " +
                                     place(reduce)),
                           HasSubstr("Root=0) at " + place(broadcast))));
}

TEST(HostLineReports, ASendThatDoesNotFitItsReceiveNamesBothLines) {
  unsigned send = 0, receive = 0;
  const std::string error = error_of([&] {
    in_ranks(2, [&](int rank) {
      const Tensor x = torch::ones({rank == 0 ? 64 : 32}, one_pe());
      if (rank == 0) send = this_line(), dist::send(x, 1);
      if (rank == 1) receive = this_line(), dist::recv(x, 0);
    });
  });
  EXPECT_THAT(error, AllOf(HasSubstr("TensorShape=[64], TensorDtypes=Float at " + place(send)),
                           HasSubstr("TensorShape=[32], TensorDtypes=Float at " + place(receive))));
}

TEST(HostLineReports, CallsThatNobodyAnsweredNameTheirLines) {
  unsigned reduce = 0, send = 0, receive = 0;
  const std::string collective = error_of([&] {
    in_ranks(2, [&](int rank) {
      if (rank == 1) return;
      reduce = this_line(), dist::all_reduce(torch::ones({64}, one_pe()), dist::ReduceOp::SUM, {}, true);
    });
  });
  EXPECT_THAT(collective, HasSubstr("never by ranks {1} (called at " + place(reduce) + ")"));
  const std::string transfers = error_of([&] {
    in_ranks(2, [&](int rank) {
      const Tensor x = torch::ones({64}, one_pe());
      dist::barrier();
      if (rank == 1) return;
      send = this_line(), dist::isend(x, 1);
      receive = this_line(), dist::irecv(x, 1);
    });
  });
  EXPECT_THAT(transfers, AllOf(HasSubstr("sent, never received (called at " + place(send) + ")"),
                               HasSubstr("never sent (called at " + place(receive) + ")")));
}

TEST(HostLineReports, ARankThatIsUnwoundSaysInWhichCallItWas) {
  unsigned sent = 0, launch = 0;
  std::string text;
  simulate(devices(2), [&] {
    try {
      in_ranks(2, [&](int rank) {
        const Tensor x = torch::ones({64}, one_pe());
        dist::barrier();
        if (rank == 0) {
          sleep(500);  // within the overhead of the other's launch
          throw std::runtime_error("boom");
        }
        launch = this_line(), torch::launch("touch", touch, x);
        sent = this_line();
      });
    } catch (const mp::SpawnException& error) {
      text = error.what();
    }
  });
  EXPECT_EQ(sent, 0u);
  EXPECT_THAT(text, HasSubstr("rank 1 (is in torch::launch at " + place(launch) + " until "));
}

TEST(HostLineReports, TheOperationLogHasALineForEachLaunch) {
  const auto file = std::filesystem::temp_directory_path() / ("kernbench_lines_" + std::to_string(::getpid()));
  SimulateOptions options = devices(1);
  options.operation_log = file.string();
  unsigned line = 0;
  simulate(options, [&] {
    const Tensor x = torch::ones({4}, one_pe());
    line = this_line(), torch::launch("touch", touch, x);
  });
  std::ostringstream log;
  log << std::ifstream(file).rdbuf();
  std::filesystem::remove(file);
  EXPECT_THAT(log.str(), HasSubstr(" sip0/touch#0 - launch requested="));
  EXPECT_THAT(log.str(), HasSubstr(" programs=1 at " + place(line) + "\n"));
}

}  // namespace
}  // namespace kernbench::testing
