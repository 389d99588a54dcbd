// What a burst asks of the channels of a memory, in closed form and access by access.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "hardware/fabric/bursts.h"
#include "hardware/fabric/channels.h"

namespace kernbench::hardware::fabric {

namespace {

using LoadOfChannels = std::map<std::size_t, std::pair<std::int64_t, std::int64_t>>;

LoadOfChannels shares_of(const Load& load) {
  LoadOfChannels shares;
  load.for_each(
      [&](std::size_t channel, const Load::Share& share) { shares[channel] = {share.bytes, share.occupied}; });
  return shares;
}

TEST(FabricLoad, OfManyAccessesIsTheSumOfEach) {
  std::mt19937 random(1);
  const auto below = [&](std::uint32_t bound) { return static_cast<std::int64_t>(random() % bound); };
  for (int round = 0; round < 20000; ++round) {
    const auto group = static_cast<std::uint32_t>(1 + below(round % 2 == 0 ? 9 : 70));
    const std::int64_t granule = round % 3 == 0 ? 48 * (1 + below(4)) : std::int64_t{64} << below(3);
    const std::int64_t bytes = 1 + below(static_cast<std::uint32_t>(granule));
    const bool whole = below(2) == 0;
    const Accesses all{static_cast<std::uint64_t>(below(1 << 16)) * (whole ? static_cast<std::uint64_t>(granule) : 1),
                       0, whole ? granule : bytes, 1 + below(200), whole ? granule : below(300)};
    ServerSpec spec;
    spec.bandwidth = Bandwidth::bytes_per_second(1'000'000'000);
    spec.minimum = Bytes(below(100));
    const std::vector<Channel> channels(group, Channel(spec));
    const ChannelSelector channel_of(Bytes(granule), group);

    Load together, each;
    together.reset(group);
    together.add(all, all.address, channel_of, channels);
    each.reset(group);
    for (std::int64_t i = 0; i < all.count; ++i) {
      const std::uint64_t address = all.address + static_cast<std::uint64_t>(i * all.stride);
      each.add(interleave(address, Bytes(granule), group), all.bytes, spec.minimum.count(), 1);
    }
    ASSERT_EQ(shares_of(together), shares_of(each)) << "round " << round;
    ASSERT_EQ(together.first(), each.first()) << "round " << round;
  }
}

}  // namespace

}  // namespace kernbench::hardware::fabric
