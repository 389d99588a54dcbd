#include "base/interleaving.h"

#include <limits>

namespace kernbench {

std::uint32_t interleaved_part(std::uint64_t number, std::uint32_t parts) {
  if (parts <= 1) return 0;
  std::uint64_t sum = 0;
  for (; number != 0; number /= parts) sum += number % parts;
  return static_cast<std::uint32_t>(sum % parts);
}

PeCoordinate InterleavedRegion::slice(std::uint32_t index) const {
  const auto number = static_cast<std::int32_t>(index);
  return {first_.sip, CubeId{first_.cube.value + number / how_.pes}, PeId{first_.pe.value + number % how_.pes}};
}

SliceAddress InterleavedRegion::decode(std::uint64_t address) const {
  const std::uint64_t number = address / granule();
  const auto slices = static_cast<std::uint32_t>(how_.slices());
  return {slice(interleaved_part(number, slices)), number / slices * granule() + address % granule()};
}

std::uint64_t InterleavedRegion::encode(const SliceAddress& place) const {
  const auto slices = static_cast<std::uint32_t>(how_.slices());
  const std::uint64_t group = place.address / granule();
  const auto index = static_cast<std::uint32_t>((place.slice.cube.value - first_.cube.value) * how_.pes +
                                                place.slice.pe.value - first_.pe.value);
  // interleaved_part(group * n + digit) is the part of `group`, `digit` further on.
  const std::uint32_t digit = (index + slices - interleaved_part(group, slices)) % slices;
  return (group * slices + digit) * granule() + place.address % granule();
}

Bytes InterleavedRegion::share_of(Bytes bytes) const {
  const std::int64_t granule = how_.granule.count(), in_group = granule * how_.slices();
  const std::int64_t groups = bytes.count() / in_group + (bytes.count() % in_group != 0 ? 1 : 0);
  return Bytes(std::min(groups, std::numeric_limits<std::int64_t>::max() / granule) * granule);
}

}  // namespace kernbench
