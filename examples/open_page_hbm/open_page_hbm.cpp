// A component model of one's own: the same kernel on the built-in HBM and on one with open rows. Reading a matrix row
// by row stays in the open rows; reading it column by column opens a row for every element.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "kernbench/kernbench.h"
#include "open_page.h"

namespace torch = kernbench::torch;
namespace tl = kernbench::tl;

namespace {

constexpr std::int64_t kSize = 128;

void read_rows(tl::In x) {
  for (std::int64_t row = 0; row < kSize; ++row) tl::load(x, {row, 0}, {1, kSize});
}
void read_columns(tl::In x) {
  for (std::int64_t column = 0; column < kSize; ++column) tl::load(x, {0, column}, {kSize, 1});
}

double nanoseconds(const kernbench::LaunchResult& launch) {
  return (launch.end - launch.start).in_seconds() * 1e9;
}

void run(const std::string& model, const std::vector<std::string>& overrides) {
  kernbench::SimulateOptions options;
  options.topology = "tiny";
  options.overrides = overrides;
  options.overrides.push_back("cube.hbm.model=" + model);
  options.models.add_hbm("open_page",
                         [](const kernbench::HbmChannelFigures& figures, const kernbench::ModelParameters& parameters) {
                           return std::make_unique<OpenPage>(figures, parameters);
                         });
  const auto result = kernbench::simulate(options, [] {
    const auto x = torch::ones({kSize, kSize}, torch::device("ahbm"));
    torch::launch("rows", read_rows, x);
    torch::launch("columns", read_columns, x);
    torch::ahbm::synchronize();
  });
  for (const auto& launch : result.launches) {
    if (launch.name.find("fill") != std::string::npos) continue;
    std::printf("%-10s %-10s %8.1f ns\n", model.c_str(), launch.name.c_str(), nanoseconds(launch));
  }
}

}  // namespace

int main() {
  run("hbm", {});
  // Few banks, so that the matrix does not fit into the open rows.
  run("open_page", {"cube.hbm.parameters.banks=4"});
}
