#include "topology/overrides.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "topology/part_names.h"

namespace kernbench::topology {
namespace {

constexpr std::string_view kLinkKeys = "bandwidth, latency, buffer and failed";
constexpr std::string_view kPeKeys = "clock, gemm_array and vector_lanes";

std::string path_of(const PartOverride& change) {
  return "overrides." + change.part;
}

void apply(const PartOverride& change, Link& link) {
  link.spec.bandwidth = change.bandwidth.value_or(link.spec.bandwidth);
  link.spec.latency = change.latency.value_or(link.spec.latency);
  if (change.buffer) link.spec.buffer = change.buffer;
  link.failed = change.failed.value_or(link.failed);
}

/// The names of a machine's links and PEs.
class Names {
 public:
  explicit Names(const Network& network) {
    for (const Link& link : network.links()) {
      all_.push_back(link.name);
      if (link.part.kind == PartKind::pe_inject) pes_.push_back(kernbench::to_text(link.part.at));
    }
  }
  bool has_link(std::string_view pattern) const { return any(all_, pattern); }
  bool has_pe(std::string_view pattern) const { return any(pes_, pattern); }
  std::string explain(std::string_view pattern) const { return explain_unknown_part(pattern, all_); }

 private:
  static bool any(const auto& names, std::string_view pattern) {
    return std::ranges::any_of(names, [&](std::string_view name) { return fits(pattern, name); });
  }
  std::vector<std::string_view> all_;
  std::vector<std::string> pes_;
};

/// What is wrong with the name and the keys of one override; "" if nothing.
std::string wrong(const PartOverride& change, const Names& names) {
  const bool of_links = is_of_links(change), of_pes = is_of_pes(change);
  if (of_links && of_pes) {
    return fmt::format("{} are keys of links, {} are keys of PEs; a part is one or the other", kLinkKeys, kPeKeys);
  }
  const bool link = names.has_link(change.part), pe = names.has_pe(change.part);
  if (!link && !pe) return names.explain(change.part);
  if (!of_links && !of_pes) {
    return fmt::format("changes nothing; the keys here are {}", link ? kLinkKeys : kPeKeys);
  }
  if (of_links && !link) return fmt::format("this is a PE; its keys are {}", kPeKeys);
  if (of_pes && !pe) return fmt::format("this is a link; its keys are {}", kLinkKeys);
  return {};
}

/// What fails, and which override says so.
struct Failure {
  LinkId link;
  const PartOverride* by = nullptr;
};

std::vector<Failure> failures_of(const std::vector<PartOverride>& overrides, const std::vector<Link>& links) {
  std::vector<Failure> failures;
  for (std::uint32_t id = 0; id < links.size(); ++id) {
    const PartOverride* by = nullptr;
    for (const PartOverride& change : overrides) {
      if (change.failed && fits(change.part, links[id].name)) by = *change.failed ? &change : nullptr;
    }
    if (by != nullptr) failures.push_back({LinkId{id}, by});
  }
  return failures;
}

// The first two SIPs that cannot reach each other any more.
std::optional<std::pair<SipId, SipId>> cut_off(const SystemGraph& graph, std::int32_t sips) {
  for (std::int32_t sip = 1; sip < sips; ++sip) {
    if (!graph.reaches(SipId{0}, sip)) return std::pair(SipId{0}, SipId{sip});
  }
  return std::nullopt;
}

class FailureCheck {
 public:
  explicit FailureCheck(const Network& plain) : plain_(plain), sips_(plain.topology().system.sips) {}

  std::vector<Finding> take(const std::vector<Failure>& failures) {
    const PartOverride* between_sips = nullptr;
    SystemGraph graph = plain_.system();
    Detours::Links down;
    for (const Failure& failure : failures) {
      if (const auto hop = plain_.between_sips(failure.link)) {
        if (between_sips == nullptr) between_sips = failure.by;
        down.emplace_back(hop->from, hop->to);
      } else {
        within_sip(failure);
      }
    }
    if (between_sips == nullptr) return std::move(findings_);
    if (sips_ > Detours::kMostSips) {
      add(*between_sips, fmt::format("the system has {} SIPs; routes around failed links are possible among at most {}",
                                     sips_, Detours::kMostSips));
      return std::move(findings_);
    }
    graph.fail(down);
    if (const auto pair = cut_off(graph, sips_)) cut(*pair, graph, failures);
    return std::move(findings_);
  }

 private:
  void add(const PartOverride& by, std::string message) {
    const std::string path = path_of(by) + ".failed";
    // One finding for each override, however many links it names.
    if (std::ranges::find(findings_, path, &Finding::path) == findings_.end()) {
      findings_.push_back({path, std::move(message)});
    }
  }

  void within_sip(const Failure& failure) {
    const auto [from, to] = plain_.users_of(failure.link);
    add(*failure.by,
        fmt::format("without {}, {} cannot reach {}: only routes between SIPs can go another way; leave it "
                    "out, or give the link less bandwidth",
                    plain_.link(failure.link).name, to_text(from), to_text(to)));
  }

  // Names the first failed link from a SIP that is still reached to one that is not.
  void cut(std::pair<SipId, SipId> pair, const SystemGraph& graph, const std::vector<Failure>& failures) {
    for (const Failure& failure : failures) {
      const auto hop = plain_.between_sips(failure.link);
      if (!hop || graph.reaches(pair.first, hop->from) == graph.reaches(pair.first, hop->to)) continue;
      return add(
          *failure.by,
          fmt::format("without {}, {} cannot reach {}: no way around is left; leave it out, or wire the SIPs in "
                      "another way (system.sips.topology)",
                      plain_.link(failure.link).name, kernbench::to_text(pair.first), kernbench::to_text(pair.second)));
    }
  }
  const Network& plain_;
  std::int32_t sips_;
  std::vector<Finding> findings_;
};

}  // namespace

bool is_of_links(const PartOverride& change) {
  return change.bandwidth || change.latency || change.buffer || change.failed;
}

bool is_of_pes(const PartOverride& change) {
  return change.clock || change.gemm_array || change.vector_lanes;
}

std::vector<Finding> check_overrides(const Topology& topology) {
  if (topology.overrides.empty()) return {};
  Topology plain = topology;
  plain.overrides.clear();
  return check_overrides(topology.overrides, Network(plain));
}

std::vector<Finding> check_overrides(const std::vector<PartOverride>& overrides, const Network& plain) {
  std::vector<Finding> findings;
  const Names names(plain);
  for (const PartOverride& change : overrides) {
    if (std::string message = wrong(change, names); !message.empty()) {
      findings.push_back({path_of(change), std::move(message)});
    }
  }
  if (!findings.empty()) return findings;
  return FailureCheck(plain).take(failures_of(overrides, plain.links()));
}

void apply_overrides(const std::vector<PartOverride>& overrides, std::vector<Link>& links) {
  for (Link& link : links) {
    for (const PartOverride& change : overrides) {
      if (is_of_links(change) && fits(change.part, link.name)) apply(change, link);
    }
  }
}

}  // namespace kernbench::topology
