// A component model of one's own: the same kernel on the built-in HBM and on one with open rows. Reading a matrix row
// by row stays in the open rows; reading it column by column opens a row for every element.
// kernbench run open_page_hbm.cpp -t tiny --set cube.hbm.model=open_page
#include <kernbench/kernbench.h>

#include <memory>

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

}  // namespace

KERNBENCH_MODELS(registry) {
  registry.add_hbm("open_page",
                   [](const kernbench::HbmChannelFigures& figures, const kernbench::ModelParameters& parameters) {
                     return std::make_unique<OpenPage>(figures, parameters);
                   });
}

KERNBENCH_BENCH(open_page_hbm, "a matrix read by rows and by columns") {
  const auto x = torch::ones({kSize, kSize}, torch::device("ahbm"));
  torch::launch("rows", read_rows, x);
  torch::launch("columns", read_columns, x);
}
