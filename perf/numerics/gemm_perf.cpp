// Host matrix multiply against OpenBLAS, paired: the two take turns in one process, and the best of each counts.
// Usage: numerics_gemm_perf [size = 2048] [threads = 2] [rounds = 7]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "numerics/operations.h"
#include "numerics/philox.h"

#ifdef KERNBENCH_HAVE_OPENBLAS
#include <cblas.h>
#endif

namespace {

using kernbench::DType;
namespace numerics = kernbench::numerics;

template <class Function>
double seconds(Function&& function) {
  const auto start = std::chrono::steady_clock::now();
  function();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

struct Problem {
  std::int64_t size;
  std::vector<float> a, b;

  explicit Problem(std::int64_t n) : size(n), a(static_cast<std::size_t>(n * n)), b(a.size()) {
    numerics::fill_normal(a, 1, 0);
    numerics::fill_normal(b, 2, 0);
  }
};

class KernBench {
 public:
  KernBench(const Problem& problem, int threads)
      : executor_(threads, true), a_(f16(problem.a, problem.size)), b_(f16(problem.b, problem.size)) {}
  double run() {
    return seconds([&] { (void)numerics::view(executor_, numerics::dot(executor_, a_, b_, {}, DType::f32)); });
  }

 private:
  numerics::Value f16(const std::vector<float>& numbers, std::int64_t size) {
    const numerics::Value wide =
        numerics::from_bytes(executor_, DType::f32, numerics::Shape{size, size}, std::as_bytes(std::span(numbers)));
    const numerics::Value narrow = numerics::cast(executor_, wide, DType::f16);
    (void)numerics::view(executor_, narrow);
    return narrow;
  }

  numerics::Executor executor_;
  numerics::Value a_, b_;
};

#ifdef KERNBENCH_HAVE_OPENBLAS
class OpenBlas {
 public:
  OpenBlas(const Problem& problem, int threads) : problem_(problem), c_(problem.a.size()) {
    openblas_set_num_threads(threads);
  }
  double run() {
    const auto n = static_cast<blasint>(problem_.size);
    return seconds([&] {
      cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1.0f, problem_.a.data(), n, problem_.b.data(), n,
                  0.0f, c_.data(), n);
    });
  }

 private:
  const Problem& problem_;
  std::vector<float> c_;
};
#endif

double argument(int count, char** values, int index, double otherwise) {
  return index < count ? std::atof(values[index]) : otherwise;
}

}  // namespace

int main(int argc, char** argv) {
  const auto size = static_cast<std::int64_t>(argument(argc, argv, 1, 2048));
  const int threads = static_cast<int>(argument(argc, argv, 2, 2));
  const int rounds = static_cast<int>(argument(argc, argv, 3, 7));
  const Problem problem(size);
  const double flops = 2.0 * static_cast<double>(size) * static_cast<double>(size) * static_cast<double>(size);
  KernBench ours(problem, threads);
  double best = ours.run();
#ifdef KERNBENCH_HAVE_OPENBLAS
  OpenBlas theirs(problem, threads);
  double their_best = theirs.run();
  for (int i = 0; i < rounds; ++i) {
    best = std::min(best, ours.run());
    their_best = std::min(their_best, theirs.run());
  }
  std::printf("gemm %lld^3, %d threads: kernbench f16 %.1f GFLOP/s, OpenBLAS sgemm (%s) %.1f GFLOP/s, ratio %.1f %%\n",
              static_cast<long long>(size), threads, flops / best * 1e-9, openblas_get_corename(),
              flops / their_best * 1e-9, 100 * their_best / best);
  // The line that perf/run reads.
  std::printf("RESULT\thost f16 GEMM %lld^3 against OpenBLAS sgemm, %d threads\t%.1f\t%%\tat least\t75\n",
              static_cast<long long>(size), threads, 100 * their_best / best);
#else
  for (int i = 0; i < rounds; ++i) best = std::min(best, ours.run());
  std::printf("gemm %lld^3, %d threads: kernbench f16 %.1f GFLOP/s (no OpenBLAS to compare with)\n",
              static_cast<long long>(size), threads, flops / best * 1e-9);
#endif
  return 0;
}
