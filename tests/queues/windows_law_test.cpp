// The laws of barriers, and of windows of PEs on several SIPs, as programs see them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/context.h"
#include "runtime/streams/launches.h"
#include "sim/fiber.h"
#include "support.h"
#include "topology/load.h"

namespace kernbench::queues_test {
namespace {

Time now_here() {
  return sim::this_fiber::scheduler().now();
}

/// From the call of a signal to the end of a wait that has slept for it, for each pair of members.
std::vector<std::vector<Time>> signal_times(int members, const torch::LaunchOptions& options) {
  std::vector<std::vector<Time>> times(static_cast<std::size_t>(members),
                                       std::vector<Time>(static_cast<std::size_t>(members)));
  for (std::int64_t from = 0; from < members; ++from) {
    for (std::int64_t to = 0; to < members; ++to) {
      if (from == to) continue;
      Time called, ended;
      simulate(mesh(members, 1), [&] {
        torch::launch(options, "signal", [&, from, to] {
          if (tl::member_index() == from) {
            tl::delay(20'000);
            called = now_here();
            tl::signal(tl::member(to), 0);
          } else if (tl::member_index() == to) {
            tl::wait_until(0, tl::Comparison::eq, 1);
            ended = now_here();
          }
        });
      });
      times[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)] = ended - called;
    }
  }
  return times;
}

/// When each leaves a barrier, by the law: rounds of one signal and one wait.
std::vector<Time> barrier_law(const std::vector<Time>& arrived, const std::vector<std::vector<Time>>& signals,
                              Time issue, Time look, Time wake) {
  std::vector<Time> at = arrived;
  for (std::size_t distance = 1; distance < at.size(); distance *= 2) {
    std::vector<Time> next(at.size());
    for (std::size_t i = 0; i < at.size(); ++i) {
      const std::size_t from = (i + at.size() - distance) % at.size();
      const Time woken = at[from] + signals[from][i], looks = at[i] + issue + look;
      next[i] = woken - wake <= looks ? looks : woken;
    }
    at = next;
  }
  return at;
}

TEST(WindowsLaw, ABarrierIsRoundsOfSignalsAndWaits) {
  const topology::PeSpec pe = topology::load_topology("tiny").pe;
  for (const int members : {2, 3, 4, 5, 7}) {
    const auto options = with_window(members, 0, 1);
    const auto signals = signal_times(members, options);
    for (std::int64_t step = 1; step <= 3; ++step) {
      std::vector<Time> arrived(static_cast<std::size_t>(members)), left(arrived.size());
      simulate(mesh(members, 1), [&] {
        torch::launch(options, "barrier", [&] {
          const auto self = static_cast<std::size_t>(tl::member_index());
          tl::delay(20'000 + 3'000 * (static_cast<std::int64_t>(self) * step % members));
          arrived[self] = now_here();
          tl::barrier();
          left[self] = now_here();
        });
      });
      EXPECT_EQ(left, barrier_law(arrived, signals, pe.control.issue, pe.control.scalar_read, pe.ipcq.wake))
          << members << " members, step " << step;
    }
  }
}

/// Two SIPs of two cubes of two PEs; one launch on each SIP, whose programs share a window.
SimulateOptions two_sips() {
  return mesh(2, 1, {"system.sips.count=2", "sip.cubes.mesh=[2, 1]"});
}
void launch_on_both(const QueueOptions& options, const std::function<void()>& kernel) {
  auto& simulation = runtime::current_context("test").simulation;
  std::vector<PeCoordinate> members;
  for (int pe = 0; pe < 8; ++pe) members.push_back({SipId{pe / 4}, CubeId{pe / 2 % 2}, PeId{pe % 2}});
  const auto set = runtime::QueueSet::create(simulation, "both", members, options);
  for (int device = 0; device < 2; ++device) {
    runtime::LaunchPlan plan;
    plan.name = "talk";
    plan.device = device;
    plan.pes.assign(members.begin() + 4 * device, members.begin() + 4 * device + 4);
    plan.queues = set;
    plan.body = kernel;
    runtime::enqueue_launch(simulation, std::move(plan));
  }
  for (int device = 0; device < 2; ++device) torch::ahbm::synchronize(device);
}

TEST(WindowsAcrossSips, ValuesSignalsAndBarriersReachEverybody) {
  for (const BufferKind kind : {BufferKind::tcm, BufferKind::hbm, BufferKind::sram}) {
    for (const bool exact : {false, true}) {
      auto machine = two_sips();
      machine.exact_events = exact;
      simulate(machine, [&] {
        QueueOptions options;
        options.window = WindowOptions{Bytes(8192), 1, kind};
        launch_on_both(options, [] {
          const std::int64_t self = tl::member_index(), other = (self + 4) % 8;
          tl::put_signal(tl::window(tl::member(other), 1024), tl::arange(0, 900) + self, 0, 1 + self);
          EXPECT_EQ(tl::wait_until(0, tl::Comparison::ne, 0), 1 + other);
          const tl::Tile got = tl::get(tl::window(tl::self(), 1024), DType::i32, {900});
          tl::device_assert(got == tl::arange(0, 900) + other, "what the other SIP has put");
          tl::barrier();
          const tl::Tile far = tl::get(tl::window(tl::member((self + 5) % 8), 1024), DType::i32, {900});
          tl::device_assert(far == tl::arange(0, 900) + (self + 1) % 8, "what lies in another window");
          tl::barrier(tl::Scope::sip);
          tl::barrier(tl::Scope::cube);
          tl::barrier();
        });
      });
    }
  }
}

TEST(WindowsAcrossSips, ABarrierNamesTheMembersOfTheSipThatDoesNotCome) {
  const std::string text = error_of(two_sips(), [] {
    QueueOptions options;
    options.window = WindowOptions{};
    launch_on_both(options, [] {
      tl::barrier(tl::Scope::sip);
      if (tl::device_id() == 1 && tl::cube_id() == 1) return;
      tl::barrier();
    });
  });
  EXPECT_THAT(text,
              ::testing::HasSubstr(": 2 PEs (sip1.cube1.pe{0, 1}) have ended without this tl::barrier, for which 4 "
                                   "programs of talk#0 (sip0.cube{0, 1}.pe{0, 1}) and 2 programs of talk#1 "
                                   "(sip1.cube0.pe{0, 1}) wait: barrier 0 of all members (at windows_law_test.cpp:"));
  EXPECT_THAT(text,
              ::testing::HasSubstr("\n  4 programs of talk#0 (sip0.cube{0, 1}.pe{0, 1}) wait for barrier 0 of all "
                                   "members (at windows_law_test.cpp:"));
  EXPECT_THAT(text, ::testing::HasSubstr("\n  2 programs of talk#1 (sip1.cube0.pe{0, 1}) wait for barrier 0 of all "
                                         "members (at windows_law_test.cpp:"));
  EXPECT_THAT(text, ::testing::HasSubstr("needs tl::barrier on sip1.cube1.pe0, sip1.cube1.pe1, whose programs have "
                                         "ended: nobody left that could provide it"));
}

}  // namespace
}  // namespace kernbench::queues_test
