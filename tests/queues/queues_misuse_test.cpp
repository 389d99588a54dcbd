// What is said when messages do not fit, are missing, or wait for each other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "support.h"

namespace kernbench::queues_test {
namespace {

using ::testing::HasSubstr;

/// Runs a kernel without tensors on two PEs in a ring.
std::string error_in_ring(void (*kernel)(), const QueueParameters& parameters = {}) {
  return error_of(mesh(2, 1), [&] {
    torch::launch(with(2, QueueTopology::ring_1d, parameters), "talk", kernel);
    torch::ahbm::synchronize();
  });
}

TEST(QueuesMisuse, AMismatchNamesBothSites) {
  const std::string size = error_in_ring([] {
    if (tl::member_index() == 0)
      tl::send(tl::arange(0, 8), tl::ring_next(), 3);
    else
      tl::recv(DType::i32, {9}, tl::ring_previous(), 3);
  });
  EXPECT_THAT(size, HasSubstr("MessageMismatchError: tl::recv expects i32 [9], but the message with tag 3 is i32 [8]"));
  EXPECT_THAT(size, HasSubstr("it was sent in kernel talk#0 on sip0.cube0.pe0 (program 0), queues_misuse_test.cpp:"));
  EXPECT_THAT(size, HasSubstr("| kernel talk#0 on sip0.cube0.pe1 (program 1), queues_misuse_test.cpp:"));
  const std::string type = error_in_ring([] {
    if (tl::member_index() == 0)
      tl::send(tl::arange(0, 8), tl::ring_next());
    else
      tl::recv(DType::f32, {8}, tl::ring_previous());
  });
  EXPECT_THAT(type, HasSubstr("tl::recv expects f32 [8], but the message with tag 0 is i32 [8]"));
}

TEST(QueuesMisuse, AReceiveIntoABufferMustFitTheBufferAndTheMessage) {
  const auto into = [](void (*receive)(const tl::Buffer&)) {
    return error_of(mesh(2, 1), [receive] {
      torch::launch(with(2, QueueTopology::ring_1d), "talk", [receive] {
        if (tl::member_index() == 0) return tl::send(tl::arange(0, 8), tl::ring_next());
        receive(tl::alloc({4, 4}, DType::f32));
      });
    });
  };
  EXPECT_THAT(into([](const tl::Buffer& b) { tl::wait(tl::irecv(b, {0, 0}, {2, 4}, tl::ring_previous())); }),
              HasSubstr("tl::recv expects f32 [2, 4], but the message with tag 0 is i32 [8]"));
  EXPECT_THAT(into([](const tl::Buffer& b) { tl::irecv(b, {3, 0}, {2, 4}, tl::ring_previous()); }),
              HasSubstr("tl::irecv: the box of shape [2, 4] at [3, 0] leaves the buffer of shape [4, 4]"));
  EXPECT_THAT(into([](const tl::Buffer& b) { tl::irecv(b, {0, 0}, {2, 4}, tl::ring_previous()); }),
              HasSubstr("UnawaitedAccessError"));
}

TEST(QueuesMisuse, AMissingChannelIsNamedWithWhatIsInstalled) {
  const std::string text = error_in_ring([] { tl::send(tl::arange(0, 8), tl::member(5)); });
  EXPECT_THAT(text,
              HasSubstr("NoChannelError: tl::send: there is no channel to member 5; member 0 of 2 has channels to: "
                        "ring_next (sip0.cube0.pe1), ring_previous (sip0.cube0.pe1). Add the pair to "
                        "QueueOptions::pairs or choose another topology"));
  const std::string none = error_of(mesh(2, 1), [] {
    torch::launch(with(2, QueueTopology::none), "talk", [] { tl::send(tl::arange(0, 8), tl::ring_next()); });
  });
  EXPECT_THAT(none, HasSubstr("tl::send: this launch has no channels; name a topology or pairs in "
                              "torch::LaunchOptions::queues"));
  const std::string edge = error_of(mesh(2, 1), [] {
    torch::launch(with(2, QueueTopology::mesh_2d), "talk", [] { tl::send(tl::arange(0, 8), tl::north()); });
  });
  EXPECT_THAT(edge, HasSubstr("there is no channel to north; member 0 of 2 has channels to: east (sip0.cube0.pe1)"));
}

TEST(QueuesMisuse, AMessageThatNobodyReceivesIsAnErrorOfItsLaunch) {
  const std::string text = error_in_ring([] {
    if (tl::member_index() == 1) tl::send(tl::arange(0, 8), tl::ring_next(), 4);
  });
  EXPECT_THAT(text,
              HasSubstr("UnreceivedMessageError: 1 message that was sent was never received; call tl::recv for each:"
                        "\n  to sip0.cube0.pe0 with tag 4, in kernel talk#0 on sip0.cube0.pe1 (program 1), "
                        "queues_misuse_test.cpp:"));
}

TEST(QueuesMisuse, ATokenThatNobodyAwaitsIsAnError) {
  const std::string text = error_in_ring([] {
    if (tl::member_index() == 0)
      tl::isend(tl::arange(0, 8), tl::ring_next());
    else
      tl::recv(DType::i32, {8}, tl::ring_previous());
  });
  EXPECT_THAT(text, HasSubstr("UnawaitedAccessError"));
  EXPECT_THAT(text, HasSubstr("tl::isend at queues_misuse_test.cpp:"));
}

TEST(QueuesMisuse, OptionsThatDoNotFitAreRefusedAtTheLaunch) {
  const auto refused = [](QueueOptions queues, int pes = 6) {
    return error_of(mesh(3, 2), [&] {
      auto options = with(pes, QueueTopology::none);
      options.queues = std::move(queues);
      torch::launch(options, "talk", [] {});
    });
  };
  EXPECT_THAT(refused({.pairs = {{0, 9}}}), HasSubstr("queues: a channel from member 0 to member 9 cannot be"));
  EXPECT_THAT(refused({.topology = QueueTopology::mesh_2d, .mesh = {2, 2}}),
              HasSubstr("queues: a mesh of 2 x 2 does not hold 6 members"));
  EXPECT_THAT(refused({.topology = QueueTopology::mesh_2d}, 4), HasSubstr("do not fill the mesh of 3 x 2 PEs"));
  EXPECT_THAT(refused({.topology = QueueTopology::ring_1d, .parameters = slots(0, 64)}),
              HasSubstr("queues: n_slots is 0, but a channel has at least 1 slot"));
}

TEST(QueuesMisuse, TooManyEntriesAndTooManySlotsAreErrors) {
  const auto refused = [](QueueParameters parameters, std::vector<std::string> overrides) {
    return error_of(mesh(3, 2, std::move(overrides)),
                    [&] { torch::launch(with(6, QueueTopology::all_pairs, parameters), "talk", [] {}); });
  };
  EXPECT_THAT(refused({}, {"pe.ipcq.queues=4"}),
              HasSubstr("sip0.cube0.pe0 needs entry 4 of its table of neighbours, but pe.ipcq.queues is 4"));
  EXPECT_THAT(refused(slots(64, 65536), {}), HasSubstr("out of memory for queues in sip0.cube0.pe1.ipcq"));
  EXPECT_THAT(refused(slots(64, 65536, BufferKind::sram), {}),
              HasSubstr("out of memory for queues in sip0.cube0.sram"));
  EXPECT_THAT(refused(slots(64, 1 << 20, BufferKind::hbm), {}),
              HasSubstr("out of memory for queues in sip0.cube0.pe2.hbm"));
}

// ---- deadlocks

TEST(QueuesDeadlock, ReceivesBeforeSendsAreACycleThroughBothPrograms) {
  const std::string text = error_in_ring([] {
    const tl::Tile got = tl::recv(DType::i32, {8}, tl::ring_previous(), 5);
    tl::send(got, tl::ring_next(), 5);
  });
  EXPECT_THAT(text, HasSubstr("DeadlockError"));
  EXPECT_THAT(text, HasSubstr("cycle: sip0.cube0.pe0 talk#0 -> recv#0 (queues_misuse_test.cpp:"));
  EXPECT_THAT(text, HasSubstr("on sip0.cube0.pe0.ipcq.receive0 -> sip0.cube0.pe1 talk#0 (a message with tag 5 of "
                              "sip0.cube0.pe1) -> recv#0 (queues_misuse_test.cpp:"));
  EXPECT_THAT(text, HasSubstr("on sip0.cube0.pe1.ipcq.receive0 -> sip0.cube0.pe0 talk#0 (a message with tag 5 of "
                              "sip0.cube0.pe0)\n"));
  EXPECT_THAT(text, HasSubstr("waits for 2 programs of talk#0 (sip0.cube0.pe{0, 1}) (a message with tag 5 of "
                              "sip0.cube0.pe{0, 1}) [cycle]"));
}

TEST(QueuesDeadlock, TooFewCreditsAreACycle) {
  const std::string text = error_in_ring(
      [] {
        tl::send(tl::zeros({64}, DType::f32), tl::ring_next());
        tl::recv(DType::f32, {64}, tl::ring_previous());
      },
      slots(1, 128));
  EXPECT_THAT(text, HasSubstr("cycle: sip0.cube0.pe0 talk#0 -> send#1 (queues_misuse_test.cpp:"));
  EXPECT_THAT(text, HasSubstr("on sip0.cube0.pe0.ipcq.send0 -> sip0.cube0.pe1 talk#0 (a credit of "
                              "sip0.cube0.pe1.ipcq.receive0) -> send#1 (queues_misuse_test.cpp:"));
  EXPECT_THAT(text, HasSubstr("waits for 2 programs of talk#0 (sip0.cube0.pe{0, 1}) (a credit of "
                              "sip0.cube0.pe{0, 1}.ipcq.receive0) [cycle]"));
}

TEST(QueuesDeadlock, AMessageOfAProgramThatIsOverIsMissing) {
  const std::string text = error_in_ring([] {
    if (tl::member_index() == 0) tl::recv(DType::i32, {8}, tl::ring_previous());
  });
  EXPECT_THAT(text, HasSubstr("needs a message with tag 0 of sip0.cube0.pe1: nobody left that could provide it"));
}

}  // namespace
}  // namespace kernbench::queues_test
