// docs/tile-language.md holds the table from which the operations are made, and names every function of the language.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "numerics/scalar.h"
#include "reference.h"
#include "support/sanitizers.h"
#include "support/source_tree.h"
#include "tile/compute/operation_table.h"

namespace kernbench::tile_test {
namespace {

const std::string kPage = source_tree::path("docs/tile-language.md");

std::string contents(const std::string& path) {
  std::ifstream in(path);
  EXPECT_TRUE(in) << path;
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

const char* text(tile::Accepts accepts) {
  switch (accepts) {
    case tile::Accepts::any:
      return "all";
    case tile::Accepts::integers:
      return "integers";
    case tile::Accepts::bits:
      return "integers, bool";
    case tile::Accepts::floats:
      return "floats";
  }
  return "";
}

const char* text(tile::ResultShape shape) {
  switch (shape) {
    case tile::ResultShape::broadcast:
      return "broadcast";
    case tile::ResultShape::same:
      return "x's";
    case tile::ResultShape::given:
      return "given";
    case tile::ResultShape::reduced:
      return "without the axis";
    case tile::ResultShape::product:
      return "[m,n], [g,m,n]";
    case tile::ResultShape::changed:
      return "see there";
  }
  return "";
}

const char* text(tile::ResultType type) {
  switch (type) {
    case tile::ResultType::promoted:
      return "promoted";
    case tile::ResultType::quotient:
      return "f32";
    case tile::ResultType::remainder:
      return "floats: f32; else promoted";
    case tile::ResultType::boolean:
      return "bool";
    case tile::ResultType::same:
      return "x's";
    case tile::ResultType::floating:
      return "x's; integers and bool: f32";
    case tile::ResultType::sum:
      return "x's; bool, i8, u8: i32";
    case tile::ResultType::index:
      return "i32";
    case tile::ResultType::named:
      return "given";
    case tile::ResultType::product:
      return "out_dtype; f32, or i32 for integers";
  }
  return "";
}

std::string cost(const tile::OperationInfo& info) {
  switch (info.runs) {
    case tile::Runs::nowhere:
      return "free";
    case tile::Runs::gemm:
      return "GEMM: `pe.gemm.rate.*`";
    case tile::Runs::vector:
      break;
  }
  const auto& operation = topology::kVectorOperations[static_cast<std::size_t>(info.cost)];
  return fmt::format("`{}` ({})", operation.key, operation.cycles);
}

std::string operations() {
  std::string out =
      "| operation | types | shape | result | rounding and special values | cost |\n|---|---|---|---|---|---|\n";
  for (const auto* info : tile::operation_table()) {
    out += fmt::format("| `{}` | {} | {} | {} | {} | {} |\n", info->call, text(info->accepts), text(info->shape),
                       text(info->type), info->values, cost(*info));
  }
  return out;
}

std::string promotions() {
  std::string out = "| |";
  for (const DType type : kTypes) out += fmt::format(" {} |", name(type));
  out += "\n|---|";
  for (std::size_t i = 0; i < std::size(kTypes); ++i) out += "---|";
  for (const DType left : kTypes) {
    out += fmt::format("\n| **{}** |", name(left));
    for (const DType right : kTypes) out += fmt::format(" {} |", name(numerics::promote(left, right)));
  }
  return out + "\n";
}

/// The page's part between the marks of this name; with KERNBENCH_UPDATE_GOLDEN=1 replaces it.
void expect_part(const std::string& part, const std::string& expected) {
  const std::string begin = "<!-- " + part + ": generated, begin -->\n",
                    end = "<!-- " + part + ": generated, end -->\n";
  std::string page = contents(kPage);
  const auto from = page.find(begin), to = page.find(end);
  ASSERT_TRUE(from != std::string::npos && to != std::string::npos) << part;
  const auto start = from + begin.size();
  if (const char* update = std::getenv("KERNBENCH_UPDATE_GOLDEN"); update && std::string(update) == "1") {
    std::ofstream(kPage) << page.replace(start, to - start, expected);
    return;
  }
  EXPECT_EQ(page.substr(start, to - start), expected) << "out of date: run with KERNBENCH_UPDATE_GOLDEN=1";
}

TEST(TileDocumentation, ThePageHasTheTableOfOperations) {
  expect_part("operations", operations());
}

TEST(TileDocumentation, ThePageHasThePromotionsOfAllPairs) {
  expect_part("promotions", promotions());
}

/// Names of the functions that a header of the tile language declares to its users, without operators.
std::set<std::string> functions_of(const std::string& header) {
  std::set<std::string> names;
  std::string source = source_tree::read("include/kernbench/tl/" + header);
  const auto detail = source.find("namespace detail {"), end = source.find("}  // namespace detail");
  if (end != std::string::npos) source.erase(detail, end - detail);
  const std::regex declaration(
      R"((?:^|\n)(?:inline |constexpr )*(?:Tile|std::pair<Tile, Tile>|std::array<Tile, (?:4|N)>|std::pair<std::int64_t, std::int64_t>|void|T|std::int64_t|Peer|Range|Token|AsyncLoad|Buffer|BlockPointer|TensorDescriptor|WindowPlace) ([a-z_0-9]+)\()");
  for (std::sregex_iterator at(source.begin(), source.end(), declaration), none; at != none; ++at) {
    names.insert((*at)[1]);
  }
  EXPECT_FALSE(names.empty()) << header;
  return names;
}

TEST(TileDocumentation, EveryFunctionOfComputeAndShapeIsInTheTable) {
  std::set<std::string> listed;
  const std::regex call("([a-z_0-9]+)\\(");
  for (const auto* info : tile::operation_table()) {
    const std::string as_written(info->call);
    for (std::sregex_iterator at(as_written.begin(), as_written.end(), call), none; at != none; ++at) {
      listed.insert((*at)[1]);
    }
  }
  for (const char* header : {"compute.h", "shape.h"}) {
    for (const auto& function : functions_of(header)) EXPECT_TRUE(listed.contains(function)) << function;
  }
}

TEST(TileDocumentation, EveryFunctionOfTheLanguageIsOnThePage) {
  NOT_UNDER_SANITIZERS("the page is the same in every build");
  const std::string page = contents(kPage);
  for (const char* header : {"compute.h", "shape.h", "memory.h", "atomics.h", "program.h", "composite.h", "queues.h",
                             "windows.h", "lanes.h", "random.h", "standard.h"}) {
    for (const auto& function : functions_of(header)) {
      EXPECT_TRUE(std::regex_search(page, std::regex("`[^`]*\\b" + function + "\\b[^`]*`"))) << function;
    }
  }
}

TEST(TileDocumentation, OperatorsAreInTheTable) {
  std::set<std::string> listed;
  for (const auto* info : tile::operation_table()) listed.insert(std::string(info->call));
  for (const char* call : {"a + b", "a - b", "a * b", "a / b", "a % b", "-a", "a & b", "a \\| b", "a ^ b", "a << b",
                           "a >> b", "~a", "!a", "a < b", "a <= b", "a > b", "a >= b", "a == b", "a != b"}) {
    EXPECT_TRUE(listed.contains(call)) << call;
  }
}

}  // namespace
}  // namespace kernbench::tile_test
