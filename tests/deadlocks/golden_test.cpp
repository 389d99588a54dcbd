// What is said of deadlocks through queues, word for word: as text, as JSON and as a graph.
#include <gtest/gtest.h>

#include <functional>
#include <regex>
#include <string>

#include "report/json/json.h"
#include "report/least_slots.h"
#include "report/wait_graph_dot.h"
#include "support.h"
#include "support/source_tree.h"

namespace kernbench::deadlocks_test {
namespace {

/// Lines of this file move, and times are held by tests of their own.
std::string without_lines(const std::string& text) {
  const std::string named = std::regex_replace(text, std::regex("golden_test\\.cpp:[0-9]+"), "ring.cpp:LINE");
  return std::regex_replace(named, std::regex("deadlock at [0-9.]+ [pnum]s"), "deadlock at TIME");
}

void expect_golden_file(const std::string& file, const std::string& actual) {
  source_tree::expect_golden("tests/deadlocks/golden/" + file, actual);
}

/// Runs a kernel without tensors on PEs in a ring, and compares what is said of its deadlock.
void expect_told(const std::string& name, int pes, std::int32_t slots, void (*kernel)()) {
  const auto run = [&](std::int32_t least_slots) {
    SimulateOptions options = machine(1, pes);
    options.least_slots = least_slots;
    return try_simulate(options, [&] {
      torch::launch(channels(pes, QueueTopology::ring_1d, slots, 1024), "ring", kernel);
      torch::ahbm::synchronize();
    });
  };
  const RunResult stuck = run(1);
  ASSERT_TRUE(stuck.error) << "no error";
  EXPECT_EQ(stuck.error->type, "DeadlockError");
  RunResult told;  // no more than the error: times and figures have tests of their own
  told.bench = name;
  told.error = stuck.error;
  told.error->slots = report::find_least_slots(*stuck.error, run);
  told.status = RunStatus::error;
  ASSERT_TRUE(told.error->slots);
  expect_golden_file(name + ".txt", without_lines(told.error->message + "\nslots: " + told.error->slots->text + "\n"));
  expect_golden_file(name + ".json", without_lines(report::to_json(told)));
  expect_golden_file(name + ".dot", without_lines(report::wait_graph_dot(told)));
}

TEST(DeadlockGolden, ReceivesBeforeSendsInARing) {
  expect_told("receive_before_send", 4, 4, [] {
    const tl::Tile got = tl::recv(DType::f32, {64}, tl::ring_previous());
    tl::send(got, tl::ring_next());
  });
}

TEST(DeadlockGolden, TooFewSlots) {
  expect_told("too_few_slots", 4, 1, [] {
    tl::send(tl::zeros({512}, DType::f32), tl::ring_next());  // two slots
    tl::recv(DType::f32, {512}, tl::ring_previous());
  });
}

TEST(DeadlockGolden, TheReceiverIsGone) {
  expect_told("receiver_gone", 2, 1, [] {
    if (tl::member_index() == 1) return;
    tl::send(tl::zeros({1024}, DType::f32), tl::ring_next());
  });
}

}  // namespace
}  // namespace kernbench::deadlocks_test
