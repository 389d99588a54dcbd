// What is said of one-sided accesses that do not fit, and of signals and barriers that never come.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "support.h"

namespace kernbench::queues_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// Runs a kernel without tensors on three PEs with windows of 1 KiB and two signal words.
std::string error_with_window(void (*kernel)(), Backpressure backpressure = Backpressure::sleep) {
  return error_of(mesh(3, 1), [&] {
    auto options = with_window(3, 1024, 2);
    options.queues.parameters.backpressure = backpressure;
    torch::launch(options, "talk", kernel);
    torch::ahbm::synchronize();
  });
}

TEST(WindowsMisuse, AnAccessOutsideOfTheWindowNamesPlaceAndLimit) {
  const std::string text =
      error_with_window([] { tl::put(tl::window(tl::ring_next(), 960), tl::zeros({8, 8}, DType::f32)); });
  EXPECT_THAT(text, HasSubstr("OutOfBoundsError: tl::put: 256 B (f32 [8, 8]) at offset 960 leave the window of "
                              "sip0.cube0.pe1 (member 1), which has 1024 B; offsets 0 to 768 fit"));
  EXPECT_THAT(text, HasSubstr("| kernel talk#0 on sip0.cube0.pe0 (program 0), windows_misuse_test.cpp:"));
  EXPECT_THAT(error_with_window([] { tl::get(tl::window(tl::member(2), -4), DType::i32, {1}); }),
              HasSubstr("tl::get: 4 B (i32 [1]) at offset -4 leave the window of sip0.cube0.pe2 (member 2)"));
  EXPECT_THAT(error_with_window([] { tl::get(tl::window(tl::self()), DType::i32, {257}); }),
              HasSubstr("no offset fits; make QueueOptions::window.bytes larger"));
}

TEST(WindowsMisuse, AnOffsetBetweenElementsIsRefused) {
  EXPECT_THAT(error_with_window([] { tl::put(tl::window(tl::self(), 6), tl::zeros({4}, DType::f32)); }),
              HasSubstr("ValueError: tl::put: offset 6 is not a multiple of the 4 B of an element of f32"));
  EXPECT_THAT(error_with_window([] { tl::get(tl::window(tl::self()), DType::f64, {4}); }),
              HasSubstr("tl::get: the TCM has no f64 elements; use f32"));
}

TEST(WindowsMisuse, ASignalWordOrAMemberThatIsNotThereIsNamed) {
  EXPECT_THAT(error_with_window([] { tl::signal(tl::ring_next(), 2); }),
              HasSubstr("OutOfBoundsError: tl::signal: there is no signal word 2; each member has signal words 0 to 1 "
                        "(QueueOptions::window.signals)"));
  EXPECT_THAT(error_with_window([] { tl::wait_until(-1, tl::Comparison::eq, 0); }),
              HasSubstr("tl::wait_until: there is no signal word -1"));
  EXPECT_THAT(error_with_window([] { tl::put_signal(tl::window(tl::self()), tl::zeros({4}, DType::f32), 7, 1); }),
              HasSubstr("tl::put_signal: there is no signal word 7"));
  EXPECT_THAT(
      error_with_window([] { tl::signal(tl::member(3), 0); }),
      HasSubstr("NoMemberError: tl::signal: member 3 is no member; this program is member 0 of members 0 to 2"));
  EXPECT_THAT(error_with_window([] { tl::get(tl::window(tl::peer_at(0, 1, 0)), DType::i32, {1}); }),
              HasSubstr("NoMemberError: tl::get: sip0.cube1.pe0 is no member"));
  EXPECT_THAT(error_with_window([] { tl::signal(tl::north(), 0); }),
              HasSubstr("north is no member; this program is member 0 of members 0 to 2, and only the channels of a "
                        "mesh have directions"));
}

TEST(WindowsMisuse, ALaunchWithoutAWindowIsToldHowToGetOne) {
  const std::string text = error_of(mesh(2, 1), [] {
    torch::launch(with(2, QueueTopology::ring_1d), "talk", [] { tl::barrier(); });
    torch::ahbm::synchronize();
  });
  EXPECT_THAT(text, HasSubstr("NoWindowError: tl::barrier: this launch has no window; give it one: "
                              "torch::LaunchOptions::queues.window = WindowOptions{…}"));
}

TEST(WindowsMisuse, WindowsThatAMachineDoesNotHaveAreRefusedAtTheLaunch) {
  const auto refused = [](std::int64_t bytes, std::int32_t signals, BufferKind kind) {
    return error_of(mesh(2, 1), [&] { torch::launch(with_window(2, bytes, signals, kind), "talk", [] {}); });
  };
  EXPECT_THAT(refused(-1, 0, BufferKind::tcm), HasSubstr("queues: window.bytes is -1, but it must be at least 0 B"));
  EXPECT_THAT(refused(0, 8193, BufferKind::tcm),
              HasSubstr("queues: window.signals is 8193, but a PE has 8192 signal words: use fewer signals or raise "
                        "pe.ipcq.signals"));
  EXPECT_THAT(refused(0, 8190, BufferKind::tcm),
              HasSubstr("out of signal words on sip0.cube0.pe0: a window needs 8193, those of its barriers included, "
                        "and 8192 of 8192 are free; use fewer signals or raise pe.ipcq.signals"));
  EXPECT_THAT(refused(std::int64_t{1} << 34, 0, BufferKind::sram),
              HasSubstr("out of memory for windows in sip0.cube0.sram: the window of sip0.cube0.pe0 needs 16 GiB"));
}

TEST(WindowsMisuse, TheSignalWordsOfAPEAreAKeyOfTheMachine) {
  const auto ended = [](std::int32_t words) {
    auto options = mesh(2, 1);
    options.overrides.push_back("pe.ipcq.signals=16");
    return error_of(options, [&] { torch::launch(with_window(2, 0, words, BufferKind::tcm), "talk", [] {}); });
  };
  EXPECT_THAT(ended(17), HasSubstr("queues: window.signals is 17, but a PE has 16 signal words: use fewer signals or "
                                   "raise pe.ipcq.signals"));
  EXPECT_THAT(ended(16), HasSubstr("and 16 of 16 are free; use fewer signals or raise pe.ipcq.signals"));
  EXPECT_EQ(ended(8), "no error");
}

// ---- deadlocks

TEST(WindowsDeadlock, ASignalThatNobodySendsNamesWaiterWordValueConditionAndWhoHasEnded) {
  for (const Backpressure backpressure : {Backpressure::sleep, Backpressure::poll}) {
    const std::string text = error_with_window(
        [] {
          if (tl::member_index() == 1) tl::signal(tl::member(0), 1, 2);
          if (tl::member_index() == 0) tl::wait_until(1, tl::Comparison::ge, 3);
        },
        backpressure);
    EXPECT_THAT(text, HasSubstr("DeadlockError"));
    EXPECT_THAT(text, HasSubstr("sip0.cube0.pe0 talk#0 waits for signal 1 of sip0.cube0.pe0 (it is 2; tl::wait_until "
                                "at windows_misuse_test.cpp:"));
    EXPECT_THAT(text, HasSubstr("waits until it is >= 3)"));
    EXPECT_THAT(text, HasSubstr("needs a signal of sip0.cube0.pe1, sip0.cube0.pe2, whose programs have ended: nobody "
                                "left that could provide it"));
  }
}

TEST(WindowsDeadlock, ManyThatHaveEndedAreCountedWhereAFewAreNamed) {
  const std::string text = error_of(mesh(4, 2), [] {
    torch::launch(with_window(8, 0, 1), "talk", [] {
      if (tl::member_index() == 5) tl::wait_until(0, tl::Comparison::eq, 1);
    });
    torch::ahbm::synchronize();
  });
  EXPECT_THAT(text, HasSubstr("needs a signal of 7 PEs (sip0.cube0.pe*), whose programs have ended: nobody left that "
                              "could provide it"));
}

TEST(WindowsDeadlock, WaitsOfTwoForEachOtherAreACycle) {
  const std::string text = error_with_window([] {
    if (tl::member_index() == 2) return;
    tl::wait_until(0, tl::Comparison::ne, 0);
    tl::signal(tl::member(1 - tl::member_index()), 0);
  });
  EXPECT_THAT(text, HasSubstr("cycle: sip0.cube0.pe0 talk#0 -> signal 0 of sip0.cube0.pe0 (it is 0; tl::wait_until at "
                              "windows_misuse_test.cpp:"));
  EXPECT_THAT(text, HasSubstr("waits until it is != 0) -> sip0.cube0.pe1 talk#0 (a signal of sip0.cube0.pe1) -> signal "
                              "0 of sip0.cube0.pe1 (it is 0; tl::wait_until at windows_misuse_test.cpp:"));
  EXPECT_THAT(text, HasSubstr("waits until it is != 0) -> sip0.cube0.pe0 talk#0 (a signal of sip0.cube0.pe0)\n"));
  EXPECT_THAT(text, HasSubstr("waits for 2 programs of talk#0 (sip0.cube0.pe{0, 1}) (a signal of sip0.cube0.pe{0, 1}) "
                              "[cycle]"));
  EXPECT_THAT(text, HasSubstr("needs a signal of sip0.cube0.pe2, whose program has ended"));
}

TEST(WindowsDeadlock, ABarrierNamesWhoIsMissing) {
  const std::string ended = error_with_window([] {
    tl::barrier();
    if (tl::member_index() != 1) tl::barrier();
  });
  EXPECT_THAT(ended, HasSubstr(": sip0.cube0.pe1 has ended without this tl::barrier, for which 2 programs of talk#0 "
                               "(sip0.cube0.pe{0, 2}) wait: barrier 1 of all members (at windows_misuse_test.cpp:"));
  EXPECT_THAT(ended, HasSubstr("\n  2 programs of talk#0 (sip0.cube0.pe{0, 2}) wait for barrier 1 of all members (at "
                               "windows_misuse_test.cpp:"));
  EXPECT_THAT(ended, HasSubstr("needs tl::barrier on sip0.cube0.pe1, whose program has ended: nobody left"));
  EXPECT_THAT(ended, Not(HasSubstr("tl::barrier on sip0.cube0.pe2")));
  const std::string waiting = error_with_window([] {
    if (tl::member_index() == 2) tl::wait_until(0, tl::Comparison::eq, 1);
    tl::barrier();
    tl::signal(tl::member(2), 0);
  });
  EXPECT_THAT(waiting, HasSubstr("waits for sip0.cube0.pe2 talk#0 (tl::barrier on sip0.cube0.pe2) [cycle]"));
}

TEST(WindowsDeadlock, APollForEverIsFound) {
  const std::string word = error_with_window([] {
    if (tl::member_index() != 0) return;
    while (tl::signal_value(0) == 0) tl::delay(10);
  });
  EXPECT_THAT(word, HasSubstr("LivelockError"));
  const std::string bytes = error_with_window([] {
    if (tl::member_index() != 0) return;
    tl::put(tl::window(tl::self()), tl::zeros({1}, DType::i32));
    while (tl::item<std::int64_t>(tl::get(tl::window(tl::self()), DType::i32, {1})) == 0) tl::delay(10);
  });
  EXPECT_THAT(bytes, HasSubstr("LivelockError"));
}

// A flag that comes late is no poll for ever.
TEST(WindowsDeadlock, APollThatEndsIsNone) {
  EXPECT_EQ(error_with_window([] {
              if (tl::member_index() == 0) {
                while (tl::signal_value(0) == 0) tl::delay(10);
              } else if (tl::member_index() == 1) {
                tl::delay(40'000);
                tl::signal(tl::member(0), 0);
              }
            }),
            "no error");
}

}  // namespace
}  // namespace kernbench::queues_test
