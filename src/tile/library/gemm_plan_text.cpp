#include "tile/library/gemm_plan_text.h"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <concepts>
#include <iterator>

#include "tile/library/gemm_groups.h"

namespace kernbench::tile::library {

namespace {

constexpr std::string_view kHead = "gemm plan";
// More ranges than programs of any machine: a damaged text makes no vector of more.
constexpr std::int64_t kMostRanges = 1 << 24;

/// Numbers, each behind a space.
class Writer {
 public:
  explicit Writer(std::string& text) : text_(text) {}
  void operator()(std::int64_t& value) { fmt::format_to(std::back_inserter(text_), " {}", value); }
  template <class Item>
  void size(std::vector<Item>& items) {
    auto count = static_cast<std::int64_t>(items.size());
    (*this)(count);
  }

 private:
  std::string& text_;
};

class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}
  void operator()(std::int64_t& value) {
    const char* const end = rest_.data() + rest_.size();
    if (!good_ || rest_.empty() || rest_.front() != ' ') return fail();
    const auto [next, error] = std::from_chars(rest_.data() + 1, end, value);
    if (error != std::errc()) return fail();
    rest_ = {next, static_cast<std::size_t>(end - next)};
  }
  template <class Item>
  void size(std::vector<Item>& items) {
    std::int64_t count = 0;
    (*this)(count);
    if (count < 0 || count > kMostRanges || static_cast<std::size_t>(count) > rest_.size()) return fail();
    items.resize(static_cast<std::size_t>(count));
  }
  bool whole() const { return good_ && rest_.empty(); }

 private:
  void fail() { good_ = false; }

  std::string_view rest_;
  bool good_ = true;
};

// Structured bindings name all members: one that is added does not compile until it stands here, too.
template <class Archive>
void visit(Archive& archive, double& value) {
  auto bits = std::bit_cast<std::int64_t>(value);
  archive(bits);
  value = std::bit_cast<double>(bits);
}

template <class Archive, std::size_t N>
void visit(Archive& archive, std::int64_t (&values)[N]) {
  for (std::int64_t& value : values) archive(value);
}

template <class Archive>
void visit(Archive& archive, GemmRange& range) {
  auto& [batch, m, n, k, split, k_start] = range;
  visit(archive, batch), visit(archive, m), visit(archive, n), visit(archive, k);
  archive(split), archive(k_start);
}

template <class Archive>
void visit(Archive& archive, std::array<GemmRange, 2>& ranges) {
  for (GemmRange& range : ranges) visit(archive, range);
}

template <class Archive>
void visit(Archive& archive, GemmPlan::Grid& grid) {
  auto& [batch, m, n, k] = grid;
  archive(batch), archive(m), archive(n), archive(k);
}

template <class Archive>
void visit(Archive& archive, GemmShape& shape) {
  auto& [batch, m, n, k] = shape;
  archive(batch), archive(m), archive(n), archive(k);
}

template <class Archive>
void visit(Archive& archive, GemmPlan::Nearby& nearby) {
  auto& [own, cube] = nearby;
  visit(archive, own), visit(archive, cube);
}

template <class Archive, class Item>
void visit(Archive& archive, std::vector<Item>& items) {
  archive.size(items);
  for (Item& item : items) visit(archive, item);
}

/// Who loads with whom follows from the rest, once it is known that programs do.
template <class Archive>
void visit(Archive& archive, GemmPlan& plan, bool& together) {
  auto& [shape, cubes, pes, split_k, tile_m, tile_n, tile_k, depth, first_k, more_k, fold, dma_queues, vector_share,
         tcm_bytes, ranges, edges, mates_a, mates_b, a, b, estimated_ns, second_launch_ns] = plan;
  visit(archive, shape), visit(archive, cubes), visit(archive, pes);
  archive(split_k), archive(tile_m), archive(tile_n), archive(tile_k), archive(depth), archive(first_k);
  archive(more_k), archive(fold.rows), archive(fold.columns), archive(dma_queues);
  visit(archive, vector_share);
  archive(tcm_bytes);
  visit(archive, ranges), visit(archive, edges), visit(archive, a), visit(archive, b);
  visit(archive, estimated_ns);
  visit(archive, second_launch_ns);
  std::int64_t flag = together ? 1 : 0;
  archive(flag);
  together = flag != 0;
}

}  // namespace

std::string to_text(const GemmPlan& plan) {
  std::string text(kHead);
  Writer writer(text);
  GemmPlan copy = plan;
  bool together = plan.loads_together();
  visit(writer, copy, together);
  return text;
}

std::optional<GemmPlan> plan_from_text(std::string_view text) {
  if (!text.starts_with(kHead)) return std::nullopt;
  Reader reader(text.substr(kHead.size()));
  GemmPlan plan;
  bool together = false;
  visit(reader, plan, together);
  if (!reader.whole() || (together && !load_together(plan))) return std::nullopt;
  return plan;
}

}  // namespace kernbench::tile::library
