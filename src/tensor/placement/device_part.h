// The part of a device on which a worker's tensors are allocated: a SIP, or one PE of it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/interleaving.h"
#include "base/name.h"
#include "kernbench/coordinates.h"
#include "kernbench/placement.h"
#include "topology/spec.h"

namespace kernbench::tensor {

/// A SIP, or one PE of it: what a rank of a process group has for itself.
class DevicePart {
 public:
  // Implicit: a SIP and a PE are parts of the machine.
  constexpr DevicePart(SipId sip) : first_{sip, CubeId{0}, PeId{0}}, is_pe_(false) {}  // NOLINT(*-explicit-*)
  constexpr DevicePart(PeCoordinate pe) : first_(pe), is_pe_(true) {}                  // NOLINT(*-explicit-*)

  SipId sip() const { return first_.sip; }
  /// Nothing for a whole SIP.
  std::optional<PeCoordinate> pe() const { return is_pe_ ? std::optional(first_) : std::nullopt; }
  /// Cube by cube, PE by PE.
  std::vector<PeCoordinate> pes(const topology::Topology& topology) const;
  /// Whether the predicate holds of any of them; asked in the same order.
  template <class Predicate>
  bool any_pe(const topology::Topology& topology, const Predicate& predicate) const {
    if (is_pe_) return predicate(first_);
    for (std::int32_t cube = 0; cube < topology.sip.cubes.count(); ++cube) {
      for (std::int32_t pe = 0; pe < topology.cube.pes.count(); ++pe) {
        if (predicate(PeCoordinate{first_.sip, CubeId{cube}, PeId{pe}})) return true;
      }
    }
    return false;
  }
  /// The PE here that stands for `other` of another part: the same one of its SIP, or the only one.
  PeCoordinate counterpart(PeCoordinate other) const;
  friend Name to_name(const DevicePart& part);
  /// "ahbm:1" or "sip0.cube2.pe5"
  std::string name() const;
  constexpr auto operator<=>(const DevicePart&) const = default;

 private:
  PeCoordinate first_;
  bool is_pe_;
};

/// The shards of a tensor on a part (resolve_dp_policy): a PE is a machine of one cube with one PE. ValueError when the
/// policy names more than there are.
std::vector<ShardSpec> shards_on(const DevicePart& part, const DPPolicy& policy, std::span<const std::int64_t> shape,
                                 std::int64_t itemsize, const topology::Topology& topology);

/// How a policy interleaves on a part; nothing when it does not. ValueError for a granule that cannot be one.
std::optional<Interleaving> interleaving_on(const DevicePart& part, const DPPolicy& policy,
                                            const topology::Topology& topology);

/// The arrays of an interleaved tensor: one box, or one for each cube that has a part. Their PE is the first of those
/// whose slices an array is spread over. ValueError as for shards_on.
std::vector<ShardSpec> arrays_on(const DevicePart& part, const DPPolicy& policy, std::span<const std::int64_t> shape,
                                 std::int64_t itemsize, const topology::Topology& topology);

}  // namespace kernbench::tensor
