// What the time of ranges consists of: the ranges within them and a rest, computation and communication.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "report/sections/sections.h"
#include "report/text/format.h"

namespace kernbench::report {
namespace {

constexpr std::size_t kMostWithin = 24;  // ranges within one; the others as one row
constexpr std::size_t kWidestName = 26;

/// What ranges consist of, added up.
struct Parts {
  std::int64_t count = 0;
  Time time, computing, communicating, overlapping;
  double flops = 0, hbm_bytes = 0;

  static Parts of(const RangeResult& range) {
    return {range.count,
            range.complete,
            range.computing,
            range.communicating,
            range.overlapping,
            range.flops,
            static_cast<double>(range.hbm_bytes.count())};
  }
  Parts& operator+=(const Parts& more) {
    count += more.count;
    time += more.time;
    computing += more.computing;
    communicating += more.communicating;
    overlapping += more.overlapping;
    flops += more.flops;
    hbm_bytes += more.hbm_bytes;
    return *this;
  }
  /// Without what the ranges within it have. Those that overlap have more than the time around them: nothing is left.
  Parts less(const Parts& within) const {
    const auto left = [](Time whole, Time part) { return std::max(whole - part, Time::zero()); };
    return {count,
            left(time, within.time),
            left(computing, within.computing),
            left(communicating, within.communicating),
            left(overlapping, within.overlapping),
            std::max(flops - within.flops, 0.0),
            std::max(hbm_bytes - within.hbm_bytes, 0.0)};
  }
};

class RangeTree {
 public:
  explicit RangeTree(const std::vector<RangeResult>& ranges) {
    for (const RangeResult& range : ranges) by_name_[range.name] = &range;
    for (const RangeResult& range : ranges) {
      const std::size_t slash = range.name.rfind('/');
      const std::string around = slash == std::string::npos ? "" : range.name.substr(0, slash);
      within_[by_name_.contains(around) ? around : ""].push_back(&range);
    }
    for (auto& [around, within] : within_) {
      std::ranges::stable_sort(within, [](const RangeResult* a, const RangeResult* b) {
        return std::tuple(a->begun, a->name.size()) < std::tuple(b->begun, b->name.size());
      });
    }
  }

  bool is_flat() const { return within_.size() < 2; }
  TextTable table() {
    for (const RangeResult* range : within_[""]) add(*range, range->name, 0, Time::zero());
    return std::move(table_);
  }

 private:
  void add(const RangeResult& range, const std::string& name, std::size_t depth, Time around) {
    add_row(name, depth, Parts::of(range), around);
    const auto found = within_.find(range.name);
    if (found == within_.end()) return;
    Parts within, more;
    const std::size_t shown = found->second.size() > kMostWithin ? kMostWithin - 1 : found->second.size();
    for (std::size_t i = 0; i < found->second.size(); ++i) {
      const RangeResult& each = *found->second[i];
      within += Parts::of(each);
      if (i < shown)
        add(each, each.name.substr(range.name.size() + 1), depth + 1, range.complete);
      else
        more += Parts::of(each);
    }
    if (more.count > 0) add_row(fmt::format("{} more", found->second.size() - shown), depth + 1, more, range.complete);
    const Parts rest = Parts::of(range).less(within);
    if (rest.time > Time::zero()) add_row("rest", depth + 1, rest, range.complete);
  }

  void add_row(const std::string& name, std::size_t depth, const Parts& parts, Time around) {
    const Time once = parts.count > 0 ? Time::picoseconds(parts.time.count() / parts.count) : Time::zero();
    const double seconds = parts.time.in_seconds();
    const auto rate = [&](double work, const char* unit) {
      return seconds > 0 && work > 0 ? rate_text(work / seconds, unit) : std::string("-");
    };
    const auto part = [&](Time of) { return of > Time::zero() ? percent_text(share(of, parts.time)) : "-"; };
    table_.add({{std::string(2 * depth, ' ') + name},
                {count_text(static_cast<std::uint64_t>(parts.count))},
                {time_text(once)},
                {depth > 0 ? percent_text(share(parts.time, around)) : ""},
                {part(parts.computing)},
                {part(parts.communicating)},
                {part(parts.overlapping)},
                {rate(parts.flops, "FLOP/s")},
                {rate(parts.hbm_bytes, "B/s")}});
  }

  std::map<std::string, const RangeResult*> by_name_;
  std::map<std::string, std::vector<const RangeResult*>> within_;  // "": of none that is known
  TextTable table_{{{"range", Align::left, kWidestName},
                    {"times"},
                    {"each"},
                    {"share"},
                    {"compute"},
                    {"comm."},
                    {"both"},
                    {"GEMM"},
                    {"HBM"}}};
};

}  // namespace

std::string range_tree_section(const RunResult& result, const Palette& palette) {
  RangeTree tree(result.ranges);
  if (tree.is_flat()) return {};
  return palette.paint(Style::heading, "Parts of ranges") + "\n" + tree.table().text(palette);
}

}  // namespace kernbench::report
