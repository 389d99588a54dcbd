#include "cli/sweep/axes.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "kernbench/error.h"

namespace kernbench::cli::sweep {
namespace {

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> values(1);
  int depth = 0;
  for (const char c : text) {
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    if (c == ',' && depth == 0) {
      values.emplace_back();
    } else {
      values.back().push_back(c);
    }
  }
  return values;
}

}  // namespace

Axis axis_of(const std::string& text) {
  const std::size_t equal = text.find('=');
  const auto fail = [&](const std::string& why) {
    throw ConfigurationError(fmt::format("--over {}: {}; expected NAME=VALUE,VALUE,…", in_quotes(text), why));
  };
  if (equal == 0 || equal == std::string::npos) fail("there is no name");
  Axis axis{text.substr(0, equal), split(text.substr(equal + 1))};
  std::set<std::string> seen;
  for (const std::string& value : axis.values) {
    if (value.empty()) fail("a value is empty");
    if (!seen.insert(value).second) fail(fmt::format("{} is given twice", in_quotes(value)));
  }
  return axis;
}

void check_names(const std::vector<Axis>& axes) {
  std::set<std::string> names;
  for (const Axis& axis : axes) {
    if (!names.insert(axis.name).second) throw ConfigurationError(fmt::format("--over {} is given twice", axis.name));
  }
}

std::vector<Point> points_of(const std::vector<Axis>& axes, std::size_t most) {
  std::vector<Point> points(1);
  for (const Axis& axis : axes) {
    if (points.size() * axis.values.size() > most)
      throw ConfigurationError(fmt::format("the sweep has more than {} combinations; give fewer values", most));
    std::vector<Point> longer;
    for (const Point& point : points) {
      for (const std::string& value : axis.values) {
        longer.push_back(point);
        longer.back().push_back(value);
      }
    }
    points = std::move(longer);
  }
  return points;
}

std::vector<std::string> arguments_of(const std::vector<Axis>& axes, const Point& point) {
  std::vector<std::string> arguments;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::string& name = axes[i].name;
    if (name == "topology" || name == "seed") {
      arguments.insert(arguments.end(), {"--" + name, point[i]});
    } else {
      const bool of_topology = name.find('.') != std::string::npos;
      arguments.insert(arguments.end(), {of_topology ? "--set" : "-p", name + "=" + point[i]});
    }
  }
  return arguments;
}

}  // namespace kernbench::cli::sweep
