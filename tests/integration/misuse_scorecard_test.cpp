// The scorecard of misuse: each found, with kernel, PE and source line; docs/misuse.md shows the messages as they are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <optional>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "addressing/tensor_descriptor.h"
#include "programs.h"
#include "support/source_tree.h"

namespace kernbench {
namespace {

using testing::one_pe;
using testing::tiny;

using Kernel = std::function<void(const tl::Tensor&)>;

struct Misuse {
  const char* what;
  const char* type;  // of the error
  int first, last;   // the lines of the kernel
  Kernel kernel;
  SimulateOptions options = tiny();
  torch::TensorOptions tensor = one_pe().name("x");
  QueueOptions queues = {};
};

/// A window of 1 KiB and two signal words.
QueueOptions small_window() {
  QueueOptions queues;
  queues.window = WindowOptions{Bytes(1024), 2};
  return queues;
}

// NOLINTNEXTLINE(misc-no-recursion): the misuse itself
std::int64_t recurse_for_ever(std::int64_t depth) {
  volatile char frame[512] = {};
  frame[0] = static_cast<char>(depth);
  return depth < 0 ? depth : recurse_for_ever(depth + 1) + frame[0];
}

SimulateOptions with(const std::function<void(SimulateOptions&)>& change) {
  SimulateOptions options = tiny();
  change(options);
  return options;
}

/// x is 4 x 64, f32, on PE 0, where the kernel runs too.
std::vector<Misuse> cases() {
  static std::optional<tl::Tile> kept;
  kept.reset();
  std::vector<Misuse> all;
  all.push_back({"a block begins outside of the tensor", "OutOfBoundsError", __LINE__,  //
                 __LINE__ + 1, [](const tl::Tensor& x) { tl::load(x, {4, 0}, {1, 64}); }});
  all.push_back({"a strided block leaves the tensor", "OutOfBoundsError", __LINE__, __LINE__ + 1,
                 [](const tl::Tensor& x) { tl::load(x.data_ptr() + 250, {2, 4}, {4, 1}); }});
  all.push_back({"a lane of a gather points outside of the tensor", "OutOfBoundsError", __LINE__, __LINE__ + 1,
                 [](const tl::Tensor& x) { tl::load(x.data_ptr() + tl::arange(200, 300)); }});
  all.push_back({"a box leaves its TCM buffer", "OutOfBoundsError", __LINE__, __LINE__ + 1,
                 [](const tl::Tensor&) { tl::load(tl::alloc({8}, DType::f32), {4}, {5}); }});
  all.push_back({"poison: a branch on a lane that was never loaded", "InvalidValueError", __LINE__, __LINE__ + 1,
                 [](const tl::Tensor& x) { tl::item(tl::max(tl::load(x, {0, 60}, {1, 8}))); }});
  all.push_back(
      {"an index of a gather is invalid", "InvalidValueError", __LINE__, __LINE__ + 4, [](const tl::Tensor& x) {
         const auto index = tl::cast(tl::load(x, {0, 60}, {1, 8}), DType::i32);
         tl::load(x.data_ptr() + index);
       }});
  all.push_back({"a lane of a mask is invalid", "InvalidValueError", __LINE__, __LINE__ + 4, [](const tl::Tensor& x) {
                   const auto mask = tl::load(x, {0, 60}, {1, 8}) > 0.0f;
                   tl::load(x, {1, 0}, {1, 8}, {.mask = mask});
                 }});
  all.push_back({"a branch on a quotient by 0", "InvalidValueError", __LINE__, __LINE__ + 4, [](const tl::Tensor& x) {
                   const auto whole = tl::cast(tl::load(x, {0, 0}, {1, 8}), DType::i32);
                   tl::item(tl::sum(tl::idiv(7, whole)));
                 }});
  all.push_back({"the kernel ends while nobody has waited for an asynchronous store", "UnawaitedAccessError", __LINE__,
                 __LINE__ + 1, [](const tl::Tensor& x) { tl::store_async(x, {0, 0}, tl::zeros({4, 4}, DType::f32)); }});
  all.push_back({"a tile is used before its asynchronous load has been waited for", "UnawaitedTileError", __LINE__,
                 __LINE__ + 4, [](const tl::Tensor& x) {
                   const auto [tile, token] = tl::load_async(x, {0, 0}, {1, 8});
                   tl::exp(tile);
                 }});
  all.push_back({"the tiles of a program do not fit into the TCM", "OutOfMemoryError", __LINE__, __LINE__ + 4,
                 [](const tl::Tensor&) {
                   const auto first = tl::zeros({3, 1024, 256}, DType::f32);
                   const auto second = tl::zeros({2, 1024, 256}, DType::f32);
                 }});
  all.push_back({"operands of the wrong type", "ValueError", __LINE__, __LINE__ + 3,
                 [](const tl::Tensor& x) { tl::dot(tl::load(x, {0, 0}, {4, 64}), tl::zeros({64, 8}, DType::f16)); }});
  all.push_back({"a mask that is not boolean", "ValueError", __LINE__, __LINE__ + 3,
                 [](const tl::Tensor& x) { tl::load(x, {0, 0}, {1, 8}, {.mask = tl::arange(0, 8)}); }});
  all.push_back({"shapes that do not broadcast", "ValueError", __LINE__, __LINE__ + 3,
                 [](const tl::Tensor& x) { tl::load(x, {0, 0}, {4, 64}) + tl::zeros({3, 64}, DType::f32); }});
  all.push_back({"padding of integers with NaN", "ValueError", __LINE__, __LINE__ + 6,
                 [](const tl::Tensor& x) {
                   const auto block = tl::make_block_ptr(x.data_ptr(), {4, 64}, {64, 1}, {2, 0}, {4, 64});
                   tl::load(block, {.boundary_check = {0}, .padding = tl::Padding::nan});
                 },
                 tiny(), one_pe(DType::i32).name("x")});
  all.push_back({"a tensor descriptor whose base is not aligned", "ValueError", __LINE__, __LINE__ + 3,
                 [](const tl::Tensor& x) { tl::make_tensor_descriptor(x.data_ptr() + 1, {4, 32}, {64, 1}, {4, 16}); }});
  all.push_back({"a negative extent", "ValueError", __LINE__, __LINE__ + 1,
                 [](const tl::Tensor&) { tl::alloc({4, -1}, DType::f32); }});
  all.push_back({"a store to a `tl::In`", "ValueError", __LINE__, __LINE__ + 4, [](const tl::Tensor& x) {
                   const tl::Tensor read_only = tl::In(std::make_shared<addressing::TensorDescriptor>(x.descriptor()));
                   tl::store(read_only, {0, 0}, tl::zeros({4, 4}, DType::f32));
                 }});
  all.push_back({"a tile of another program", "ValueError", __LINE__, __LINE__ + 11,
                 [](const tl::Tensor&) {
                   if (tl::pe_id() == 1) {
                     kept = tl::zeros({8}, DType::f32);
                     tl::delay(10000);
                     kept.reset();
                   } else {
                     tl::delay(1000);
                     tl::exp(*kept);
                   }
                 },
                 tiny(), torch::dtype(DType::f32).device("ahbm").placement({.num_cubes = 1, .num_pes = 2}).name("x")});
  all.push_back({"a tile is kept after its kernel", "TileLifetimeError", __LINE__, __LINE__ + 1,
                 [](const tl::Tensor&) { kept = tl::zeros({8}, DType::f32); }});
  all.push_back({"`assume` of something false", "AssumptionError", __LINE__, __LINE__ + 1,
                 [](const tl::Tensor& x) { tl::assume(x.size(1) % 48 == 0); }});
  all.push_back(
      {"`device_assert` of something false", "DeviceAssertionError", __LINE__, __LINE__ + 3,
       [](const tl::Tensor& x) { tl::device_assert(tl::load(x, {0, 0}, {1, 8}) > 0.0f, "all are positive"); }});
  all.push_back({"offsets that depend on memory, in a run without data", "NoDataError", __LINE__, __LINE__ + 4,
                 [](const tl::Tensor& x) {
                   const auto index = tl::cast(tl::load(x, {0, 0}, {1, 8}), DType::i32);
                   tl::load(x.data_ptr() + index);
                 },
                 with([](SimulateOptions& options) { options.data = false; })});
  all.push_back({"a branch on a value that `--skip-floating-point-ops` leaves out", "SkippedValueError", __LINE__,
                 __LINE__ + 2, [](const tl::Tensor& x) { tl::item<float>(tl::sum(tl::load(x, {0, 0}, {1, 8}))); },
                 with([](SimulateOptions& options) { options.skip_floating_point_ops = true; })});
  all.push_back({"a put leaves the window of its member", "OutOfBoundsError", __LINE__, __LINE__ + 2,
                 [](const tl::Tensor&) { tl::put(tl::window(tl::self(), 768), tl::zeros({8, 16}, DType::f32)); },
                 tiny(), one_pe().name("x"), small_window()});
  all.push_back({"a signal word that is not there", "OutOfBoundsError", __LINE__, __LINE__ + 1,
                 [](const tl::Tensor&) { tl::signal(tl::self(), 2); }, tiny(), one_pe().name("x"), small_window()});
  all.push_back({"a one-sided access in a launch without a window", "NoWindowError", __LINE__, __LINE__ + 1,
                 [](const tl::Tensor&) { tl::put(tl::window(tl::self()), tl::zeros({4}, DType::f32)); }});
  all.push_back({"a wait for a signal that nobody sends", "DeadlockError", __LINE__, __LINE__ + 2,
                 [](const tl::Tensor&) { tl::wait_until(1, tl::Comparison::ge, 3); }, tiny(), one_pe().name("x"),
                 small_window()});
  all.push_back({"endless recursion", "StackOverflowError", __LINE__, __LINE__ + 4, [](const tl::Tensor& x) {
                   tl::load(x, {0, 0}, {1, 8});
                   recurse_for_ever(0);
                 }});
  all.push_back({"an endless loop that waits for nothing", "WatchdogError", __LINE__, __LINE__ + 8,
                 [](const tl::Tensor& x) {
                   tl::load(x, {0, 0}, {1, 8});
                   // Not quite endless, so that the test ends.
                   const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(600);
                   while (std::chrono::steady_clock::now() < end) {
                   }
                 },
                 with([](SimulateOptions& options) { options.watchdog_seconds = 0.1; })});
  return all;
}

struct Found {
  std::string type, message, where;
  std::string text() const { return where.empty() ? message : message + "\n  in " + where; }
};

Found find(const Misuse& misuse) {
  const auto result = try_simulate(misuse.options, [&] {
    auto x = torch::zeros({4, 64}, misuse.tensor);
    torch::ahbm::synchronize();
    torch::launch({.queues = misuse.queues}, "wrong", [&](tl::Tensor t) { misuse.kernel(t); }, x);
    torch::ahbm::synchronize();
  });
  if (!result.error) return {"none", "no error", ""};
  return {result.error->type, result.error->message, result.error->where};
}

/// Lines of this file at which the host program calls, and not the kernel.
const std::regex& host_line() {
  static const std::regex line("(synchronize at |called at )misuse_scorecard_test\\.cpp:[0-9]+");
  return line;
}

/// The line of this file, in a kernel, that the text names last, or 0.
int named_line(const std::string& whole) {
  const std::string text = std::regex_replace(whole, host_line(), "$1");
  const std::regex place("misuse_scorecard_test\\.cpp:([0-9]+)");
  int line = 0;
  for (auto at = std::sregex_iterator(text.begin(), text.end(), place); at != std::sregex_iterator(); ++at)
    line = std::stoi((*at)[1]);
  return line;
}

/// As in the documentation: lines of this file are lines of "program.cpp" and "kernel.cpp".
std::string documented(const std::string& text) {
  return std::regex_replace(std::regex_replace(text, host_line(), "$1program.cpp:LINE"),
                            std::regex("misuse_scorecard_test\\.cpp:[0-9]+"), "kernel.cpp:LINE");
}

TEST(MisuseScorecard, EachIsFoundWithKernelPeAndLineAndDocumentedAsItIs) {
  std::string document =
      "# Kernel errors and their messages\n\n"
      "Every message names the kernel, the PE and the line. `x` is a tensor of 4 x 64. A test runs each of these and\n"
      "compares this page with the actual messages (`tests/integration/misuse_scorecard_test.cpp`).\n";
  for (const Misuse& misuse : cases()) {
    SCOPED_TRACE(misuse.what);
    // What a fiber leaves on a stack that overflowed is never unwound: a leak, to those who look for leaks.
    if (kSanitized && std::string_view(misuse.type) == "StackOverflowError") continue;
    const Found found = find(misuse);
    const std::string text = found.text();
    EXPECT_EQ(found.type, misuse.type) << text;
    EXPECT_THAT(text, ::testing::HasSubstr("wrong#0"));
    EXPECT_THAT(text, ::testing::HasSubstr("sip0.cube0.pe0"));
    const int line = named_line(text);
    EXPECT_GE(line, misuse.first) << text;
    EXPECT_LE(line, misuse.last + 1) << text;
    document += std::string("\n**") + misuse.what + "** (`" + found.type + "`)\n\n```\n" + documented(text) + "\n```\n";
  }
  if (kSanitized) return;  // not all of them were run
  source_tree::expect_golden("docs/misuse.md", document);
}

}  // namespace
}  // namespace kernbench
