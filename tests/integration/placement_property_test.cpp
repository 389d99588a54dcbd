// Placement through the whole stack: the host writes random bytes under one policy, every PE reads all of them in
// random boxes and stores them under other policies, the host reads them back.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "kernbench/placement.h"
#include "programs.h"
#include "support/all_cases.h"
#include "support/sanitizers.h"

namespace kernbench {
namespace {

using testing::tiny;

struct Machine {
  int sips, cube_columns, cube_rows, pe_columns, pe_rows;
  int cubes() const { return cube_columns * cube_rows; }
  int pes() const { return pe_columns * pe_rows; }
};

tl::Extents extents(const std::vector<std::int64_t>& values) {
  return tl::Extents(std::span<const std::int64_t>(values));
}

class Case {
 public:
  explicit Case(std::uint32_t seed, bool interleaved = false) : random_(seed), seed_(seed), interleaved_(interleaved) {
    machine_ = {pick(1, 2), pick(1, 3), pick(1, 2), pick(1, 3), pick(1, 2)};
    device_ = pick(0, machine_.sips - 1);
    for (int rank = pick(0, 4); rank > 0; --rank) {
      const std::int64_t extent = std::array{0, 1, 2, 3, 5, 7, 8, 13, 31, 64}[pick(0, 9)];
      if (numel() * extent <= 4000) shape_.push_back(extent);
    }
    dtype_ = std::array{DType::u8, DType::i8, DType::f16, DType::bf16, DType::f32, DType::i32, DType::i64}[pick(0, 6)];
    policy_ = {.cube = static_cast<Placement>(seed % 5), .pe = static_cast<Placement>(seed / 5 % 5)};
    choose_counts(policy_);
    if (interleaved_) interleave(policy_);
    choose_blocks();
  }

  SimulateOptions options() const {
    return tiny({"system.sips.count=" + std::to_string(machine_.sips),
                 "sip.cubes.mesh=" + mesh(machine_.cube_columns, machine_.cube_rows),
                 "cube.pes.mesh=" + mesh(machine_.pe_columns, machine_.pe_rows), "cube.hbm.channels=24"});
  }

  void run() {
    torch::ahbm::set_device(device_);
    const torch::Tensor host = random_bytes();
    const auto on_device = torch::dtype(dtype_).device("ahbm");
    const auto x = host.to(on_device.placement(policy_).name("x"));
    auto paged = shape_;
    paged.insert(paged.begin(), machine_.cubes() * machine_.pes());
    auto seen = torch::zeros(paged, on_device.placement(any_policy(1)).name("seen"));
    auto copy = torch::zeros(shape_, on_device.placement(any_policy(0)).name("copy"));
    torch::launch(
        all_pes(), "read_and_store",
        [this](tl::In from, tl::Tensor pages, tl::Tensor to) {
          check_local_shard(from);
          read_and_store(from, pages, to);
        },
        x, seen, copy);
    expect_bytes(x.cpu(), host, "x");
    expect_bytes(copy.cpu(), host, "copy");
    const auto pages = seen.cpu();
    for (std::int64_t pe = 0; pe < pages.size(0); ++pe)
      expect_bytes(pages[pe], host, ("PE " + std::to_string(pe)).c_str());
  }

 private:
  int pick(int low, int high) { return low + static_cast<int>(random_() % static_cast<std::uint32_t>(high - low + 1)); }
  static std::string mesh(int columns, int rows) {
    return "[" + std::to_string(columns) + ", " + std::to_string(rows) + "]";
  }
  std::int64_t numel() const {
    std::int64_t product = 1;
    for (const std::int64_t extent : shape_) product *= extent;
    return product;
  }
  void choose_counts(DPPolicy& policy) {
    policy.num_cubes = pick(0, machine_.cubes());
    policy.num_pes = pick(0, machine_.pes());
  }
  /// From `first` on: 1 leaves out replicas, which only their owners can write.
  DPPolicy any_policy(int first) {
    DPPolicy policy{.cube = static_cast<Placement>(pick(first, 4)), .pe = static_cast<Placement>(pick(first, 4))};
    choose_counts(policy);
    if (interleaved_ && pick(0, 1) == 0) interleave(policy);
    return policy;
  }
  /// Over the slices of each cube, or of the SIP.
  void interleave(DPPolicy& policy) {
    policy.pe = Placement::interleaved;
    if (pick(0, 1) == 0) policy.cube = Placement::interleaved;
    policy.granule = std::array{Bytes(0), Bytes(64), Bytes(64), Bytes(128), Bytes(512), Bytes(1024)}[pick(0, 5)];
  }
  torch::LaunchOptions all_pes() const {
    torch::LaunchOptions options;
    for (int cube = 0; cube < machine_.cubes(); ++cube)
      for (int pe = 0; pe < machine_.pes(); ++pe) options.pes.emplace_back(CubeId{cube}, PeId{pe});
    return options;
  }

  torch::Tensor random_bytes() {
    auto host = torch::zeros(shape_, torch::dtype(dtype_));
    auto* bytes = static_cast<unsigned char*>(host.data_ptr());
    for (std::int64_t i = 0; i < numel() * item_size(dtype_); ++i) bytes[i] = static_cast<unsigned char>(random_());
    return host;
  }
  void expect_bytes(const torch::Tensor& actual, const torch::Tensor& expected, const char* what) const {
    const auto dense = actual.contiguous();
    ASSERT_EQ(dense.sizes(), expected.sizes()) << what;
    if (numel() == 0) return;
    EXPECT_EQ(std::memcmp(dense.data_ptr(), expected.data_ptr(), static_cast<std::size_t>(numel() * item_size(dtype_))),
              0)
        << what;
  }

  /// A grid of at most 12 blocks covers the tensor; the last ones may reach past its end.
  void choose_blocks() {
    std::int64_t blocks = 1;
    for (const std::int64_t extent : shape_) {
      const std::int64_t most = std::clamp<std::int64_t>(12 / blocks, 1, 4);
      const std::int64_t parts =
          std::min<std::int64_t>(pick(1, static_cast<int>(most)), std::max<std::int64_t>(extent, 1));
      block_.push_back(std::max<std::int64_t>((extent + parts - 1) / parts, 1));
      blocks *= parts;
    }
    if (numel() == 0) return;
    corners_ = {{}};
    for (std::size_t i = 0; i < shape_.size(); ++i) {
      std::vector<std::vector<std::int64_t>> longer;
      for (const auto& corner : corners_)
        for (std::int64_t at = 0; at < shape_[i]; at += block_[i]) {
          longer.push_back(corner);
          longer.back().push_back(at);
        }
      corners_ = std::move(longer);
    }
  }

  /// The kernel's own view of what lies here is that of resolve_dp_policy.
  void check_local_shard(const tl::Tensor& x) const {
    std::size_t found = 0;
    for (const ShardSpec& spec :
         resolve_dp_policy(policy_, shape_, item_size(dtype_), machine_.pes(), machine_.cubes(), SipId{device_})) {
      if (spec.sip.value != tl::device_id() || spec.cube.value != tl::cube_id() || spec.pe.value != tl::pe_id())
        continue;
      ASSERT_LT(found, x.local_shard_count());
      EXPECT_EQ(x.local_shard(found).offset, extents(spec.offset));
      EXPECT_EQ(x.local_shard(found).shape, extents(spec.shape));
      ++found;
    }
    EXPECT_EQ(x.local_shard_count(), found);
  }

  /// Part of the block that lies in the tensor.
  std::vector<std::int64_t> inside(const std::vector<std::int64_t>& corner) const {
    auto shape = block_;
    for (std::size_t i = 0; i < shape.size(); ++i) shape[i] = std::min(shape[i], shape_[i] - corner[i]);
    return shape;
  }

  void read_and_store(const tl::Tensor& x, const tl::Tensor& pages, const tl::Tensor& copy) const {
    const std::int64_t me = tl::program_id();
    std::mt19937 random(seed_ * 1000 + static_cast<std::uint32_t>(me));
    auto corners = corners_;
    for (std::size_t i = corners.size(); i > 1; --i) std::swap(corners[i - 1], corners[random() % i]);
    for (const auto& corner : corners) {
      const bool strided = random() % 2 == 0;
      auto shape = strided ? inside(corner) : block_;
      const auto tile = strided ? load_strided(x, corner, shape) : tl::load(x, extents(corner), extents(block_));
      tl::store(copy, extents(corner), tile);
      auto page_corner = corner;
      page_corner.insert(page_corner.begin(), me);
      shape.insert(shape.begin(), 1);
      tl::store(pages, extents(page_corner), tl::reshape(tile, extents(shape)));
    }
  }

  /// Through pointer + offset, where a block does not know the tensor's shape.
  tl::Tile load_strided(const tl::Tensor& x, const std::vector<std::int64_t>& corner,
                        const std::vector<std::int64_t>& shape) const {
    std::vector<std::int64_t> strides(shape_.size());
    std::int64_t stride = 1, first = 0;
    for (std::size_t i = shape_.size(); i-- > 0;) {
      strides[i] = stride;
      first += corner[i] * stride;
      stride *= shape_[i];
    }
    return tl::load(x.data_ptr() + first, extents(shape), extents(strides));
  }

  std::mt19937 random_;
  std::uint32_t seed_;
  bool interleaved_;
  Machine machine_{};
  int device_ = 0;
  std::vector<std::int64_t> shape_, block_;
  std::vector<std::vector<std::int64_t>> corners_;
  DType dtype_ = DType::f32;
  DPPolicy policy_;
};

TEST(PlacementProperties, InterleavedTensorsHoldWhatWasWritten) {
  const std::uint32_t cases = kSanitized ? 12 : 400;
  for (std::uint32_t seed = 0; seed < cases; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Case random(seed, true);
    simulate(random.options(), [&] { random.run(); });
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(PlacementProperties, EveryPeReadsWhatTheHostWroteAndTheHostWhatThePesStored) {
  const auto cases = static_cast<std::uint32_t>(number_of_cases(600, 250, 20));
  for (std::uint32_t seed = 0; seed < cases; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Case random(seed);
    simulate(random.options(), [&] { random.run(); });
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace kernbench
