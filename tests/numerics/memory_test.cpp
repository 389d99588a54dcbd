#include "numerics/memory/memory.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <memory>
#include <set>

#include "kernbench/error.h"
#include "numerics/memory/kept.h"
#include "numerics/memory/region.h"
#include "numerics/memory/storage.h"
#include "support.h"
#include "support/sanitizers.h"

namespace kernbench::numerics {
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
  memory.write(0x1002, std::span(data).first(1), std::vector<std::uint8_t>{0});
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
  EXPECT_TRUE(view(executor, filled).sources.empty());
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
      switch (test::integer(random_, 0, 13)) {
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
        case 6:
        case 7:
          store_masked();
          break;
        case 8:
        case 9:
        case 10:
          modify();
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

  /// A boolean tile, some lanes of it invalid; for each lane 0 (false), 1 (true) or 2 (invalid).
  std::pair<Value, std::vector<int>> random_lanes(const Shape& shape) {
    std::vector<int> lanes;
    std::vector<std::byte> bytes;
    std::vector<std::uint8_t> validity;
    for (std::int64_t i = 0; i < shape.numel(); ++i) {
      lanes.push_back(static_cast<int>(random_() % 10 == 0 ? 2 : random_() % 3 == 0 ? 0 : 1));
      bytes.push_back(static_cast<std::byte>(lanes.back() == 1 || (lanes.back() == 2 && random_() % 2 == 0)));
      validity.push_back(lanes.back() != 2);
    }
    return {from_bytes(executor_, DType::boolean, shape, bytes, validity), lanes};
  }

  Expected random_halves(const Shape& shape) {
    Expected source;
    for (std::int64_t i = 0; i < 2 * shape.numel(); ++i) source.bytes.push_back(static_cast<std::byte>(random_()));
    source.validity = test::random_mask(random_, shape.numel());
    source.value = from_bytes(executor_, DType::f16, shape, source.bytes, source.validity);
    return source;
  }

  void store_masked() {
    const Tile tile = random_tile();
    const Shape shape{tile.rows, tile.columns};
    const Expected source = random_halves(shape);
    const auto [mask, lanes] = random_lanes(shape);
    for_each_byte(tile, [&, &kinds = lanes](std::uint64_t address, std::size_t element, std::size_t byte) {
      if (kinds[element] == 1) replay_.at(address) = {source.bytes[2 * element + byte], source.validity[element]};
      if (kinds[element] == 2) replay_.at(address).valid = 0;
    });
    scatter(executor_, {}, source.value, tile.pieces, mask);
  }

  struct Half {
    std::uint16_t bits;
    bool valid;
  };
  Half half_at(std::uint64_t address) {
    const ReplayByte low = replay_.at(address), high = replay_.at(address + 1);
    return {static_cast<std::uint16_t>(std::to_integer<int>(low.byte) | std::to_integer<int>(high.byte) << 8),
            low.valid != 0 && high.valid != 0};
  }
  void set_half(std::uint64_t address, std::uint16_t bits, bool valid) {
    replay_.at(address) = {static_cast<std::byte>(bits), static_cast<std::uint8_t>(valid)};
    replay_.at(address + 1) = {static_cast<std::byte>(bits >> 8), static_cast<std::uint8_t>(valid)};
  }

  static std::uint16_t combined(AtomicOperation operation, std::uint16_t old, std::uint16_t operand) {
    if (operation == AtomicOperation::exchange) return operand;
    const auto a = static_cast<float>(half::from_bits(old)), b = static_cast<float>(half::from_bits(operand));
    if (operation == AtomicOperation::add) {
      const float sum = a + b;
      return std::isnan(sum) ? std::uint16_t{0x7E00} : half(sum).bits;
    }
    const bool most = operation == AtomicOperation::maximum;
    if (std::isnan(b)) return half(a).bits;
    if (std::isnan(a)) return half(b).bits;
    if (a == b) return std::signbit(a) == most ? half(b).bits : half(a).bits;
    return half((a > b) == most ? a : b).bits;
  }

  /// An atomic operation on lanes that may name one element several times.
  void modify() {
    Tile tile = random_tile();
    for (Piece& piece : tile.pieces) piece.address -= piece.address % 2;
    if (tile.pieces.size() == 2 && random_() % 2 == 0) std::swap(tile.pieces[0], tile.pieces[1]);
    const Shape shape{tile.rows, tile.columns};
    const auto count = static_cast<std::size_t>(shape.numel());
    std::vector<std::uint64_t> places(count, 0);
    for_each_byte(tile, [&](std::uint64_t address, std::size_t element, std::size_t byte) {
      if (byte == 0) places[element] = address;
    });
    constexpr AtomicOperation kOperations[] = {AtomicOperation::add, AtomicOperation::maximum, AtomicOperation::minimum,
                                               AtomicOperation::exchange, AtomicOperation::compare_exchange};
    const AtomicOperation operation = kOperations[random_() % 5];
    const bool compares = operation == AtomicOperation::compare_exchange;
    const Expected operand = random_halves(shape);
    Expected compare = random_halves(shape);
    for (std::size_t i = 0; i < count; ++i) {
      if (places[i] == 0 || random_() % 3 == 0) continue;
      compare.bytes[2 * i] = replay_.at(places[i]).byte;
      compare.bytes[2 * i + 1] = replay_.at(places[i] + 1).byte;
    }
    compare.value = from_bytes(executor_, DType::f16, shape, compare.bytes, compare.validity);
    const bool masked = random_() % 2 == 0;
    const auto [mask, lanes] = random_lanes(shape);
    const auto bits_of = [](const Expected& tile_values, std::size_t i) {
      return static_cast<std::uint16_t>(std::to_integer<int>(tile_values.bytes[2 * i]) |
                                        std::to_integer<int>(tile_values.bytes[2 * i + 1]) << 8);
    };
    Expected result;
    result.bytes.resize(2 * count);
    result.validity.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
      const int lane = masked ? lanes[i] : 1;
      if (places[i] == 0 || lane == 0) continue;
      const Half old = half_at(places[i]);
      result.bytes[2 * i] = static_cast<std::byte>(old.bits);
      result.bytes[2 * i + 1] = static_cast<std::byte>(old.bits >> 8);
      if (lane == 2) {
        set_half(places[i], old.bits, false);
        continue;
      }
      result.validity[i] = old.valid;
      const bool equal = bits_of(compare, i) == old.bits;
      std::uint16_t bits = old.bits;
      bool valid = old.valid;
      if (compares) {
        if (equal) bits = bits_of(operand, i);
        valid = valid && compare.validity[i] != 0 && (!equal || operand.validity[i] != 0);
      } else {
        bits = combined(operation, old.bits, bits_of(operand, i));
        valid = operand.validity[i] != 0 && (valid || operation == AtomicOperation::exchange);
      }
      // Bytes of an element that is partly valid stay so when nothing changes.
      if (valid == old.valid) {
        replay_.at(places[i]).byte = static_cast<std::byte>(bits);
        replay_.at(places[i] + 1).byte = static_cast<std::byte>(bits >> 8);
      } else {
        set_half(places[i], bits, valid);
      }
    }
    result.value = atomic(executor_, {}, operation, tile.pieces, operand.value, compares ? compare.value : Value(),
                          masked ? mask : Value(), DType::f16, shape);
    if (random_() % 4 != 0) loaded_.push_back(std::move(result));  // else nobody looks at what was there
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
  for (std::uint64_t seed = 0; seed < (kThreadSanitizer ? 40 : kAddressSanitizer ? 30 : 150); ++seed) {
    for (const int threads : {1, 2, 4}) {
      RandomProgram(threads, seed).run();
      if (HasFatalFailure()) FAIL() << "seed " << seed << ", threads " << threads;
    }
  }
}

TEST(Atomic, EveryTypeAndOperationActsLaneByLane) {
  Random random(9);
  using enum AtomicOperation;
  const DType types[] = {DType::boolean, DType::u8,  DType::i8,   DType::i32, DType::i64,
                         DType::f8e4m3,  DType::f16, DType::bf16, DType::f32};
  for (int round = 0; round < 900; ++round) {
    const DType type = types[round % 9];
    const auto operation = static_cast<AtomicOperation>(round / 9 % 7);  // compare_exchange: by the random programs
    const bool on_bits = operation == bit_and || operation == bit_or || operation == bit_xor;
    if (on_bits && is_floating_point(type)) continue;
    Executor executor(1 + round % 2, true);
    Memory memory(executor);
    const std::int64_t item = item_size(type);
    memory.map(64, 8 * item);
    const std::vector<double> start = test::random_numbers(random, 8, 0, type == DType::boolean ? 1 : 120);
    const Value first = test::tile(executor, type, Shape{8}, start);
    const Piece whole{&memory, 64, 1, 8 * item, 8 * item, 0, 8};
    scatter(executor, {}, first, std::span(&whole, 1));
    std::vector<Piece> lanes;
    std::vector<std::size_t> targets;
    for (std::int64_t lane = 0; lane < 20; ++lane) {
      targets.push_back(random() % 8);
      lanes.push_back({&memory, 64 + targets.back() * static_cast<std::uint64_t>(item), 1, item, item, lane, 1});
    }
    std::ranges::shuffle(lanes, random);  // their order does not matter, that of the lanes does
    const Value operand = test::tile(executor, type, Shape{20}, test::random_numbers(random, 20, 0, 120));
    const Value old = atomic(executor, {}, operation, lanes, operand, {}, {}, type, Shape{20});
    const Value left = gather(executor, {}, type, Shape{8}, std::span(&whole, 1));
    // The interpreter: numbers, in the order of the lanes.
    const TileView operands = view(executor, operand), olds = view(executor, old), lefts = view(executor, left);
    std::vector<double> now = test::numbers(executor, first);
    for (std::int64_t lane = 0; lane < 20; ++lane) {
      double& element = now[targets[static_cast<std::size_t>(lane)]];
      ASSERT_EQ(olds.element(lane).as_double(), element) << name(type) << " " << static_cast<int>(operation);
      const double with = operands.element(lane).as_double();
      const auto a = static_cast<std::int64_t>(element), b = static_cast<std::int64_t>(with);
      const auto round_to_type = [&](double number) {
        std::byte bytes[8];
        if (is_floating_point(type))
          store_element(type, bytes, number);
        else
          store_element(type, bytes, static_cast<std::int64_t>(number));
        return load_element(type, bytes).as_double();
      };
      const double result = operation == add       ? element + with
                            : operation == maximum ? std::max(element, with)
                            : operation == minimum ? std::min(element, with)
                            : operation == bit_and ? static_cast<double>(a & b)
                            : operation == bit_or  ? static_cast<double>(a | b)
                            : operation == bit_xor ? static_cast<double>(a ^ b)
                                                   : with;
      element = round_to_type(result);
    }
    for (std::int64_t i = 0; i < 8; ++i) ASSERT_EQ(lefts.element(i).as_double(), now[static_cast<std::size_t>(i)]);
    ASSERT_TRUE(olds.all_valid() && lefts.all_valid());
  }
}

TEST(Atomic, AnElementInTwoMappingsOrInNoneIsAnError) {
  Executor executor(1, true);
  Memory memory(executor);
  memory.map(0, 6);
  memory.map(6, 6);
  const Value one = full(executor, Shape{1}, DType::i32, 1);
  const Piece astride{&memory, 4, 1, 4, 4, 0, 1}, outside{&memory, 100, 1, 4, 4, 0, 1};
  EXPECT_THROW(atomic(executor, {}, AtomicOperation::add, std::span(&astride, 1), one, {}, {}, DType::i32, Shape{1}),
               OutOfBoundsError);
  EXPECT_THROW(atomic(executor, {}, AtomicOperation::add, std::span(&outside, 1), one, {}, {}, DType::i32, Shape{1}),
               OutOfBoundsError);
}

TEST(Atomic, WithoutDataYieldsATypeAndAShape) {
  Executor executor(1, false);
  Memory memory(executor);
  memory.map(0, 64);
  const Piece piece{&memory, 0, 1, 16, 16, 0, 4};
  const Value one = full(executor, Shape{4}, DType::i32, 1);
  const Value old = atomic(executor, {}, AtomicOperation::add, std::span(&piece, 1), one, {}, {}, DType::i32, Shape{4});
  EXPECT_FALSE(old.has_data());
  EXPECT_EQ(old.dtype(), DType::i32);
  EXPECT_EQ(old.shape(), Shape{4});
}

// ---- replicas

constexpr std::int64_t kReplica = 32 * 1024;

/// A piece that fills a memory with columns of a tile of twice the width.
std::vector<Piece> replicas_of(std::deque<Memory>& memories, std::int64_t half) {
  std::vector<Piece> pieces;
  for (Memory& memory : memories) pieces.push_back({&memory, 0, 128, 256, 256, half * 256, 512});
  return pieces;
}

std::vector<std::byte> random_bytes(Random& random, std::int64_t count) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(count));
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(test::integer(random, 0, 255));
  return bytes;
}

TEST(Replicas, ShareTheirBytesUntilOneIsWritten) {
  Random random(7);
  Executor executor(1, true);
  std::deque<Memory> memories;
  for (int i = 0; i < 4; ++i) memories.emplace_back(executor).map(0, kReplica);
  const auto bytes = random_bytes(random, 2 * kReplica);
  const Value value = from_bytes(executor, DType::u8, Shape{128, 512}, bytes);
  scatter(executor, {}, value, replicas_of(memories, 0));
  for (Memory& memory : memories) {
    EXPECT_EQ(memory.read(256, 1).bytes[0], bytes[512]);
    EXPECT_TRUE(memory.shares_bytes(0));
  }
  const std::byte other[] = {std::byte{42}};
  memories[2].write(256, other);
  EXPECT_FALSE(memories[2].shares_bytes(0));
  EXPECT_EQ(memories[2].read(256, 1).bytes[0], std::byte{42});
  EXPECT_EQ(memories[2].read(512, 1).bytes[0], bytes[1024]) << "the rest is copied";
  for (const std::size_t i : {0u, 1u, 3u}) {
    EXPECT_TRUE(memories[i].shares_bytes(0));
    EXPECT_EQ(memories[i].read(256, 1).bytes[0], bytes[512]);
  }
  memories[0].unmap(0, kReplica);
  memories[1].unmap(0, kReplica);
  EXPECT_FALSE(memories[3].shares_bytes(0)) << "the last one";
}

TEST(KeptContents, OfWholeRangesShareTheirBytesUntilSomebodyWrites) {
  Random random(3);
  Executor executor(1, true);
  Memory memory(executor);
  memory.map(0, kReplica);
  memory.map(kReplica, kReplica);
  const auto bytes = random_bytes(random, kReplica);
  memory.write(0, bytes);
  const std::vector<Piece> pieces{{&memory, 0, 128, 256, 256, 0, 256}, {&memory, kReplica, 1, kReplica, 0, 0, 0}};
  auto kept = std::make_unique<KeptContents>(executor, OperationKey{}, pieces);
  executor.drain();
  EXPECT_TRUE(memory.shares_bytes(0));
  memory.write(0, random_bytes(random, 1000));
  memory.write(kReplica + 5, random_bytes(random, 1000));
  EXPECT_FALSE(memory.shares_bytes(0));
  kept->put_back({});
  EXPECT_EQ(memory.read(0, kReplica).bytes, bytes);
  EXPECT_EQ(memory.read(0, kReplica).validity, std::vector<std::uint8_t>());
  EXPECT_EQ(memory.read(kReplica, kReplica).validity, std::vector<std::uint8_t>(kReplica, 0));
  EXPECT_TRUE(memory.shares_bytes(0));
  kept.reset();
  EXPECT_FALSE(memory.shares_bytes(0));
  // What nobody can ask for any more is not kept.
  kept = std::make_unique<KeptContents>(executor, OperationKey{}, pieces);
  kept.reset();
  executor.drain();
  EXPECT_FALSE(memory.shares_bytes(0));
}

TEST(KeptContents, ArePutBackWithTheirValidityWhateverWasWrittenSince) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Random random(seed);
    Executor executor(seed % 2 == 0 ? 1 : 3, true);
    Memory memory(executor);
    constexpr std::int64_t kBytes = 4096;
    memory.map(0, kBytes / 2);
    memory.map(kBytes / 2, kBytes / 2);
    const auto write = [&] {
      const std::int64_t count = test::integer(random, 1, 300), at = test::integer(random, 0, kBytes - count);
      std::vector<std::uint8_t> validity(static_cast<std::size_t>(count));
      for (auto& each : validity) each = static_cast<std::uint8_t>(test::integer(random, 0, 4) > 0);
      const Value value = from_bytes(executor, DType::u8, Shape{count}, random_bytes(random, count), validity);
      scatter(executor, {}, value, std::vector<Piece>{{&memory, static_cast<std::uint64_t>(at), 1, count, 0, 0, 0}});
    };
    for (int i = 0; i < 5; ++i) write();
    const auto before = memory.read(0, kBytes);
    // Rows of 30 bytes, and the whole of the second range when the seed says so.
    std::vector<Piece> pieces{{&memory, 100, 20, 30, 70, 0, 30}};
    if (seed % 3 == 0) pieces.push_back({&memory, kBytes / 2, 1, kBytes / 2, 0, 0, 0});
    const KeptContents kept(executor, {}, pieces);
    for (int i = 0; i < 5; ++i) write();
    const auto after = memory.read(0, kBytes);
    kept.put_back({});
    const auto now = memory.read(0, kBytes);
    const auto valid = [](const Memory::Contents& contents, std::size_t i) {
      return contents.validity.empty() || contents.validity[i] == 1;
    };
    for (std::size_t i = 0; i < kBytes; ++i) {
      const bool in_rows = i >= 100 && i < 100 + 20 * 70 && (i - 100) % 70 < 30;
      const auto& wanted = in_rows || (seed % 3 == 0 && i >= kBytes / 2) ? before : after;
      ASSERT_EQ(now.bytes[i], wanted.bytes[i]) << seed << ", byte " << i;
      ASSERT_EQ(valid(now, i), valid(wanted, i)) << seed << ", byte " << i;
    }
  }
}

TEST(KeptContents, KnowWhatWasLeftOutAndLeaveUnmappedMemoryAlone) {
  Executor executor(1, true, true);
  Memory memory(executor);
  memory.map(0, 64);
  const Value ones = from_bytes(executor, DType::u8, Shape{64}, std::vector<std::byte>(64, std::byte{1}));
  const Value none = without_data(DType::f32, Shape{4});
  const std::vector<Piece> all{{&memory, 0, 1, 64, 0, 0, 0}}, some{{&memory, 16, 1, 16, 0, 0, 0}};
  const auto has_data = [&](std::uint64_t address) {
    return gather(executor, {}, DType::u8, Shape{16}, std::vector<Piece>{{&memory, address, 1, 16, 0, 0, 0}})
        .has_data();
  };
  scatter(executor, {}, ones, all);
  scatter(executor, {}, none, some);
  const KeptContents kept(executor, {}, all);
  scatter(executor, {}, ones, all);
  EXPECT_TRUE(has_data(16));
  kept.put_back({});
  EXPECT_TRUE(has_data(0));
  EXPECT_FALSE(has_data(16));
  EXPECT_TRUE(has_data(32));
  memory.unmap(0, 64);
  memory.map(0, 64);
  scatter(executor, {}, ones, all);
  kept.put_back({});
  EXPECT_EQ(memory.read(0, 64).bytes, std::vector<std::byte>(64, std::byte{1}));
}

TEST(Replicas, BehaveAsIfEachHadItsOwnBytes) {
  for (std::uint64_t seed = 0; seed < (kSanitized ? 8 : 30); ++seed) {
    Random random(seed);
    Executor executor(1 + static_cast<int>(seed % 4), true);
    std::deque<Memory> memories;
    std::vector<std::vector<std::byte>> model(4, std::vector<std::byte>(kReplica));
    for (int i = 0; i < 4; ++i) memories.emplace_back(executor).map(0, kReplica, true);
    std::vector<std::pair<Value, std::vector<std::byte>>> reads;
    std::uint64_t number = 0;
    const auto key = [&] { return OperationKey{static_cast<std::int64_t>(++number), 0, number}; };
    for (int step = 0; step < 60; ++step) {
      const auto memory = static_cast<std::size_t>(test::integer(random, 0, 3));
      const std::int64_t begin = test::integer(random, 0, kReplica - 1);
      const std::int64_t count = test::integer(random, 1, kReplica - begin);
      const Piece piece{&memories[memory], static_cast<std::uint64_t>(begin), 1, count, count, 0, count};
      switch (test::integer(random, 0, 4)) {
        case 0: {
          const std::int64_t half = test::integer(random, 0, 1);
          const auto bytes = random_bytes(random, 2 * kReplica);
          scatter(executor, key(), from_bytes(executor, DType::u8, Shape{128, 512}, bytes),
                  replicas_of(memories, half));
          for (auto& mine : model) {
            for (std::int64_t row = 0; row < 128; ++row) {
              std::copy_n(bytes.begin() + row * 512 + half * 256, 256, mine.begin() + row * 256);
            }
          }
          break;
        }
        case 1:
        case 2: {
          const auto bytes = random_bytes(random, count);
          scatter(executor, key(), from_bytes(executor, DType::u8, Shape{count}, bytes), {&piece, 1});
          std::ranges::copy(bytes, model[memory].begin() + begin);
          break;
        }
        default:
          reads.emplace_back(gather(executor, key(), DType::u8, Shape{count}, {&piece, 1}),
                             std::vector(model[memory].begin() + begin, model[memory].begin() + begin + count));
      }
    }
    for (const auto& [value, expected] : reads) {
      ASSERT_TRUE(std::ranges::equal(view(executor, value).bytes, expected)) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace kernbench::numerics
