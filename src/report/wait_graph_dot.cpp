#include "report/wait_graph_dot.h"

#include <map>
#include <string_view>

#include "report/text/utf8.h"

namespace kernbench::report {
namespace {

std::string quoted_id(std::string_view text) {
  std::string out = "\"";
  for (const char letter : one_line(text)) {
    if (letter == '"' || letter == '\\') out += '\\';
    out += letter;
  }
  return out + '"';
}

constexpr std::string_view kOnCycle = ", color=red, fontcolor=red, penwidth=2";

std::string node(const std::string& id, std::string_view label, std::string_view style) {
  return "  " + id + " [label=" + quoted_id(label) + std::string(style) + "];\n";
}

/// Gives each name its node, in the order of first mention.
class Nodes {
 public:
  std::string add(const std::string& name, bool on_cycle) {
    const auto [place, fresh] = ids_.try_emplace(name, "n" + std::to_string(ids_.size()));
    if (fresh) order_.push_back(&*place);
    on_cycle_[place->second] = on_cycle_[place->second] || on_cycle;
    return place->second;
  }
  std::string text() const {
    std::string out;
    for (const auto* entry : order_) {
      out += node(entry->second, entry->first, on_cycle_.at(entry->second) ? kOnCycle : "");
    }
    return out;
  }

 private:
  std::map<std::string, std::string> ids_;  // its elements stay where they are
  std::vector<const std::pair<const std::string, std::string>*> order_;
  std::map<std::string, bool> on_cycle_;
};

}  // namespace

std::string wait_graph_dot(const RunResult& result) {
  std::string out = "digraph waits {\n  rankdir=LR;\n  node [shape=box];\n";
  if (!result.error) return out + "}\n";
  Nodes nodes;
  std::string edges, missing;
  std::size_t missing_parties = 0;
  for (const WaitEdgeResult& wait : result.error->waits) {
    const std::string from = nodes.add(wait.who, wait.in_cycle);
    std::string to;
    if (wait.target.empty()) {
      to = "missing" + std::to_string(missing_parties++);
      missing += node(to, wait.reason, ", style=dashed");
    } else {
      to = nodes.add(wait.target, wait.in_cycle);
    }
    edges += "  " + from + " -> " + to + " [label=" + quoted_id(wait.target.empty() ? "" : wait.reason) +
             std::string(wait.in_cycle ? kOnCycle : "") + "];\n";
  }
  return out + nodes.text() + missing + edges + "}\n";
}

}  // namespace kernbench::report
