// One set of channels whose members are PEs of several SIPs, each with a launch of its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "runtime/context.h"
#include "runtime/queues/queue_set.h"
#include "runtime/streams/launches.h"
#include "support.h"

namespace kernbench::deadlocks_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int kSips = 3, kPesOfEach = 2, kMembers = kSips * kPesOfEach;

std::vector<PeCoordinate> members() {
  std::vector<PeCoordinate> pes;
  for (int sip = 0; sip < kSips; ++sip) {
    for (int pe = 0; pe < kPesOfEach; ++pe) pes.push_back({SipId{sip}, CubeId{0}, PeId{pe}});
  }
  return pes;
}

/// Runs `kernel` on all members: a launch on each device, all on one set of channels.
RunResult run_on_all(const std::function<void()>& kernel, QueueOptions options = {.topology = QueueTopology::ring_1d}) {
  std::shared_ptr<runtime::QueueSet> set;
  return try_simulate(machine(kSips, kPesOfEach), [&] {
    auto& simulation = runtime::current_context("a test").simulation;
    set = runtime::QueueSet::create(simulation, "all", members(), options);
    for (int sip = 0; sip < kSips; ++sip) {
      runtime::LaunchPlan plan;
      plan.name = "talk";
      plan.device = sip;
      for (int pe = 0; pe < kPesOfEach; ++pe) plan.pes.push_back({SipId{sip}, CubeId{0}, PeId{pe}});
      plan.queues = set;
      plan.body = kernel;
      runtime::enqueue_launch(simulation, std::move(plan));
    }
    for (int sip = 0; sip < kSips; ++sip) torch::ahbm::synchronize(sip);
  });
}

TEST(SeveralSips, ARingOverAllMembersAddsUpTheirNumbers) {
  for (const std::int32_t slots : {1, 3}) {
    for (const BufferKind kind : {BufferKind::tcm, BufferKind::hbm, BufferKind::sram}) {
      std::vector<std::int32_t> sums(kMembers);
      QueueOptions options{.topology = QueueTopology::ring_1d};
      options.parameters.n_slots = slots;
      options.parameters.buffer_kind = kind;
      options.parameters.slot_size = Bytes(64);  // a message takes two
      const RunResult result = run_on_all(
          [&] {
            const std::int64_t self = tl::member_index();
            tl::Tile mine = tl::full({32}, self + 1, DType::i32), sum = mine;
            for (std::int64_t step = 1; step < tl::num_members(); ++step) {
              const auto sent = tl::isend(mine, tl::ring_next());
              mine = tl::recv(DType::i32, {32}, tl::ring_previous());
              tl::wait(sent);
              sum += mine;
            }
            sums[static_cast<std::size_t>(self)] = tl::item<std::int32_t>(tl::max(sum));
          },
          options);
      EXPECT_EQ(outcome(result), "ok");
      EXPECT_THAT(sums, ::testing::Each(kMembers * (kMembers + 1) / 2));
    }
  }
}

TEST(SeveralSips, MembersAreFoundByIndexAndByCoordinate) {
  std::vector<std::int32_t> got(kMembers, -1);
  const RunResult result = run_on_all(
      [&] {
        const std::int64_t self = tl::member_index();
        if (self == 0) {
          tl::send(tl::full({1}, 41, DType::i32), tl::peer_at(2, 0, 1));
          tl::send(tl::full({1}, 42, DType::i32), tl::member(3));
        } else if (self == 3 || self == 5) {
          got[static_cast<std::size_t>(self)] = tl::item<std::int32_t>(tl::recv(DType::i32, {1}, tl::peer_at(0, 0, 0)));
        }
      },
      {.pairs = {{0, 3}, {0, 5}}});
  EXPECT_EQ(outcome(result), "ok");
  EXPECT_THAT(got, ::testing::ElementsAre(-1, -1, -1, 42, -1, 41));
}

TEST(SeveralSips, AMismatchNamesTheLinesOnBothSips) {
  const auto exchange = [](DType sent, DType wanted, std::int64_t elements, int form) {
    return run_on_all([=] {
      if (tl::member_index() == 1) tl::send(tl::zeros({8}, sent), tl::ring_next(), 6);
      if (tl::member_index() != 2) return;
      if (form == 0) tl::recv(wanted, {elements}, tl::ring_previous(), 6);
      if (form == 1) tl::recv_async(wanted, {elements}, tl::ring_previous(), 6);
      if (form == 2) tl::wait(tl::irecv(wanted, {elements}, tl::ring_previous(), 6).token);
    });
  };
  for (const int form : {0, 1, 2}) {
    const RunResult size = exchange(DType::f16, DType::f16, 9, form);
    ASSERT_TRUE(size.error) << form;
    EXPECT_EQ(size.error->type, "MessageMismatchError");
    EXPECT_THAT(size.error->message,
                AllOf(HasSubstr("expects f16 [9], but the message with tag 6 is f16 [8]"),
                      HasSubstr("it was sent in kernel talk#0 on sip0.cube0.pe1 (program 1), several_sips_test.cpp:")));
    EXPECT_THAT(size.error->where, HasSubstr("on sip1.cube0.pe0 (program 0), several_sips_test.cpp:"));
    const RunResult type = exchange(DType::bf16, DType::f16, 8, form);
    ASSERT_TRUE(type.error) << form;
    EXPECT_THAT(type.error->message, HasSubstr("expects f16 [8], but the message with tag 6 is bf16 [8]"));
  }
}

TEST(SeveralSips, ADeadlockNamesTheProgramsOfAllSips) {
  const RunResult result = run_on_all([] {
    const tl::Tile got = tl::recv(DType::f32, {8}, tl::ring_previous());
    tl::send(got, tl::ring_next());
  });
  ASSERT_TRUE(result.error && result.error->type == "DeadlockError") << outcome(result);
  ASSERT_EQ(result.error->cycles.size(), 1u);
  for (int sip = 0; sip < kSips; ++sip) {
    const std::string before = "sip" + std::to_string(sip) + "\\.cube0\\.pe";
    EXPECT_EQ(waiting(*result.error, before, " talk#.*").size(), 2u) << outcome(result);
  }
}

TEST(SeveralSips, AMessageThatNobodyReceivesIsFoundAtTheEnd) {
  const RunResult result = run_on_all([] {
    if (tl::member_index() == 3) tl::send(tl::zeros({8}, DType::f32), tl::ring_next());
  });
  ASSERT_TRUE(result.error) << "no error";
  EXPECT_EQ(result.error->type, "UnreceivedMessageError");
  EXPECT_THAT(result.error->message, AllOf(HasSubstr("to sip2.cube0.pe0 with tag 0"), HasSubstr("sip1.cube0.pe1")));
}

}  // namespace
}  // namespace kernbench::deadlocks_test
