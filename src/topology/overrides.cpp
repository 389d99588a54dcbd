#include "topology/overrides.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "base/text.h"

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
  explicit Names(const Network& network)
      : links_(names_of(network.links())),
        pe_texts_(pe_texts(network.links())),
        pes_({pe_texts_.begin(), pe_texts_.end()}) {}
  Names(const Names&) = delete;
  Names& operator=(const Names&) = delete;
  const PartNames& links() const { return links_; }
  const PartNames& pes() const { return pes_; }

 private:
  static std::vector<std::string> pe_texts(const std::vector<Link>& links) {
    std::vector<std::string> texts;
    for (const Link& link : links) {
      if (link.part.kind == PartKind::pe_inject) texts.push_back(kernbench::to_text(link.part.at));
    }
    return texts;
  }
  PartNames links_;
  std::vector<std::string> pe_texts_;
  PartNames pes_;
};

/// What is wrong with the name and the keys of one override; "" if nothing.
std::string wrong(const PartOverride& change, const Names& names) {
  const bool of_links = is_of_links(change), of_pes = is_of_pes(change);
  if (of_links && of_pes) {
    return fmt::format("{} are keys of links, {} are keys of PEs; a part is one or the other", kLinkKeys, kPeKeys);
  }
  const bool link = names.links().any_fits(change.part), pe = names.pes().any_fits(change.part);
  if (!link && !pe) return explain_unknown_part(change.part, names.links().names());
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

std::vector<Failure> failures_of(const std::vector<PartOverride>& overrides, const PartNames& links) {
  std::vector<const PartOverride*> by(links.names().size());
  for (const PartOverride& change : overrides) {
    if (!change.failed) continue;
    links.for_each(change.part, [&](std::size_t link) { by[link] = *change.failed ? &change : nullptr; });
  }
  std::vector<Failure> failures;
  for (std::uint32_t id = 0; id < by.size(); ++id) {
    if (by[id] != nullptr) failures.push_back({LinkId{id}, by[id]});
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

PartNames names_of(const std::vector<Link>& links) {
  std::vector<std::string_view> names;
  names.reserve(links.size());
  for (const Link& link : links) names.emplace_back(link.name);
  return PartNames(std::move(names));
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
  return FailureCheck(plain).take(failures_of(overrides, names.links()));
}

void apply_overrides(const std::vector<PartOverride>& overrides, std::vector<Link>& links) {
  if (std::ranges::none_of(overrides, is_of_links)) return;
  const PartNames names = names_of(links);
  for (const PartOverride& change : overrides) {
    if (is_of_links(change)) names.for_each(change.part, [&](std::size_t link) { apply(change, links[link]); });
  }
}

}  // namespace kernbench::topology
