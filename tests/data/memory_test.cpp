#include "data/memory.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <set>

#include "base/error.h"
#include "data/region.h"
#include "support.h"

namespace kernbench::data {
namespace {

using test::Random;

TEST(Rectangles, OverlapIsNeverMissedAndExactForOneStride) {
  Random random(1);
  const auto bytes_of = [](const Rectangle& where) {
    std::set<std::int64_t> bytes;
    for (std::int64_t r = 0; r < where.rows; ++r) {
      for (std::int64_t i = 0; i < where.row_bytes; ++i) bytes.insert(where.begin + r * where.stride + i);
    }
    return bytes;
  };
  for (int round = 0; round < 30'000; ++round) {
    const std::int64_t stride = test::integer(random, 1, 9);
    const bool same_stride = round % 2 == 0;
    const auto rectangle = [&]() -> Rectangle {
      const std::int64_t own = same_stride ? stride : test::integer(random, 0, 9);
      return {test::integer(random, 0, 40), test::integer(random, 1, 4),
              test::integer(random, 1, same_stride ? stride : 9), own};
    };
    const Rectangle a = rectangle(), b = rectangle();
    const auto bytes_a = bytes_of(a), bytes_b = bytes_of(b);
    const bool overlap = std::ranges::any_of(bytes_a, [&](std::int64_t byte) { return bytes_b.contains(byte); });
    if (overlap || same_stride) {
      ASSERT_EQ(may_overlap(a, b), overlap)
          << a.begin << ' ' << a.rows << ' ' << a.row_bytes << ' ' << a.stride << " / " << b.begin << ' ' << b.rows
          << ' ' << b.row_bytes << ' ' << b.stride;
    }
  }
}

TEST(Memory, FreshBytesAreInvalidUntilWritten) {
  Executor executor(1, true);
  Memory memory(executor);
  memory.map(0x1000, 64);
  EXPECT_EQ(memory.read(0x1000, 4).validity, std::vector<std::uint8_t>(4, 0));
  const std::byte data[] = {std::byte{1}, std::byte{2}};
  memory.write(0x1001, data);
  EXPECT_EQ(memory.read(0x1000, 4).validity, std::vector<std::uint8_t>({0, 1, 1, 0}));
  EXPECT_TRUE(memory.read(0x1001, 2).validity.empty());
  memory.invalidate(0x1002, 1);
  EXPECT_EQ(memory.read(0x1001, 2).validity, std::vector<std::uint8_t>({1, 0}));
  memory.unmap(0x1000, 64);
  EXPECT_FALSE(memory.mapped(0x1000, 1));
  memory.map(0x1000, 64);
  EXPECT_EQ(memory.read(0x1001, 1).validity, std::vector<std::uint8_t>({0}));
}

TEST(Memory, AnAccessOutsideIsAnErrorThatNamesTheAddress) {
  Executor executor(1, true);
  Memory memory(executor);
  memory.map(0x100, 64);
  const Piece piece{&memory, 0x13c, 1, 8, 8, 0, 2};
  try {
    gather(executor, {}, DType::f32, Shape{2}, std::span(&piece, 1));
    FAIL();
  } catch (const OutOfBoundsError& error) {
    EXPECT_NE(std::string(error.what()).find("0x140"), std::string::npos);
  }
  EXPECT_THROW(scatter(executor, {}, full(executor, Shape{2}, DType::f32, 0), std::span(&piece, 1)), OutOfBoundsError);
  EXPECT_TRUE(memory.mapped(0x100, 64));
  EXPECT_FALSE(memory.mapped(0x100, 65));
}

TEST(Memory, LanesThatNoPieceCoversAreOtherOrInvalid) {
  Executor executor(1, true);
  Memory memory(executor);
  memory.map(0, 64);
  memory.write(0, std::vector<std::byte>(64));
  const Piece piece{&memory, 0, 2, 4, 32, 0, 3};
  const Value filled = gather(executor, {}, DType::f16, Shape{2, 3}, std::span(&piece, 1), Scalar(-1.0));
  EXPECT_EQ(test::numbers(executor, filled), std::vector<double>({0, 0, -1, 0, 0, -1}));
  EXPECT_TRUE(view(executor, filled).validity.empty());
  const Value masked = gather(executor, {}, DType::f16, Shape{2, 3}, std::span(&piece, 1));
  EXPECT_EQ(test::validity(executor, masked), std::vector<std::uint8_t>({1, 1, 0, 1, 1, 0}));
}

TEST(Memory, PiecesMayCrossAdjacentRegions) {
  Executor executor(1, true);
  Memory memory(executor);
  memory.map(0, 10);
  memory.map(10, 20);
  std::vector<std::byte> data(30);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>(i);
  memory.write(0, data);
  EXPECT_EQ(memory.read(0, 30).bytes, data);
  const Piece piece{&memory, 1, 3, 6, 8, 0, 6};
  const Value value = gather(executor, {}, DType::boolean, Shape{3, 6}, std::span(&piece, 1));
  scatter(executor, {}, value, std::span(&piece, 1));
  EXPECT_EQ(memory.read(0, 30).bytes, data);
  EXPECT_TRUE(memory.read(0, 30).validity.empty());
  EXPECT_EQ(static_cast<int>(test::bytes(executor, value)[6]), 9);
}

TEST(Memory, AReadBindsToTheVersionAtItsSubmission) {
  for (const int threads : {1, 2}) {
    Executor executor(threads, true);
    Memory memory(executor);
    memory.map(0, 4);
    const Piece piece{&memory, 0, 1, 4, 4, 0, 1};
    std::vector<Value> read;
    for (int i = 0; i < 50; ++i) {
      scatter(executor, {}, full(executor, Shape{1}, DType::i32, i), std::span(&piece, 1));
      read.push_back(gather(executor, {}, DType::i32, Shape{1}, std::span(&piece, 1)));
    }
    memory.unmap(0, 4);
    memory.map(0, 4);
    memory.write(0, std::vector<std::byte>(4));
    for (int i = 49; i >= 0; --i) EXPECT_EQ(item(executor, read[static_cast<std::size_t>(i)]).value.as_integer(), i);
  }
}

TEST(Memory, ReadingWhatNobodyWritesHasNoDependencies) {
  Executor executor(1, true);
  Memory memory(executor);
  memory.map(0, 1024);
  memory.write(0, std::vector<std::byte>(1024));
  const Piece piece{&memory, 0, 1, 1024, 1024, 0, 256};
  // None of the reads before the last is run by forcing it.
  const Value first = gather(executor, {}, DType::f32, Shape{256}, std::span(&piece, 1));
  const Value second = gather(executor, {}, DType::f32, Shape{256}, std::span(&piece, 1));
  (void)view(executor, second);
  EXPECT_FALSE(Executor::finished(first.producer()));
}

// ---- random programs against a plain replay --------------------------------------------------------------------

constexpr std::int64_t kRegionBytes = 96;
constexpr std::uint64_t kRegionAddresses[] = {0x1000, 0x2000, 0x2000 + kRegionBytes};  // the last two touch

struct ReplayByte {
  std::byte byte{0};
  std::uint8_t valid = 0;
};

/// The same memory as a map of bytes, changed at once.
class Replay {
 public:
  void map(std::uint64_t address) {
    for (std::int64_t i = 0; i < kRegionBytes; ++i) bytes_[address + static_cast<std::uint64_t>(i)] = {};
  }
  ReplayByte& at(std::uint64_t address) { return bytes_.at(address); }

 private:
  std::map<std::uint64_t, ReplayByte> bytes_;
};

struct Expected {
  Value value;
  std::vector<std::byte> bytes;
  std::vector<std::uint8_t> validity;
};

class RandomProgram {
 public:
  RandomProgram(int threads, std::uint64_t seed) : executor_(threads, true), memory_(executor_), random_(seed) {
    for (const std::uint64_t address : kRegionAddresses) map(address);
  }

  void run() {
    for (int step = 0; step < 120; ++step) {
      switch (test::integer(random_, 0, 9)) {
        case 0:
          remap();
          break;
        case 1:
          host_write();
          break;
        case 2:
          host_read();
          break;
        case 3:
        case 4:
        case 5:
          load();
          break;
        default:
          store();
          break;
      }
    }
    for (const Expected& expected : loaded_) check(expected);
    for (const std::uint64_t address : kRegionAddresses) check_range(address, kRegionBytes);
    executor_.drain();
    ASSERT_EQ(executor_.first_error(), nullptr);
  }

 private:
  void map(std::uint64_t address) {
    memory_.map(address, kRegionBytes);
    replay_.map(address);
  }

  void remap() {
    const std::uint64_t address = kRegionAddresses[random_() % 3];
    memory_.unmap(address, kRegionBytes);
    map(address);
  }

  std::pair<std::uint64_t, std::int64_t> random_range() {
    const bool joined = random_() % 2 == 0;
    const std::int64_t size = joined ? 2 * kRegionBytes : kRegionBytes;
    const std::int64_t count = test::integer(random_, 1, size);
    const std::uint64_t base = joined ? kRegionAddresses[1] : kRegionAddresses[0];
    return {base + static_cast<std::uint64_t>(test::integer(random_, 0, size - count)), count};
  }

  void host_write() {
    const auto [address, count] = random_range();
    std::vector<std::byte> bytes;
    std::vector<std::uint8_t> validity;
    for (std::int64_t i = 0; i < count; ++i) {
      bytes.push_back(static_cast<std::byte>(random_()));
      validity.push_back(random_() % 8 != 0);
      replay_.at(address + static_cast<std::uint64_t>(i)) = {bytes.back(), validity.back()};
    }
    memory_.write(address, bytes, validity);
  }

  void host_read() {
    const auto [address, count] = random_range();
    check_range(address, count);
  }

  void check_range(std::uint64_t address, std::int64_t count) {
    const Memory::Contents contents = memory_.read(address, count);
    for (std::int64_t i = 0; i < count; ++i) {
      const ReplayByte& expected = replay_.at(address + static_cast<std::uint64_t>(i));
      ASSERT_EQ(contents.bytes[static_cast<std::size_t>(i)], expected.byte);
      ASSERT_EQ(contents.validity.empty() || contents.validity[static_cast<std::size_t>(i)] != 0, expected.valid != 0);
    }
  }

  /// Two-byte elements. A tile of rows x columns elements of which one or two pieces cover some rows.
  struct Tile {
    std::int64_t rows, columns;
    std::vector<Piece> pieces;
  };

  Tile random_tile() {
    Tile tile{test::integer(random_, 1, 5), test::integer(random_, 1, 6), {}};
    const std::int64_t cut = test::integer(random_, 0, tile.rows);
    const std::int64_t stride = 2 * tile.columns + 2 * test::integer(random_, 0, 4);
    for (const auto& [first, last] : {std::pair{std::int64_t{0}, cut}, std::pair{cut, tile.rows}}) {
      if (first == last || random_() % 8 == 0) continue;
      const bool joined = random_() % 2 == 0;
      const std::int64_t columns = test::integer(random_, 1, tile.columns);
      const std::int64_t extent = (last - first - 1) * stride + 2 * columns;
      const std::int64_t size = joined ? 2 * kRegionBytes : kRegionBytes;
      const std::uint64_t base = joined ? kRegionAddresses[1] : kRegionAddresses[0];
      const auto address = base + static_cast<std::uint64_t>(test::integer(random_, 0, size - extent));
      tile.pieces.push_back({&memory_, address, last - first, 2 * columns, stride, first * tile.columns, tile.columns});
    }
    return tile;
  }

  /// Calls visit(address, element, byte of the element) for each byte of each piece.
  template <class Visit>
  static void for_each_byte(const Tile& tile, const Visit& visit) {
    for (const Piece& piece : tile.pieces) {
      for (std::int64_t r = 0; r < piece.rows; ++r) {
        for (std::int64_t i = 0; i < piece.row_bytes; ++i) {
          visit(piece.address + static_cast<std::uint64_t>(r * piece.stride + i),
                static_cast<std::size_t>(piece.offset + r * piece.row_stride + i / 2), static_cast<std::size_t>(i % 2));
        }
      }
    }
  }

  void load() {
    const Tile tile = random_tile();
    std::optional<Scalar> other;
    if (random_() % 2 == 0) other = Scalar(1.0);
    Expected expected;
    const auto count = static_cast<std::size_t>(tile.rows * tile.columns);
    for (std::size_t i = 0; i < count; ++i) {
      expected.bytes.push_back(std::byte{0});
      expected.bytes.push_back(other ? std::byte{0x3C} : std::byte{0});
    }
    std::vector<std::uint8_t> covered(count), valid(count, 1);
    for_each_byte(tile, [&](std::uint64_t address, std::size_t element, std::size_t byte) {
      expected.bytes[2 * element + byte] = replay_.at(address).byte;
      covered[element] = 1;
      valid[element] &= replay_.at(address).valid;
    });
    for (std::size_t i = 0; i < count; ++i) expected.validity.push_back(covered[i] != 0 ? valid[i] : other.has_value());
    expected.value = gather(executor_, {}, DType::f16, Shape{tile.rows, tile.columns}, tile.pieces, other);
    loaded_.push_back(std::move(expected));
    if (loaded_.size() > 12) {
      check(loaded_.front());
      loaded_.pop_front();
    }
    if (random_() % 8 == 0) check(loaded_[random_() % loaded_.size()]);
  }

  /// Stores a tile loaded before (so that writes depend on reads), or a fresh one.
  void store() {
    const Tile tile = random_tile();
    const auto count = static_cast<std::size_t>(tile.rows * tile.columns);
    Expected source;
    for (const Expected& candidate : loaded_) {
      if (candidate.value.shape() == Shape{tile.rows, tile.columns}) source = candidate;
    }
    if (!source.value.defined()) {
      for (std::size_t i = 0; i < 2 * count; ++i) source.bytes.push_back(static_cast<std::byte>(random_()));
      source.validity = random_() % 2 == 0 ? test::random_mask(random_, static_cast<std::int64_t>(count))
                                           : std::vector<std::uint8_t>(count, 1);
      source.value = from_bytes(executor_, DType::f16, Shape{tile.rows, tile.columns}, source.bytes, source.validity);
    }
    for_each_byte(tile, [&](std::uint64_t address, std::size_t element, std::size_t byte) {
      replay_.at(address) = {source.bytes[2 * element + byte], source.validity[element]};
    });
    scatter(executor_, {}, source.value, tile.pieces);
  }

  void check(const Expected& expected) {
    ASSERT_EQ(test::bytes(executor_, expected.value), expected.bytes);
    ASSERT_EQ(test::validity(executor_, expected.value), expected.validity);
  }

  Executor executor_;
  Memory memory_;
  Replay replay_;
  Random random_;
  std::deque<Expected> loaded_;
};

TEST(Memory, RandomProgramsReadWhatAPlainReplayReads) {
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    for (const int threads : {1, 2, 4}) {
      RandomProgram(threads, seed).run();
      if (HasFatalFailure()) FAIL() << "seed " << seed << ", threads " << threads;
    }
  }
}

}  // namespace
}  // namespace kernbench::data
