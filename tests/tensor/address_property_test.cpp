// Where bytes of device tensors lie: random machines, tensors that come and go, every reader, every byte. What must be
// is worked out from the words of Placement (plain_placement.h); resolve_dp_policy is not asked.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "addressing/locate.h"
#include "kernbench/error.h"
#include "plain_placement.h"
#include "support/sanitizers.h"
#include "tensor/placement/device_memory.h"

namespace kernbench::tensor {
namespace {

using Extents = std::vector<std::int64_t>;
using Boxes = std::map<std::pair<CubeId, PeId>, testing::PlainBox>;

struct Live {
  std::shared_ptr<const DeviceAllocation> allocation;
  Boxes boxes;
  int number;  // of all that were ever made
};

std::int64_t product(const Extents& extents) {
  std::int64_t result = 1;
  for (const std::int64_t extent : extents) result *= extent;
  return result;
}

Extents index_of(std::int64_t element, const Extents& shape) {
  Extents index(shape.size());
  for (std::size_t i = shape.size(); i-- > 0;) {
    index[i] = element % shape[i];
    element /= shape[i];
  }
  return index;
}

/// Place of an element in a box, counted along its rows; nothing when it is elsewhere.
std::optional<std::int64_t> place_in(const testing::PlainBox& box, const Extents& index) {
  std::int64_t place = 0;
  for (std::size_t i = 0; i < index.size(); ++i) {
    const std::int64_t inside = index[i] - box.offset[i];
    if (inside < 0 || inside >= box.shape[i]) return std::nullopt;
    place = place * box.shape[i] + inside;
  }
  return place;
}

/// A random machine, and what lives in its memory.
class RandomMemory {
 public:
  explicit RandomMemory(std::uint32_t seed) : random_(seed) {
    topology_.system.sips = pick(1, 2);
    topology_.sip.cubes = {pick(1, 3), pick(1, 2)};
    topology_.cube.pes = {pick(1, 3), pick(1, 2)};
    topology_.pe.mmu.page = Bytes(std::int64_t{64} << pick(0, 3));
    topology_.cube.hbm.capacity = Bytes(topology_.cube.pes.count() * std::int64_t{pick(3, 20)} * 512);
    addresses_.emplace(topology_.pe.mmu.page);
    memory_.emplace(topology_, *addresses_);
  }

  void allocate() {
    Extents shape;
    for (int rank = pick(0, 4); rank > 0; --rank) shape.push_back(std::array{0, 1, 2, 3, 4, 5, 7}[random_() % 7]);
    const DPPolicy policy{.cube = static_cast<Placement>(pick(0, 5)),
                          .pe = static_cast<Placement>(pick(0, 5)),
                          .num_cubes = pick(0, cubes()),
                          .num_pes = pick(0, pes())};
    const DType dtype = std::array{DType::u8, DType::f16, DType::f32, DType::i64}[random_() % 4];
    if (product(shape) > 200) return;
    try {
      const SipId sip{pick(0, topology_.system.sips - 1)};
      live_.push_back({memory_->allocate(sip, "t", dtype, shape, policy),
                       testing::plain_boxes(policy, shape, cubes(), pes(), static_cast<int>(item_size(dtype))),
                       made_++});
      take(live_.back());
    } catch (const OutOfMemoryError&) {
      ++refused_;
    }
  }
  void free() {
    if (live_.empty()) return;
    std::swap(live_[random_() % live_.size()], live_.back());
    const auto& descriptor = *live_.back().allocation->descriptor();
    for (std::size_t i = 0; i < descriptor.shards.size(); ++i)
      taken_.erase({descriptor.shards[i].owner, live_.back().allocation->addresses()[i]});
    live_.pop_back();
  }
  void step() { random_() % 5 < 3 ? allocate() : free(); }

  /// Every byte of every tensor, for every PE of its SIP.
  void check_every_byte() {
    for (const Live& tensor : live_) {
      const SipId sip = sip_of(tensor);
      for (int cube = 0; cube < cubes(); ++cube)
        for (int pe = 0; pe < pes(); ++pe) check_reader(tensor, {sip, CubeId{cube}, PeId{pe}});
      check_shards(tensor);
    }
  }
  void free_all() {
    while (!live_.empty()) free();
    EXPECT_EQ(addresses_->live_ranges(), 0u);
    for (int sip = 0; sip < topology_.system.sips; ++sip) EXPECT_EQ(memory_->least_free_bytes(SipId{sip}), capacity());
  }
  std::size_t checked() const { return checked_; }
  int refused() const { return refused_; }

 private:
  int pick(int low, int high) { return low + static_cast<int>(random_() % static_cast<std::uint32_t>(high - low + 1)); }
  int cubes() const { return topology_.sip.cubes.count(); }
  int pes() const { return topology_.cube.pes.count(); }
  Bytes capacity() const { return memory_->usable_slice_capacity(); }
  static SipId sip_of(const Live& tensor) {
    const auto& shards = tensor.allocation->descriptor()->shards;
    return shards.empty() ? SipId{0} : shards.front().owner.sip;
  }

  /// Its bytes belong to nobody else, and lie in the slices of those who must hold them.
  void take(const Live& tensor) {
    const auto& descriptor = *tensor.allocation->descriptor();
    ASSERT_EQ(descriptor.shards.size(), tensor.boxes.size());
    std::size_t i = 0;
    for (const auto& [at, box] : tensor.boxes) {
      const PeCoordinate owner{descriptor.shards[i].owner.sip, at.first, at.second};
      ASSERT_EQ(descriptor.shards[i].owner, owner);
      const std::int64_t bytes = product(box.shape) * item_size(descriptor.dtype);
      const auto begin = static_cast<std::int64_t>(tensor.allocation->addresses()[i]);
      EXPECT_LE(begin + bytes, capacity().count());
      const auto next = taken_.lower_bound({owner, static_cast<std::uint64_t>(begin)});
      if (next != taken_.end() && next->first.first == owner) {
        EXPECT_LE(begin + bytes, static_cast<std::int64_t>(next->first.second));
      }
      if (next != taken_.begin() && std::prev(next)->first.first == owner) {
        EXPECT_LE(static_cast<std::int64_t>(std::prev(next)->first.second) + std::prev(next)->second, begin);
      }
      taken_[{owner, static_cast<std::uint64_t>(begin)}] = bytes;
      ++i;
    }
  }

  /// Who must serve `reader`: itself, else the first of its cube, else the first of all that hold the element.
  static PeCoordinate server_of(const Boxes& boxes, const Extents& index, PeCoordinate reader) {
    std::optional<std::pair<CubeId, PeId>> first, near;
    for (const auto& [at, box] : boxes) {
      if (!place_in(box, index)) continue;
      if (at == std::pair(reader.cube, reader.pe)) return reader;
      if (!first) first = at;
      if (!near && at.first == reader.cube) near = at;
    }
    const auto& [cube, pe] = near ? *near : first.value();
    return {reader.sip, cube, pe};
  }

  void check_reader(const Live& tensor, PeCoordinate reader) {
    const auto& descriptor = *tensor.allocation->descriptor();
    const std::int64_t item = item_size(descriptor.dtype);
    const Extents one(descriptor.shape.size(), 1);
    for (std::int64_t element = 0; element < descriptor.numel(); ++element) {
      const Extents index = index_of(element, descriptor.shape);
      const PeCoordinate server = server_of(tensor.boxes, index, reader);
      const auto shard = tensor.boxes.find({server.cube, server.pe});
      const auto base =
          tensor.allocation->addresses()[static_cast<std::size_t>(std::distance(tensor.boxes.begin(), shard))];
      const auto place = static_cast<std::uint64_t>(place_in(shard->second, index).value() * item);
      const auto located = addressing::locate_box(descriptor, index, one, reader);
      ASSERT_EQ(located.size(), 1u);
      ASSERT_EQ(located[0].row_bytes, item);
      for (std::int64_t byte = 0; byte < item; ++byte) {
        const auto ahead = static_cast<std::uint64_t>(byte);
        const auto at = addresses_->translate(reader, located[0].va + ahead, Bytes(1));
        ASSERT_EQ(at.slice, server);
        ASSERT_EQ(at.address, base + place + ahead);
        // A physical byte is one and the same byte of one and the same tensor, whoever reads.
        const std::pair who(tensor.number, element * item + byte);
        ASSERT_EQ(bytes_.try_emplace({at.slice, at.address}, who).first->second, who);
        ++checked_;
      }
    }
  }

  /// An access that runs out of a shard is an error, whatever follows it.
  void check_shards(const Live& tensor) {
    const auto& descriptor = *tensor.allocation->descriptor();
    for (std::size_t i = 0; i < descriptor.shards.size(); ++i) {
      const auto last =
          descriptor.shards[i].va + static_cast<std::uint64_t>(tensor.allocation->shard_bytes(i).count()) - 1;
      EXPECT_NO_THROW(addresses_->translate(descriptor.shards[i].owner, last, Bytes(1)));
      EXPECT_THROW(addresses_->translate(descriptor.shards[i].owner, last, Bytes(2)), OutOfBoundsError);
    }
  }

  std::mt19937 random_;
  topology::Topology topology_;
  std::optional<addressing::VirtualAddressSpace> addresses_;
  std::optional<DeviceMemory> memory_;
  std::vector<Live> live_;
  std::map<std::pair<PeCoordinate, std::uint64_t>, std::int64_t> taken_;  // bytes from there
  std::map<std::pair<PeCoordinate, std::uint64_t>, std::pair<int, std::int64_t>> bytes_;
  std::size_t checked_ = 0;
  int made_ = 0, refused_ = 0;
};

TEST(Addresses, EveryPeFindsEveryByteWhereThePolicyPutsIt) {
  std::size_t checked = 0;
  int refused = 0;
  constexpr std::uint32_t kSeeds = kSanitized ? 40 : 200;
  for (std::uint32_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomMemory memory(seed);
    for (int step = 0; step < 40; ++step) memory.step();
    memory.check_every_byte();
    memory.free_all();
    checked += memory.checked();
    refused += memory.refused();
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(checked, kSeeds * 2'500u);
  EXPECT_GT(refused, static_cast<int>(kSeeds / 8));
}

}  // namespace
}  // namespace kernbench::tensor
