// What a program sends is what another one receives, over every kind of channel.
#include <gtest/gtest.h>

#include <vector>

#include "support.h"

namespace kernbench::queues_test {
namespace {

torch::Tensor results(std::int64_t rows, std::int64_t columns, DType dtype = DType::i32) {
  return torch::zeros({rows, columns}, torch::dtype(dtype).device("ahbm"));
}

/// Each program sends what it has around the ring, n - 1 times, and adds up what comes.
void ring_sum(tl::Tensor out, std::int64_t width) {
  const std::int64_t self = tl::member_index(), n = tl::num_members();
  tl::Tile mine = tl::arange(0, width) + self * 1000, sum = mine;
  for (std::int64_t step = 1; step < n; ++step) {
    const auto sent = tl::isend(mine, tl::ring_next(), 7);
    mine = tl::recv(DType::i32, {width}, tl::ring_previous(), 7);
    tl::wait(sent);
    sum += mine;
  }
  tl::store(out, {self, 0}, tl::reshape(sum, {1, width}));
}

void expect_ring_sum(int pes, const QueueParameters& parameters) {
  constexpr std::int64_t kWidth = 700;
  const torch::Tensor out = results(pes, kWidth);
  torch::launch(with(pes, QueueTopology::ring_1d, parameters), "ring", ring_sum, out, kWidth);
  const torch::Tensor host = out.cpu();
  for (std::int64_t row = 0; row < pes; ++row) {
    for (std::int64_t i = 0; i < kWidth; i += 97) {
      ASSERT_EQ(host[row][i].item<std::int32_t>(), pes * i + 1000 * pes * (pes - 1) / 2) << row << ", " << i;
    }
  }
}

TEST(Queues, ARingAddsUpOverEveryKindOfBufferAndBackpressure) {
  for (const BufferKind kind : {BufferKind::tcm, BufferKind::hbm, BufferKind::sram}) {
    for (const Backpressure backpressure : {Backpressure::sleep, Backpressure::poll}) {
      simulate(mesh(3, 1), [&] { expect_ring_sum(3, slots(2, 1024, kind, backpressure)); });
    }
  }
}

TEST(Queues, ARingOfTwoWithOneSlotTurns) {
  simulate(mesh(2, 1), [] { expect_ring_sum(2, slots(1, 512)); });
}

// The one neighbour of each is both: which of the two channels a message took shows in what comes from where.
TEST(Queues, InARingOfTwoBothDirectionsStayApart) {
  simulate(mesh(2, 1), [] {
    const torch::Tensor out = results(2, 2);
    torch::launch(
        with(2, QueueTopology::ring_1d, slots(1, 64)), "both",
        [](tl::Tensor t) {
          const std::int64_t self = tl::member_index();
          const auto forward = tl::isend(tl::full({1}, 10 + self, DType::i32), tl::ring_next());
          const auto backward = tl::isend(tl::full({1}, 20 + self, DType::i32), tl::ring_previous());
          const auto from_next = tl::recv(DType::i32, {1}, tl::ring_next());
          const auto from_previous = tl::recv(DType::i32, {1}, tl::ring_previous());
          tl::wait(forward);
          tl::wait(backward);
          tl::store(t, {self, 0}, tl::reshape(from_next, {1, 1}));
          tl::store(t, {self, 1}, tl::reshape(from_previous, {1, 1}));
        },
        out);
    const torch::Tensor host = out.cpu();
    EXPECT_EQ(host[0][0].item<std::int32_t>(), 21);  // what the other one sent backward
    EXPECT_EQ(host[0][1].item<std::int32_t>(), 11);  // and forward
    EXPECT_EQ(host[1][0].item<std::int32_t>(), 20);
    EXPECT_EQ(host[1][1].item<std::int32_t>(), 10);
  });
}

TEST(Queues, AMessageLargerThanAllSlotsStreamsThrough) {
  simulate(mesh(2, 1), [] { expect_ring_sum(2, slots(2, 64)); });
}

TEST(Queues, NeighboursOfATorusAreTheirDirections) {
  simulate(mesh(3, 2), [] {
    const torch::Tensor out = results(6, 4);
    torch::launch(
        with(6, QueueTopology::torus_2d, slots(1, 64)), "torus",
        [](tl::Tensor t) {
          const std::int64_t self = tl::member_index();
          const std::vector<tl::Peer> to{tl::east(), tl::west(), tl::south(), tl::north()};
          const std::vector<tl::Peer> from{tl::west(), tl::east(), tl::north(), tl::south()};
          std::vector<tl::Token> tokens;
          for (const tl::Peer& peer : to) tokens.push_back(tl::isend(tl::full({1, 1}, self, DType::i32), peer));
          for (std::int64_t i = 0; i < 4; ++i) {
            tl::store(t, {self, i}, tl::recv(DType::i32, {1, 1}, from[static_cast<std::size_t>(i)]));
          }
          for (const tl::Token& token : tokens) tl::wait(token);
        },
        out);
    const torch::Tensor host = out.cpu();
    for (int y = 0; y < 2; ++y) {
      for (int x = 0; x < 3; ++x) {
        const auto at = [](int column, int row) { return (row + 2) % 2 * 3 + (column + 3) % 3; };
        const std::vector<int> expected{at(x - 1, y), at(x + 1, y), at(x, y - 1), at(x, y + 1)};
        for (int i = 0; i < 4; ++i)
          EXPECT_EQ(host[at(x, y)][i].item<std::int32_t>(), expected[static_cast<std::size_t>(i)]);
      }
    }
  });
}

TEST(Queues, ReceivesTakeMessagesByTagAndFirstComeFirstServed) {
  simulate(mesh(2, 1), [] {
    const torch::Tensor out = results(1, 4);
    auto options = with(2, QueueTopology::none, slots(8, 64));
    options.queues.pairs = {{0, 1}};
    torch::launch(
        options, "tags",
        [](tl::Tensor t) {
          if (tl::member_index() == 0) {
            std::int64_t value = 0;
            for (const std::uint64_t tag : {5, 9, 5, 9}) {
              tl::send(tl::full({1, 1}, value++, DType::i32), tl::member(1), tag);
            }
            return;
          }
          std::int64_t place = 0;
          for (const std::uint64_t tag : {9, 9, 5, 5}) {
            tl::store(t, {0, place++}, tl::recv(DType::i32, {1, 1}, tl::peer_at(0, 0, 0), tag));
          }
        },
        out);
    const torch::Tensor host = out.cpu();
    const std::vector<int> expected{1, 3, 0, 2};
    for (int i = 0; i < 4; ++i) EXPECT_EQ(host[0][i].item<std::int32_t>(), expected[static_cast<std::size_t>(i)]);
  });
}

TEST(Queues, WhatUsesAnAsynchronousReceiveStartsWhenItIsThere) {
  simulate(mesh(2, 1), [] {
    const torch::Tensor out = results(1, 64, DType::f32);
    torch::launch(
        with(2, QueueTopology::ring_1d), "later",
        [](tl::Tensor t) {
          if (tl::member_index() == 0) {
            tl::delay(20'000);
            tl::send(tl::full({8, 8}, 2.5F, DType::f32), tl::ring_next());
            return;
          }
          const tl::Tile first = tl::recv_async(DType::f32, {64}, tl::ring_previous());  // of another shape
          tl::store(t, {0, 0}, tl::reshape(first * 2.0F, {1, 64}));
        },
        out);
    EXPECT_EQ(out.cpu()[0][63].item<float>(), 5.0F);
  });
}

TEST(Queues, AnAwaitedReceiveYieldsItsTile) {
  simulate(mesh(2, 1), [] {
    const torch::Tensor out = results(1, 8);
    torch::launch(
        with(2, QueueTopology::ring_1d), "awaited",
        [](tl::Tensor t) {
          if (tl::member_index() == 0) return tl::send(tl::arange(0, 8), tl::ring_next());
          auto [tile, token] = tl::irecv(DType::i32, {8}, tl::ring_previous());
          tl::wait(token);
          tl::store(t, {0, 0}, tl::reshape(tile, {1, 8}));
        },
        out);
    EXPECT_EQ(out.cpu()[0][7].item<std::int32_t>(), 7);
  });
}

// Two halves of a buffer, in the order in which they are needed; what reads them waits for them, and what writes there
// afterwards waits too.
TEST(Queues, AReceiveFillsABoxOfABuffer) {
  simulate(mesh(2, 1), [] {
    const torch::Tensor out = results(2, 8);
    torch::launch(
        with(2, QueueTopology::ring_1d, slots(8, 16)), "buffer",
        [](tl::Tensor t) {
          if (tl::member_index() == 0) {
            tl::send(tl::arange(0, 8), tl::ring_next(), 1);
            tl::send(tl::arange(0, 8) + 100, tl::ring_next(), 2);
            return;
          }
          const tl::Buffer buffer = tl::alloc({4, 4}, DType::i32);
          const tl::Token second = tl::irecv(buffer, {2, 0}, {2, 4}, tl::ring_previous(), 2);
          const tl::Token first = tl::irecv(buffer, {0, 0}, {2, 4}, tl::ring_previous(), 1);
          const tl::Tile upper = tl::load(buffer, {0, 0}, {2, 4});
          tl::store(buffer, {0, 0}, tl::full({2, 4}, 7, DType::i32));
          tl::wait(first);
          tl::wait(second);
          tl::store(t, {0, 0}, tl::reshape(upper, {1, 8}));
          tl::store(t, {1, 0}, tl::reshape(tl::load(buffer, {1, 0}, {2, 4}), {1, 8}));
        },
        out);
    const torch::Tensor host = out.cpu();
    for (int i = 0; i < 8; ++i) {
      EXPECT_EQ(host[0][i].item<std::int32_t>(), i);
      EXPECT_EQ(host[1][i].item<std::int32_t>(), i < 4 ? 7 : 100 + i - 4);
    }
  });
}

TEST(Queues, ValidityTravels) {
  const std::string text = error_of(mesh(2, 1), [] {
    const torch::Tensor in = torch::empty({1, 8}, torch::dtype(DType::i32).device("ahbm"));
    const torch::Tensor out = results(1, 8);
    torch::launch(
        with(2, QueueTopology::ring_1d), "poison",
        [](tl::In x, tl::Tensor t) {
          if (tl::member_index() == 0) return tl::send(tl::load(x, {0, 0}, {1, 8}), tl::ring_next());
          tl::store(t, {0, 0}, tl::recv(DType::i32, {1, 8}, tl::ring_previous()));
        },
        in, out);
    out.cpu();
  });
  EXPECT_NE(text.find("InvalidValueError"), std::string::npos) << text;
}

// A launch begins one launch overhead after its predecessor is over, or after its channels are installed.
TEST(Queues, ChannelsStayInstalledForTheNextLaunch) {
  const RunResult result = simulate(mesh(2, 1), [] {
    const torch::Tensor out = results(2, 16);
    torch::ahbm::synchronize();
    for (const std::int32_t count : {4, 4, 4, 1}) {
      torch::launch(with(2, QueueTopology::ring_1d, slots(count, 128)), "again", ring_sum, out, std::int64_t{16});
      torch::ahbm::synchronize();
    }
  });
  ASSERT_EQ(result.launches.size(), 5u);  // the first fills the tensor
  const auto before = [&](std::size_t i) { return result.launches[i].start - result.launches[i - 1].end; };
  EXPECT_EQ(before(2), before(3));
  EXPECT_GT(before(1), before(2) + Time::microseconds(1));
  EXPECT_GT(before(4), before(3) + Time::microseconds(1));
}

// Sets of eight entries each, one after the other, on machines with eight.
TEST(Queues, ALaunchTakesTheEntriesOfLaunchesThatAreOver) {
  simulate(mesh(3, 3), [] {
    const torch::Tensor out = results(9, 16);
    for (int i = 0; i < 2; ++i) {
      torch::launch(with(9, QueueTopology::all_pairs, slots(1, 256)), "pairs", ring_sum, out, std::int64_t{16});
      torch::launch(
          with(9, QueueTopology::torus_2d, slots(1, 256)), "torus",
          [](tl::Tensor) { tl::send(tl::arange(0, 4), tl::east()), tl::recv(DType::i32, {4}, tl::west()); }, out);
    }
  });
}

TEST(Queues, WaitsForMessagesAndCreditsAreExplained) {
  const RunResult result = simulate(mesh(2, 1), [] {
    torch::launch(with(2, QueueTopology::ring_1d, slots(1, 512)), "late", [] {
      if (tl::member_index() == 0) {
        tl::delay(5'000);
        tl::send(tl::zeros({1024}, DType::f32), tl::ring_next());
      } else {
        tl::recv(DType::f32, {1024}, tl::ring_previous());
      }
    });
  });
  const LaunchResult& launch = result.launches.back();
  Time path, credit, message, delay;
  for (const PathPart& part : launch.critical_path) {
    path += part.time;
    if (part.activity == "delay") delay += part.time;
    EXPECT_NE(part.activity, "message") << "the path goes on at the sender";
  }
  EXPECT_GE(delay, Time::microseconds(4)) << "what the sender did";
  EXPECT_EQ(path, launch.end - launch.start);
  for (const WaitResult& wait : launch.waits) {
    if (wait.reason == "credit") credit += wait.time;
    if (wait.reason == "message") message += wait.time;
  }
  EXPECT_GT(credit, Time::nanoseconds(100));
  EXPECT_GT(message, Time::microseconds(4));
  for (const OperationResult& operation : launch.operations) {
    if (operation.engine != "ipcq") continue;
    EXPECT_LE(operation.bound, operation.work) << operation.operation;
  }
}

TEST(Queues, TimesAreTheSameWithoutDataAndInExactMode) {
  for (const BufferKind kind : {BufferKind::tcm, BufferKind::hbm, BufferKind::sram}) {
    const auto program = [&] {
      const torch::Tensor out = results(4, 300);
      torch::launch(with(4, QueueTopology::ring_1d, slots(2, 500, kind)), "ring", ring_sum, out, std::int64_t{300});
    };
    expect_equal_times(mesh(2, 2), program);
  }
}

}  // namespace
}  // namespace kernbench::queues_test
