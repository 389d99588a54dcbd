#include "cli/algorithm_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "base/nanoseconds.h"
#include "base/text.h"
#include "report/text/format.h"
#include "report/text/text_table.h"

namespace kernbench::cli {
namespace {

using distributed::AlgorithmDescription;
using distributed::ChannelDescription;
using distributed::MessageDescription;
using distributed::StepDescription;
using report::Align;
using report::Palette;
using report::Style;
using report::TextTable;

// In the table; the JSON has all.
constexpr int kMostRanks = 16;
constexpr std::size_t kMostLinks = 6;  // of a way: from corner to corner of a mesh of 4 x 4
constexpr std::size_t kMostMessages = 8;

/// "a, b, c", or of more than `most` "a, …, c (17 in all)".
std::string cut_list(const std::vector<std::string>& texts, std::size_t most) {
  if (texts.size() <= most) return fmt::format("{}", fmt::join(texts, ", "));
  const std::vector<std::string> first(texts.begin(), texts.begin() + static_cast<std::ptrdiff_t>(most) / 2);
  return fmt::format("{}, …, {} ({} in all)", fmt::join(first, ", "), texts.back(), report::count_text(texts.size()));
}

std::string place_of(const AlgorithmDescription& of, int rank) {
  const PeCoordinate first = of.first_pes[static_cast<std::size_t>(rank)];
  return of.rank_per_pe ? to_text(first) : to_text(first.sip);
}

std::string head(const AlgorithmDescription& of, const Palette& palette) {
  const auto& algorithm = *of.algorithm;
  std::string text = palette.paint(Style::heading, fmt::format("{}, {}", algorithm.name, name(algorithm.operation)));
  if (!of.reason.empty()) text += ": " + of.reason;
  text += fmt::format("\n  ranks         {}, each a {}\n", of.ranks,
                      of.rank_per_pe ? "PE" : fmt::format("SIP of {} PEs", of.pes));
  text += fmt::format("  arrangement   {}\n  method        {}\n", algorithm.topology, algorithm.method);
  if (!algorithm.fold_order.empty()) text += fmt::format("  fold order    {}\n", algorithm.fold_order);
  text += fmt::format("  channels      {} slots of {} in {} each\n", of.spec.n_slots, to_text(of.spec.slot_size),
                      distributed::kBufferKindNames[static_cast<std::size_t>(of.spec.buffer_kind)]);
  return text;
}

void add_ends(TextTable& table, const AlgorithmDescription& of, int rank, bool receives) {
  int entry = 0;
  for (const ChannelDescription& channel : of.channels) {
    if ((receives ? channel.to : channel.from) != rank) continue;
    table.add({{std::to_string(rank)},
               {place_of(of, rank)},
               {fmt::format("{} {}", receives ? "receive" : "send", entry++)},
               {std::to_string(receives ? channel.from : channel.to)},
               {report::time_text(channel.latency)},
               {cut_list(channel.links, kMostLinks)}});
  }
}

std::string registers(const AlgorithmDescription& of, const Palette& palette) {
  TextTable table({{"rank"},
                   {.title = "place", .align = Align::left},
                   {.title = "entry", .align = Align::left},
                   {"peer"},
                   {"latency"},
                   {.title = of.rank_per_pe ? "links" : "links between SIPs", .align = Align::left}});
  const int shown = std::min(of.ranks, kMostRanks);
  for (int rank = 0; rank < shown; ++rank) {
    add_ends(table, of, rank, false);
    add_ends(table, of, rank, true);
  }
  const auto more = static_cast<std::uint64_t>(of.ranks - shown);
  const std::string rest = more == 0 ? ""
                                     : fmt::format("  and {} more rank{} (see --format json)\n",
                                                   report::count_text(more), more == 1 ? "" : "s");
  return palette.paint(Style::heading, of.rank_per_pe ? "Neighbour registers" : "Neighbour registers of each PE") +
         "\n" + table.text(palette) + rest;
}

/// "0 to 1", "1 to 2": messages of one size.
std::vector<std::pair<Bytes, std::vector<std::string>>> by_size(const StepDescription& step) {
  std::vector<std::pair<Bytes, std::vector<std::string>>> sizes;
  for (const MessageDescription& message : step.messages) {
    if (sizes.empty() || sizes.back().first != message.bytes) sizes.push_back({message.bytes, {}});
    sizes.back().second.push_back(fmt::format("{} to {}", message.from, message.to));
  }
  if (sizes.empty()) sizes.emplace_back();
  return sizes;
}

std::string steps(const AlgorithmDescription& of, const Palette& palette) {
  const bool has_bytes = of.algorithm->operation != distributed::CollectiveOperation::barrier;
  std::string title =
      palette.paint(Style::heading, has_bytes ? fmt::format("Steps for {}", to_text(of.bytes)) : "Steps");
  if (distributed::has_root(of.algorithm->operation)) title += ", rank 0 for the root; a ring ends before the root";
  if (of.steps.empty()) return title + "\n  the algorithm describes none\n";
  TextTable table({{"step"},
                   {"times"},
                   {"latencies"},
                   {.title = "loads", .align = Align::left},
                   {"bytes"},
                   {.title = "ranks", .align = Align::left}});
  int number = 0;
  for (const StepDescription& step : of.steps) {
    ++number;
    bool first = true;
    for (const auto& [bytes, messages] : by_size(step)) {
      const std::string ranks = cut_list(messages, kMostMessages);
      if (first) {
        table.add({{std::to_string(number)},
                   {std::to_string(step.times)},
                   {std::to_string(step.latencies)},
                   {step.loaded ? "yes" : "no"},
                   {ranks.empty() ? "" : to_text(bytes)},
                   {ranks}});
      } else {
        table.add({{""}, {""}, {""}, {""}, {to_text(bytes)}, {ranks}});
      }
      first = false;
    }
  }
  return fmt::format("{}\n{}  estimated     {}, beside the launch\n", title, table.text(palette),
                     report::time_text(Time::picoseconds(static_cast<std::int64_t>(*of.cost_ns * 1e3))));
}

nlohmann::ordered_json registers_json(const AlgorithmDescription& of, int rank, bool receives) {
  nlohmann::ordered_json ends = nlohmann::ordered_json::array();
  for (const ChannelDescription& channel : of.channels) {
    if ((receives ? channel.to : channel.from) != rank) continue;
    ends.push_back({{"peer", receives ? channel.from : channel.to},
                    {"latency_ns", nanoseconds(channel.latency)},
                    {"links", channel.links}});
  }
  return ends;
}

}  // namespace

std::string algorithm_table(const AlgorithmDescription& description, bool colour) {
  const Palette palette(colour);
  return fmt::format("{}\n{}\n{}", head(description, palette), registers(description, palette),
                     steps(description, palette));
}

std::string algorithm_json(const AlgorithmDescription& description) {
  const auto& algorithm = *description.algorithm;
  nlohmann::ordered_json ranks = nlohmann::ordered_json::array(), steps = nlohmann::ordered_json::array();
  for (int rank = 0; rank < description.ranks; ++rank) {
    ranks.push_back({{"rank", rank},
                     {"place", place_of(description, rank)},
                     {"sends", registers_json(description, rank, false)},
                     {"receives", registers_json(description, rank, true)}});
  }
  for (const StepDescription& step : description.steps) {
    nlohmann::ordered_json messages = nlohmann::ordered_json::array();
    for (const MessageDescription& message : step.messages)
      messages.push_back({{"from", message.from}, {"to", message.to}, {"bytes", message.bytes.count()}});
    steps.push_back({{"times", step.times},
                     {"latencies", step.latencies},
                     {"loads", step.loaded},
                     {"messages", std::move(messages)}});
  }
  nlohmann::ordered_json document{{"algorithm", algorithm.name},
                                  {"operation", name(algorithm.operation)},
                                  {"arrangement", algorithm.topology},
                                  {"method", algorithm.method}};
  if (!algorithm.fold_order.empty()) document["fold_order"] = algorithm.fold_order;
  if (!description.reason.empty()) document["reason"] = description.reason;
  document["pes_of_a_rank"] = description.pes;
  document["bytes"] = description.bytes.count();
  document["slots"] = description.spec.n_slots;
  document["slot_bytes"] = description.spec.slot_size.count();
  document["ranks"] = std::move(ranks);
  document["steps"] = std::move(steps);
  if (description.cost_ns) document["estimate_ns"] = *description.cost_ns;
  return document.dump(2) + "\n";
}

}  // namespace kernbench::cli
