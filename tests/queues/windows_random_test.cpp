// Random one-sided programs against a plain interpreter: values, signal words; the same times in exact mode and without
// data.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "support.h"
#include "support/all_cases.h"
#include "support/sanitizers.h"

namespace kernbench::queues_test {
namespace {

constexpr std::int64_t kRegion = 48;  // elements of a window that one member writes
constexpr std::int32_t kWords = 3;    // signal words; the last one is for steps

/// One access of a member in a step.
struct RandomAccess {
  enum class Kind { put, put_signal, signal, get } kind = Kind::put;
  std::int32_t self, target;
  std::int64_t first, count, value;  // elements; of a signal, `first` is the word
  std::int64_t row = -1;             // of a get: where its values go
};

/// What members do between two meetings: all write, or all read.
struct RandomStep {
  std::vector<RandomAccess> accesses;
  bool meets_by_signals = false;  // else by a barrier
};

struct OneSidedProgram {
  int width, height, cubes;
  torch::LaunchOptions options;
  std::vector<RandomStep> steps;
  std::int64_t rows = 0;
  std::map<std::int64_t, std::vector<std::int32_t>> expected;  // by row
  std::vector<std::vector<std::int64_t>> words;                // by member: the sums of the first words
};

/// A program, and what a machine that does one access after the other makes of it.
class Maker {
 public:
  explicit Maker(std::uint64_t seed) : random_(seed) {}

  OneSidedProgram make() {
    OneSidedProgram p{
        static_cast<int>(pick(1, 3)), static_cast<int>(pick(1, 2)), static_cast<int>(pick(1, 2)), {}, {}, 0, {}, {}};
    members_ = static_cast<std::int32_t>(p.width * p.height * p.cubes);
    p.options = with_window(0, members_ * kRegion * 4, kWords, static_cast<BufferKind>(pick(0, 2)));
    p.options.queues.parameters.backpressure = static_cast<Backpressure>(pick(0, 1));
    p.options.queues.parameters.vc_chunk_size = Bytes(std::int64_t{1} << pick(4, 8));
    for (int cube = 0; cube < p.cubes; ++cube) {
      for (int pe = 0; pe < p.width * p.height; ++pe) p.options.pes.emplace_back(CubeId{cube}, PeId{pe});
    }
    windows_.assign(static_cast<std::size_t>(members_), std::vector<std::int32_t>(window_elements(), kNothing));
    p.words.assign(static_cast<std::size_t>(members_), {0, 0});
    for (std::int64_t i = pick(1, 3); i > 0; --i) {
      p.steps.push_back(writes(p));
      p.steps.push_back(reads(p));
    }
    return p;
  }

 private:
  static constexpr std::int32_t kNothing = -1;

  std::int64_t pick(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(high - low + 1));
  }
  std::size_t window_elements() const { return static_cast<std::size_t>(members_ * kRegion); }
  std::int32_t any_member() { return static_cast<std::int32_t>(pick(0, members_ - 1)); }
  std::vector<std::int32_t>& window_of(std::int32_t member) { return windows_[static_cast<std::size_t>(member)]; }

  RandomStep writes(OneSidedProgram& p) {
    RandomStep step;
    step.meets_by_signals = pick(0, 1) == 1;
    for (std::int64_t n = pick(1, 4 * members_); n > 0; --n) {
      RandomAccess a;
      a.kind = static_cast<RandomAccess::Kind>(pick(0, 2));
      a.self = any_member();
      a.target = any_member();
      a.value = pick(1, 1000);
      if (a.kind == RandomAccess::Kind::signal) {
        a.first = pick(0, 1);
      } else {
        a.count = pick(1, kRegion);
        a.first = a.self * kRegion + pick(0, kRegion - a.count);
        for (std::int64_t i = 0; i < a.count; ++i) {
          window_of(a.target)[static_cast<std::size_t>(a.first + i)] = static_cast<std::int32_t>(a.value + i);
        }
      }
      auto& words = p.words[static_cast<std::size_t>(a.target)];
      if (a.kind == RandomAccess::Kind::signal) words[static_cast<std::size_t>(a.first)] += a.value;
      if (a.kind == RandomAccess::Kind::put_signal) words[0] += a.value;
      step.accesses.push_back(a);
    }
    return step;
  }

  // What has been written, in one piece.
  RandomStep reads(OneSidedProgram& p) {
    RandomStep step;
    for (std::int64_t n = pick(1, 3 * members_); n > 0; --n) {
      RandomAccess a;
      a.kind = RandomAccess::Kind::get;
      a.self = any_member();
      a.target = any_member();
      const auto& from = window_of(a.target);
      const auto elements = static_cast<std::int64_t>(window_elements());
      a.first = pick(0, elements - 1);
      a.count = 0;
      const auto is_written = [&](std::int64_t i) { return from[static_cast<std::size_t>(i)] != kNothing; };
      while (a.count < kRegion && a.first + a.count < elements && is_written(a.first + a.count)) ++a.count;
      if (a.count == 0) continue;
      a.row = p.rows++;
      p.expected[a.row].assign(from.begin() + a.first, from.begin() + a.first + a.count);
      step.accesses.push_back(a);
    }
    return step;
  }

  std::mt19937_64 random_;
  std::int32_t members_ = 0;
  std::vector<std::vector<std::int32_t>> windows_;
};

void access(const RandomAccess& a, const tl::Tensor& out) {
  const auto place = [&] { return tl::window(tl::member(a.target), 4 * a.first); };
  switch (a.kind) {
    case RandomAccess::Kind::put:
      return tl::put(place(), tl::arange(0, a.count) + a.value);
    case RandomAccess::Kind::put_signal:
      return tl::put_signal(place(), tl::arange(0, a.count) + a.value, 0, a.value, tl::SignalOperation::add);
    case RandomAccess::Kind::signal:
      return tl::signal(tl::member(a.target), a.first, a.value);
    case RandomAccess::Kind::get:
      return tl::store(out, {a.row, 0}, tl::get(place(), DType::i32, {1, a.count}));
  }
}

void run_steps(const OneSidedProgram& program, const tl::Tensor& out) {
  const std::int64_t self = tl::member_index(), members = tl::num_members();
  std::int64_t meetings = 0;
  for (const RandomStep& step : program.steps) {
    for (const RandomAccess& a : step.accesses) {
      if (a.self == self) access(a, out);
    }
    if (!step.meets_by_signals) {
      tl::barrier();
      continue;
    }
    tl::fence();
    for (std::int64_t other = 0; other < members; ++other) tl::signal(tl::member(other), kWords - 1);
    ++meetings;
    tl::wait_until(kWords - 1, tl::Comparison::ge, meetings * members);
  }
  const auto& words = program.words[static_cast<std::size_t>(self)];
  for (std::int64_t word = 0; word < 2; ++word)
    EXPECT_EQ(tl::signal_value(word), words[static_cast<std::size_t>(word)]);
}

RunResult run(const OneSidedProgram& program, bool exact, bool data) {
  auto options = mesh(program.width, program.height, {"sip.cubes.mesh=[" + std::to_string(program.cubes) + ", 1]"});
  options.exact_events = exact;
  options.data = data;
  return simulate(options, [&] {
    const torch::Tensor out = torch::zeros({program.rows + 1, kRegion}, torch::dtype(DType::i32).device("ahbm"));
    torch::launch(program.options, "random", [&program](tl::Tensor t) { run_steps(program, t); }, out);
    if (!data) return;
    const torch::Tensor host = out.cpu();
    for (const auto& [row, values] : program.expected) {
      for (std::size_t i = 0; i < values.size(); ++i) {
        ASSERT_EQ(host[row][static_cast<std::int64_t>(i)].item<std::int32_t>(), values[i]) << "row " << row;
      }
    }
  });
}

TEST(WindowsRandom, ProgramsDoWhatAPlainInterpreterDoes) {
  for (std::uint64_t seed = 1;
       seed <= static_cast<std::uint64_t>(number_of_cases(250, 150, 12)) && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const OneSidedProgram program = Maker(seed).make();
    auto times = times_of(run(program, false, true));
    EXPECT_EQ(times_of(run(program, true, true)), times);
    auto times_without_data = times_of(run(program, false, false));
    times_without_data.front() = times.front();  // of all copies too, and without data the host reads nothing
    EXPECT_EQ(times_without_data, times);
  }
}

}  // namespace
}  // namespace kernbench::queues_test
