// The search for the least number of slots, on runs that are made up.
#include "report/least_slots.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support.h"

namespace kernbench::deadlocks_test {
namespace {

using report::find_least_slots;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

ErrorResult deadlock(const std::string& reason, std::optional<QueueSlots> slot = {}) {
  ErrorResult error{"DeadlockError", "stuck: " + reason, ""};
  error.waits = {{"send#1", reason, "program 1", true, slot}, {"program 1", "a message", "send#1", true}};
  error.cycles = {{"send#1", "program 1", "send#1"}};
  return error;
}
RunResult ending_with(ErrorResult error) {
  RunResult result;
  result.error = std::move(error);
  return result;
}
const QueueSlots kQueue{"sip0.cube0.pe1.ipcq.receive0", 1};
const ErrorResult kStuck = deadlock("a credit of sip0.cube0.pe1.ipcq.receive0", kQueue);

/// Runs with fewer slots than `needed` get stuck, others end as `then`.
struct Made {
  std::int32_t needed;
  RunResult then = {};
  std::vector<std::int32_t> runs = {};
  std::optional<SlotAdvice> find(const ErrorResult& error = kStuck) {
    return find_least_slots(error, [this](std::int32_t slots) {
      runs.push_back(slots);
      return slots < needed ? ending_with(kStuck) : then;
    });
  }
};

TEST(LeastSlots, AreFoundByDoublingAndBisection) {
  for (const std::int32_t needed : {2, 3, 4, 5, 7, 100, 65535, 65536}) {
    Made made{needed};
    const auto advice = made.find();
    ASSERT_TRUE(advice);
    EXPECT_EQ(advice->needed, needed);
    EXPECT_THAT(advice->text, HasSubstr(std::to_string(needed) + " slots in every queue would break it"));
    EXPECT_LE(made.runs.size(), 34u);
  }
  EXPECT_EQ(Made{2}.find()->text, "2 slots in every queue would break it; with 1 slot the program gets stuck");
}

TEST(LeastSlots, OtherErrorsAndDeadlocksWithoutASendThatWaitsAreNotRunAgain) {
  Made made{2};
  EXPECT_FALSE(made.find({"ValueError", "a message", ""}));
  const auto advice = made.find(deadlock("a message with tag 0 of sip0.cube0.pe1"));
  ASSERT_TRUE(advice);
  EXPECT_EQ(advice->needed, 0);
  EXPECT_EQ(advice->text,
            "no send waits for a slot, so that no number of slots breaks it: the programs wait for each other's "
            "messages");
  EXPECT_THAT(made.runs, IsEmpty());
}

TEST(LeastSlots, ADeadlockOfRoomIsNoneOfMessages) {
  ErrorResult error = deadlock("its tiles");
  error.waits.front().target = "sip0.cube0.pe0.tcm (1 MiB wanted, 512 KiB of 4 MiB free)";
  Made made{1};
  EXPECT_THAT(made.find(error)->text, HasSubstr("no number of slots breaks it: programs wait for room in a TCM"));
}

TEST(LeastSlots, ADeadlockOfMessagesBehindThatOfSlotsEndsTheSearch) {
  Made made{8, ending_with(deadlock("a message with tag 0 of sip0.cube0.pe1"))};
  const auto advice = made.find();
  EXPECT_EQ(advice->needed, 0);
  EXPECT_EQ(advice->tried, 8);
  EXPECT_EQ(advice->text,
            "no number of slots breaks it: with 8 slots no send waits for one any more, and the programs wait for each "
            "other's messages");
}

TEST(LeastSlots, WhatDoesNotFitAndWhatNeverHelpsIsSaid) {
  ErrorResult full{"OutOfMemoryError", "out of memory for queues in sip0.cube0.pe1.ipcq: 1 of 2", ""};
  full.too_many_slots = QueueSlots{"sip0.cube0.pe1.ipcq", 11};
  Made made{11, ending_with(full)};
  EXPECT_EQ(made.find()->text,
            "no number of slots up to 10 breaks it, and more do not fit: out of memory for queues in "
            "sip0.cube0.pe1.ipcq: 1 of 2");
  Made never{1 << 20};
  EXPECT_EQ(never.find()->text, "no number of slots up to 65536 breaks it");
  EXPECT_EQ(never.find()->needed, 0);
}

TEST(LeastSlots, HowTheRunEndsThenIsSaid) {
  Made made{3, ending_with({"UnreceivedMessageError", "1 message that was sent was never received:\n  to x", ""})};
  EXPECT_EQ(made.find()->text,
            "3 slots in every queue would break it, and the run then ends with UnreceivedMessageError: 1 message that "
            "was sent was never received; with 2 slots the program gets stuck");
  RunResult wrong;
  wrong.checks = {{"sum", CheckStatus::failed, 1, 1}};
  EXPECT_THAT((Made{3, wrong}.find()->text), HasSubstr(", and a check then fails; "));
  EXPECT_EQ((Made{3, ending_with({"Interrupted", "", ""})}.find()->text),
            "no number of slots up to 2 breaks it; the search was interrupted");
}

TEST(LeastSlots, AProgramThatDoesSomethingElseEachTimeIsNotJudged) {
  int run = 0;
  const auto advice = find_least_slots(kStuck, [&](std::int32_t) {
    return ending_with(deadlock("a credit of queue " + std::to_string(run++), kQueue));
  });
  EXPECT_EQ(advice->needed, 0);
  EXPECT_THAT(advice->text, HasSubstr("did something else when it was run again"));
}

}  // namespace
}  // namespace kernbench::deadlocks_test
