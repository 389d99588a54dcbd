// What `kernbench sweep` varies.
#pragma once

#include <string>
#include <vector>

namespace kernbench::cli::sweep {

/// A name with its values: of a parameter of the bench, a key of the topology (it has a '.'), "topology" or "seed".
struct Axis {
  std::string name;
  std::vector<std::string> values;
};

/// "M=512,1024"; commas within brackets part nothing. ConfigurationError for a text without name or values, and for a
/// value that is given twice.
Axis axis_of(const std::string& text);

/// ConfigurationError for axes of one name.
void check_names(const std::vector<Axis>& axes);

/// A value for each axis.
using Point = std::vector<std::string>;

/// All combinations; the last axis varies fastest. ConfigurationError for more combinations than `most`.
std::vector<Point> points_of(const std::vector<Axis>& axes, std::size_t most);

/// What `kernbench run` is told for a point: "-p M=512", "--set cube.hbm.bandwidth=2TB/s", "--topology tiny".
std::vector<std::string> arguments_of(const std::vector<Axis>& axes, const Point& point);

}  // namespace kernbench::cli::sweep
