// Who a rank is: device, streams, random numbers and names belong to its fiber and survive every wait.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/waitable.h"
#include "spawning.h"
#include "support/sanitizers.h"

namespace kernbench {
namespace {

using testing::devices;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using testing::one_pe;
using testing::sleep;
namespace acc = torch::accelerator;
namespace mp = torch::multiprocessing;

TEST(Identity, ARankStartsOnDeviceZeroWithTheDefaultStreamAndTheSeedWhateverItsParentDid) {
  float expected = 0;
  std::vector<float> drawn;
  simulate(devices(2), [&] {
    expected = torch::rand({4})[2].item<float>();
    acc::set_stream(torch::ahbm::Stream(1));
    torch::manual_seed(99);
    mp::spawn(
        [&](int) {
          EXPECT_EQ(acc::current_device_index(), 0);
          EXPECT_EQ(acc::current_stream().id(), 0);
          EXPECT_EQ(acc::current_stream(1).id(), 0);
          drawn.push_back(torch::rand({4})[2].item<float>());
        },
        {}, {.nprocs = 2});
    EXPECT_EQ(acc::current_device_index(), 1);
    EXPECT_EQ(acc::current_stream().id(), 1);
  });
  EXPECT_THAT(drawn, ElementsAre(expected, expected));
}

TEST(Identity, AhbmAndAcceleratorAreOneVariable) {
  simulate(devices(3), [&] {
    EXPECT_EQ(acc::device_count(), 3);
    EXPECT_TRUE(acc::is_available());
    EXPECT_EQ(acc::current_accelerator()->str(), "ahbm");
    acc::set_device_index(2);
    EXPECT_EQ(torch::ahbm::current_device(), 2);
    torch::ahbm::set_device(1);
    EXPECT_EQ(acc::current_device_index(), 1);
    acc::set_device_index(-1);
    torch::ahbm::set_device(-5);
    EXPECT_EQ(acc::current_device_index(), 1);
    EXPECT_EQ(torch::empty({4}, torch::device("ahbm")).device().index(), 1);
  });
  EXPECT_EQ(acc::current_accelerator()->str(), "ahbm");
  EXPECT_FALSE(acc::current_accelerator(true).has_value());
}

TEST(Identity, GuardsNestAndRestoreAfterExceptions) {
  simulate(devices(3), [&] {
    {
      const acc::device_index outer(2);
      EXPECT_EQ(acc::current_device_index(), 2);
      try {
        const acc::device_index inner(1);
        EXPECT_EQ(acc::current_device_index(), 1);
        throw std::runtime_error("out of here");
      } catch (const std::runtime_error&) {
        EXPECT_EQ(acc::current_device_index(), 2);
      }
      const acc::device_index nothing(std::nullopt);
      EXPECT_EQ(acc::current_device_index(), 2);
    }
    EXPECT_EQ(acc::current_device_index(), 0);
  });
}

TEST(Identity, AnIndexOutOfRangeIsAnErrorOfPyTorchsWords) {
  for (const int index : {2, 100}) {
    EXPECT_THAT(error_of([&] { acc::set_device_index(index); }), HasSubstr("The device index is out of range"));
    EXPECT_THAT(error_of([&] { const acc::device_index guard(index); }), HasSubstr("The device index is out of range"));
    EXPECT_THAT(error_of([&] { torch::ahbm::synchronize(index); }), HasSubstr("The device index is out of range"));
  }
}

TEST(Identity, TensorsMadeOutsideOfRanksWarnOnceUnderDebug) {
  const auto warnings_of = [](bool debug, bool spawns) {
    std::vector<std::string> warnings;
    auto options = devices(2);
    options.debug = debug;
    options.warn = [&](std::string_view text) { warnings.emplace_back(text); };
    simulate(options, [&] {
      auto before = torch::empty({4}, one_pe());
      if (spawns) mp::spawn([](int) { torch::empty({4}, one_pe()); }, {}, {.nprocs = 2});
      auto x = torch::empty({4}, one_pe().name("x")), y = torch::empty({4}, one_pe());
      EXPECT_EQ(x.device().index(), 0);
    });
    return warnings;
  };
  EXPECT_THAT(warnings_of(true, true), ElementsAre(HasSubstr("tensor x is made outside of a rank")));
  EXPECT_THAT(warnings_of(true, false), ElementsAre());
  EXPECT_THAT(warnings_of(false, true), ElementsAre());
}

/// Waits in one of all the ways that there are.
void wait_somehow(int way, const torch::Tensor& x, const torch::Tensor& y) {
  using torch::ahbm::Event;
  torch::launch("busy", testing::busy, x, y, 1 + way % 3);
  switch (way % 10) {
    case 0:
      return sleep(500 + way);
    case 1:
      return torch::ahbm::synchronize();
    case 2:
      return torch::ahbm::current_stream().synchronize();
    case 3: {
      Event event;
      event.record();
      return event.synchronize();
    }
    case 4:
      y.cpu();
      return;
    case 5:
      y[3].item<float>();
      return;
    case 6: {
      const torch::ahbm::StreamGuard guard{torch::ahbm::Stream()};
      torch::launch("busy", testing::busy, x, y, 1);
      return;
    }
    case 7:
      y.copy_(torch::zeros({64}), false);
      return;
    case 8:
      mp::spawn(
          [](int) {
            acc::set_device_index(1);
            torch::rand({8});
            sleep(100);
          },
          {}, {.nprocs = 2});
      return;
    default: {
      Event event;
      event.record();
      while (!event.query()) {
      }
    }
  }
}

TEST(Identity, EveryRankKeepsItsDeviceStreamAndRandomNumbersThroughFiftyWaitsOfAllKinds) {
  constexpr int kRanks = 4, kWaits = kSanitized ? 15 : 50;
  // What each rank draws when it is alone.
  const auto draws_of = [](int rank) {
    torch::manual_seed(100 + static_cast<std::uint64_t>(rank));
    std::vector<float> draws(kWaits);
    for (float& draw : draws) draw = torch::rand({3})[1].item<float>();
    return draws;
  };
  simulate(devices(kRanks), [&] {
    std::array<std::vector<float>, kRanks> alone;
    for (int rank = 0; rank < kRanks; ++rank) alone[static_cast<std::size_t>(rank)] = draws_of(rank);
    mp::spawn(
        [&](int rank) {
          acc::set_device_index(rank);
          torch::manual_seed(100 + static_cast<std::uint64_t>(rank));
          const torch::ahbm::Stream stream;
          acc::set_stream(stream);
          auto x = torch::ones({64}, one_pe()), y = torch::empty_like(x);
          for (int wait = 0; wait < kWaits; ++wait) {
            wait_somehow(wait + 3 * rank, x, y);
            ASSERT_EQ(acc::current_device_index(), rank);
            ASSERT_EQ(acc::current_stream(), stream);
            ASSERT_EQ(torch::empty({4}, torch::device("ahbm")).device().index(), rank);
            ASSERT_EQ(torch::rand({3})[1].item<float>(),
                      alone[static_cast<std::size_t>(rank)][static_cast<std::size_t>(wait)]);
          }
        },
        {}, {.nprocs = kRanks});
    EXPECT_EQ(testing::ambiguous_orders(), 0u);
  });
}

TEST(Identity, EventsOrderStreamsOfDifferentRanksAndDevices) {
  simulate(devices(2), [&] {
    torch::ahbm::Event ready;
    sim::Completion recorded;
    Time produced, consumed;
    mp::spawn(
        [&](int rank) {
          torch::ahbm::set_device(rank);
          auto x = torch::ones({64}, one_pe()), y = torch::empty_like(x);
          torch::ahbm::synchronize();
          if (rank == 0) {
            torch::launch("producer", testing::busy, x, y, 10);
            ready.record();
            recorded.set();
            ready.synchronize();
            produced = testing::now();
          } else {
            recorded.wait();
            ready.block(torch::ahbm::current_stream());
            torch::launch("consumer", testing::busy, x, y, 1);
            torch::ahbm::synchronize();
            consumed = testing::now();
          }
        },
        {}, {.nprocs = 2});
    EXPECT_GT(produced, Time::nanoseconds(10'000));
    EXPECT_GT(consumed, produced);
  });
}

}  // namespace
}  // namespace kernbench
