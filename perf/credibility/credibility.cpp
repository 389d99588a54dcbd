// Does a better machine ever make a program slower? Programs on machines around the shipped ones, each again with one
// resource doubled (a latency halved): it may cost 1 % at most with a plan that is kept, 2 % where the library plans
// anew.
//
//   credibility --cases N [--seed S] [--jobs J]    N random cases
//   credibility --all [--jobs J]                   all fixed machines, programs and resources
//   credibility --cases N --seed S --only I        one of them; a failing case prints this line
//   credibility --all --only I
//   credibility --all --programs gemm             of all cases those of programs whose name begins so
//
// Exit code 1 when a case fails.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "perf/credibility/case.h"

namespace kernbench::credibility {
namespace {

struct Options {
  std::int64_t cases = 0;  // 0: all
  std::uint64_t seed = 1;
  int jobs = 1;
  std::int64_t only = -1;
  std::string programs;  // of --all, those whose name begins with it
};

/// One line of a worker to the parent.
struct Line {
  std::int64_t number = 0;
  int verdict = 0;
  double cost = 0;
};

/// Of all cases.
struct Tally {
  std::vector<double> costs;
  std::map<int, std::int64_t> verdicts;
};

std::string command(const Options& options, std::int64_t number) {
  if (options.cases == 0) return fmt::format("credibility --all --only {}", number);
  return fmt::format("credibility --cases {} --seed {} --only {}", options.cases, options.seed, number);
}

void say(const Options& options, std::int64_t number, const Case& one, const Outcome& outcome) {
  const bool told = options.only >= 0 || (outcome.verdict != Verdict::ok && outcome.verdict != Verdict::not_applicable);
  if (!told) return;
  const std::string cost = outcome.verdict == Verdict::broken || outcome.verdict == Verdict::not_applicable
                               ? "did not run: " + outcome.text
                               : fmt::format("{:+.2f} % ({:.3f} -> {:.3f} us)", 100 * outcome.cost(),
                                             static_cast<double>(outcome.before.count()) * 1e-6,
                                             static_cast<double>(outcome.after.count()) * 1e-6);
  const std::string text =
      fmt::format("{}: {}\n    seed {}, again: {}\n", describe(one), cost, options.seed, command(options, number));
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

/// A random case that the machine can have: others are drawn again.
Line random_case(const Options& options, std::int64_t number) {
  std::mt19937_64 random(options.seed * 1'000'003 + static_cast<std::uint64_t>(number));
  for (int attempt = 0; attempt < 100; ++attempt) {
    Case one;
    one.program = random_program(random);
    one.machine = random_machine(random, one.program.sips);
    one.resource = &resources()[random() % resources().size()];
    Baseline baseline = measure_baseline(one.machine, one.program);
    const Outcome outcome = measure(one, baseline);
    if (outcome.verdict == Verdict::not_applicable) continue;
    say(options, number, one, outcome);
    return {number, static_cast<int>(outcome.verdict), outcome.cost()};
  }
  fmt::print("no machine was found for case {}\n", number);
  return {number, static_cast<int>(Verdict::broken), 0};
}

/// Calls report(line) for each case of this worker.
template <class Report>
void work(const Options& options, int worker, const Report& report) {
  if (options.cases > 0) {
    for (std::int64_t i = worker; i < options.cases; i += options.jobs)
      if (options.only < 0 || i == options.only) report(random_case(options, i));
    return;
  }
  std::int64_t number = 0, baselines = 0;
  const auto count = static_cast<std::int64_t>(resources().size());
  for (const Machine& machine : fixed_machines()) {
    for (const Program& program : fixed_programs()) {
      const std::int64_t first = number;
      number += count;
      if (!program.name.starts_with(options.programs) || baselines++ % options.jobs != worker) continue;
      if (options.only >= 0 && (options.only < first || options.only >= number)) continue;
      Case one{with_sips(machine, program.sips), program, nullptr};
      Baseline baseline = measure_baseline(one.machine, one.program);
      for (std::int64_t i = 0; i < count; ++i) {
        if (options.only >= 0 && options.only != first + i) continue;
        one.resource = &resources()[static_cast<std::size_t>(i)];
        const Outcome outcome = measure(one, baseline);
        say(options, first + i, one, outcome);
        report(Line{first + i, static_cast<int>(outcome.verdict), outcome.cost()});
      }
    }
  }
}

/// Runs the workers as processes of their own, and takes their lines.
std::vector<Line> run_workers(const Options& options) {
  std::vector<int> ends;
  for (int worker = 0; worker < options.jobs; ++worker) {
    int ends_of_pipe[2];
    if (pipe(ends_of_pipe) != 0) throw std::runtime_error("no pipe");
    if (fork() == 0) {
      close(ends_of_pipe[0]);
      work(options, worker, [&](const Line& line) {
        if (write(ends_of_pipe[1], &line, sizeof line) != static_cast<ssize_t>(sizeof line)) _exit(3);
      });
      _exit(0);
    }
    close(ends_of_pipe[1]);
    ends.push_back(ends_of_pipe[0]);
  }
  std::vector<Line> lines;
  Line line;
  for (const int end : ends) {
    while (read(end, &line, sizeof line) == static_cast<ssize_t>(sizeof line)) lines.push_back(line);
    close(end);
  }
  for (std::size_t i = 0; i < ends.size(); ++i) {
    int status = 0;
    wait(&status);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) throw std::runtime_error("a worker ended with an error");
  }
  return lines;
}

void print_distribution(std::vector<double> costs) {
  if (costs.empty()) return;
  std::ranges::sort(costs);
  const auto at = [&](double share) {
    return 100 * costs[static_cast<std::size_t>(share * static_cast<double>(costs.size() - 1))];
  };
  fmt::print(
      "time with more of a resource, in % more (negative: less): least {:+.2f}, quarter {:+.2f}, median {:+.2f}, "
      "three quarters {:+.2f}, 95 % {:+.2f}, 99 % {:+.2f}, most {:+.2f}\n",
      at(0), at(0.25), at(0.5), at(0.75), at(0.95), at(0.99), at(1));
  const auto above = [&](double limit) { return std::ranges::count_if(costs, [&](double c) { return c > limit; }); };
  fmt::print("slower at all {}, by more than 0.1 % {}, 0.5 % {}, 1 % {}, 2 % {}\n", above(0), above(0.001),
             above(0.005), above(0.01), above(0.02));
}

int run(const Options& options) {
  const std::vector<Line> lines = run_workers(options);
  Tally tally;
  for (const Line& line : lines) {
    ++tally.verdicts[line.verdict];
    const auto verdict = static_cast<Verdict>(line.verdict);
    if (verdict != Verdict::broken && verdict != Verdict::not_applicable) tally.costs.push_back(line.cost);
  }
  const auto count = [&](Verdict verdict) { return tally.verdicts[static_cast<int>(verdict)]; };
  fmt::print("{} cases ran: {} as allowed, {} slower, {} broken; {} the machine cannot have\n", tally.costs.size(),
             count(Verdict::ok), count(Verdict::slower), count(Verdict::broken), count(Verdict::not_applicable));
  print_distribution(tally.costs);
  const std::int64_t failed = count(Verdict::slower) + count(Verdict::broken);
  fmt::print("RESULT\tcredibility: a better machine is slower\t{}\tcases\tat most\t0\n", failed);
  return failed == 0 && !tally.costs.empty() ? 0 : 1;
}

Options parsed(int argc, char** argv) {
  Options options;
  bool all = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (name == "--all") {
      all = true;
      continue;
    }
    const char* value = i + 1 < argc ? argv[++i] : "0";
    if (name == "--cases") options.cases = std::atoll(value);
    if (name == "--seed") options.seed = static_cast<std::uint64_t>(std::atoll(value));
    if (name == "--jobs") options.jobs = std::max(std::atoi(value), 1);
    if (name == "--only") options.only = std::atoll(value);
    if (name == "--programs") options.programs = value;
  }
  if (!all && options.cases == 0) options.cases = 300;
  return options;
}

}  // namespace
}  // namespace kernbench::credibility

int main(int argc, char** argv) {
  try {
    return kernbench::credibility::run(kernbench::credibility::parsed(argc, argv));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "credibility: %s\n", error.what());
    return 2;
  }
}
