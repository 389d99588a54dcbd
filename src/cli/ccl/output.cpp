#include "cli/ccl/output.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>

#include "distributed/group.h"

namespace kernbench::cli::ccl {
namespace {

constexpr std::string_view kNotAvailable = "N/A";

/// The four columns of one form of the call.
std::string form_columns(const Row* row) {
  if (row == nullptr) {
    return fmt::format("  {:>7}  {:>6}  {:>6}  {:>6}", kNotAvailable, kNotAvailable, kNotAvailable, kNotAvailable);
  }
  return fmt::format("  {:>7}  {:>6}  {:>6}  {:>6}", fitted(row->time_us, 7), fitted(row->algorithm_bandwidth, 6),
                     fitted(row->bus_bandwidth, 6), row->wrong ? std::to_string(*row->wrong) : kNotAvailable);
}

/// The least time, and how much of a call's time it is.
std::string bound_columns(const Row& row) {
  if (!row.bound_us) return {};
  constexpr double kPercent = 100;
  const double share = row.slowest_us > 0 ? kPercent * *row.bound_us / row.slowest_us : 0;
  return fmt::format("  {:>8}  {:>5.1f}", fitted(*row.bound_us, 8), share);
}

std::string row_text(const Test& test, const Row& row) {
  return fmt::format("{:>12}  {:>12}  {:>8}  {:>6}  {:>6}", row.size.count(), row.count, row.type, row.reduction,
                     row.root) +
         form_columns(test.form == Forms::out_of_place ? &row : nullptr) +
         form_columns(test.form == Forms::in_place ? &row : nullptr) + bound_columns(row) + "\n";
}

/// A line over the columns; every other line begins with '#'.
std::string heading(const std::vector<std::string_view>& texts) {
  constexpr int kWidths[] = {10, 12, 8, 6, 6, 7, 6, 6, 6, 7, 6, 6, 6, 8, 5};
  std::string line = "#";
  for (std::size_t column = 0; column < texts.size(); ++column) {
    line += fmt::format("{}{:>{}}", column == 0 ? " " : "  ", texts[column], kWidths[column]);
  }
  return line + " \n";
}

std::string begin_text(const Test& test, const Request& request, int ranks) {
  const Sizes& sizes = request.sizes;
  std::string text = fmt::format("# Collective test starting: {}_perf\n", test.name);
  text += fmt::format(
      "# nThread 1 nGpus {} minBytes {} maxBytes {} step: {}({}) warmup iters: {} iters: {} agg iters: {} "
      "validation: {} graph: 0\n#\n# Using devices\n",
      ranks, sizes.least.count(), sizes.most.count(), sizes.factor > 1 ? sizes.factor : sizes.step.count(),
      sizes.factor > 1 ? "factor" : "bytes", request.warm_ups, request.iterations, request.calls,
      request.check ? 1 : 0);
  text += fmt::format("#  Ranks 0 to {}, each a simulated device\n#\n", ranks - 1);
  text += fmt::format(
      "# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}           out-of-place                       in-place          \n", "", "",
      "", "", "");
  std::vector<std::string_view> names{"size",  "count",  "type", "redop", "root",  "time",  "algbw",
                                      "busbw", "#wrong", "time", "algbw", "busbw", "#wrong"};
  std::vector<std::string_view> units{"(B)",    "(elements)", "",     "",       "",       "(us)", "(GB/s)",
                                      "(GB/s)", "",           "(us)", "(GB/s)", "(GB/s)", ""};
  if (request.bound) {
    names.insert(names.end(), {"bound", "of it"});
    units.insert(units.end(), {"(us)", "(%)"});
  }
  text += heading(names);
  text += heading(units);
  return text;
}

/// Which algorithm was chosen automatically, and why; nothing of one that was named.
std::string chosen_text(const Row& row) {
  const bool automatic = !row.reason.empty() && row.reason != distributed::kNamed;
  return !automatic ? "" : fmt::format("# Taken: {}, {}\n", row.taken, row.reason);
}

std::string end_text(const Test& test, const Request& request, const Sweep& sweep) {
  std::string text;
  if (request.check) {
    text += fmt::format("# Out of bounds values : {} {}\n", sweep.wrong(), sweep.wrong() == 0 ? "OK" : "FAILED");
  }
  text += fmt::format("# Avg bus bandwidth    : {:g}\n#\n", sweep.average_bus_bandwidth());
  return text + fmt::format("# Collective test concluded: {}_perf\n", test.name);
}

nlohmann::ordered_json form_json(const Row& row) {
  nlohmann::ordered_json form{
      {"time", row.time_us}, {"alg_bw", row.algorithm_bandwidth}, {"bus_bw", row.bus_bandwidth}};
  form["nwrong"] = row.wrong ? nlohmann::ordered_json(*row.wrong) : nlohmann::ordered_json(nullptr);
  return form;
}

}  // namespace

std::string fitted(double value, int width) {
  for (int digits = 2; digits >= 0; --digits) {
    const std::string text = fmt::format("{:.{}f}", value, digits);
    if (static_cast<int>(text.size()) <= width) return text;
  }
  return fmt::format("{:.0e}", value);
}

std::string to_table(const Test& test, const Request& request, const Sweep& sweep) {
  std::string text = begin_text(test, request, sweep.ranks);
  std::string_view algorithm;
  std::string chosen;  // for the rows before
  for (std::size_t i = 0; i < sweep.rows.size(); ++i) {
    const Row& row = sweep.rows[i];
    if (row.algorithm != algorithm) {
      text += fmt::format("# Algorithm: {}\n", row.algorithm);
      chosen.clear();
    }
    algorithm = row.algorithm;
    if (const std::string now = chosen_text(row); !now.empty() && now != chosen) text += chosen = now;
    text += row_text(test, row);
    const bool last = i + 1 == sweep.rows.size() || sweep.rows[i + 1].algorithm != row.algorithm;
    if (last && row.setup_us > 0)
      text += fmt::format("# Setup                : {:.2f} us for neighbour registers, once{}\n", row.setup_us,
                          request.warm_ups > 0 ? ", in no time above" : "");
  }
  return text + end_text(test, request, sweep);
}

std::string to_comparison(const Sweep& sweep) {
  std::vector<std::string> algorithms;
  std::map<std::tuple<std::string, std::string, std::string, std::int64_t>, std::map<std::string, const Row*>> sizes;
  for (const Row& row : sweep.rows) {
    if (std::ranges::find(algorithms, row.algorithm) == algorithms.end()) algorithms.push_back(row.algorithm);
    sizes[{row.type, row.reduction, row.root, row.size.count()}][row.algorithm] = &row;
  }
  const bool bound = !sweep.rows.empty() && sweep.rows.front().bound_us;
  const auto width = [](const std::string& algorithm) { return std::max<std::size_t>(20, algorithm.size()); };
  std::string text = "# Bus bandwidth in GB/s; * marks the best\n";
  text += fmt::format("# {:>10}  {:>8}  {:>6}  {:>6}", "size", "type", "redop", "root");
  for (const std::string& algorithm : algorithms) text += fmt::format("  {:>{}}", algorithm, width(algorithm));
  text += bound ? fmt::format("  {:>10}\n", "bound") : "\n";
  for (const auto& [key, rows] : sizes) {
    const auto& [type, reduction, root, size] = key;
    text += fmt::format("{:>12}  {:>8}  {:>6}  {:>6}", size, type, reduction, root);
    double best = 0;
    for (const auto& [algorithm, row] : rows) best = std::max(best, row->bus_bandwidth);
    for (const std::string& algorithm : algorithms) {
      const auto row = rows.find(algorithm);  // none where an error came before it
      const double bandwidth = row == rows.end() ? 0 : row->second->bus_bandwidth;
      text += row == rows.end()
                  ? fmt::format("  {:>{}} ", "-", width(algorithm) - 1)
                  : fmt::format("  {:>{}.2f}{}", bandwidth, width(algorithm) - 1, bandwidth == best ? '*' : ' ');
    }
    const Row& first = *rows.begin()->second;
    text += bound ? fmt::format("  {:>10.2f}\n", first.bus_bandwidth * first.time_us / *first.bound_us) : "\n";
  }
  return text;
}

std::string to_csv(const Test& test, const Sweep& sweep) {
  std::string text = "operation,algorithm,ranks,size,count,type,redop,root,form,time_us,algbw,busbw,wrong";
  const bool bound = !sweep.rows.empty() && sweep.rows.front().bound_us;
  text += bound ? ",bound_us\n" : "\n";
  for (const Row& row : sweep.rows) {
    text += fmt::format("{},{},{},{},{},{},{},{},{},{:.6g},{:.6g},{:.6g},{}{}\n", test.name, row.algorithm, sweep.ranks,
                        row.size.count(), row.count, row.type, row.reduction, row.root,
                        test.form == Forms::in_place ? "in_place" : "out_of_place", row.time_us,
                        row.algorithm_bandwidth, row.bus_bandwidth, row.wrong ? std::to_string(*row.wrong) : "",
                        row.bound_us ? fmt::format(",{:.6g}", *row.bound_us) : "");
  }
  return text;
}

std::string to_json(const Test& test, const Request& request, const Sweep& sweep) {
  nlohmann::ordered_json results = nlohmann::ordered_json::array();
  for (const Row& row : sweep.rows) {
    nlohmann::ordered_json entry{{"size", row.size.count()},
                                 {"count", row.count},
                                 {"type", row.type},
                                 {"redop", row.reduction},
                                 {"root", row.root}};
    if (!row.algorithm.empty()) entry["algorithm"] = row.algorithm;
    if (!row.taken.empty()) {
      entry["taken"] = row.taken;
      entry["reason"] = row.reason;
      if (!row.fold_order.empty()) entry["fold_order"] = row.fold_order;
    }
    entry["sent"] = row.sent;
    entry["setup"] = row.setup_us;
    if (row.bound_us) entry["bound"] = *row.bound_us;
    entry[test.form == Forms::in_place ? "in_place" : "out_of_place"] = form_json(row);
    results.push_back(std::move(entry));
  }
  nlohmann::ordered_json document{
      {"test", fmt::format("{}_perf", test.name)}, {"ranks", sweep.ranks},       {"iters", request.iterations},
      {"warmup_iters", request.warm_ups},          {"agg_iters", request.calls}, {"results", std::move(results)}};
  document["out_of_bounds"] = {{"count", sweep.wrong()}, {"okay", sweep.wrong() == 0}};
  document["average_bus_bandwidth"] = sweep.average_bus_bandwidth();
  return document.dump(2) + "\n";
}

}  // namespace kernbench::cli::ccl
