// Under which sanitizer the tests run. What is long without being new in what it exercises is left out there.
#pragma once

#include "base/sanitizers.h"

#if KERNBENCH_ADDRESS_SANITIZER
#include <sanitizer/lsan_interface.h>
#endif

namespace kernbench {

inline constexpr bool kAddressSanitizer = KERNBENCH_ADDRESS_SANITIZER;
inline constexpr bool kThreadSanitizer = KERNBENCH_THREAD_SANITIZER;
inline constexpr bool kSanitized = kAddressSanitizer || kThreadSanitizer;

/// The first line of a test that is left out under sanitizers: because it asserts how long something takes in simulated
/// time, or how well a plan or an algorithm is chosen, and tests beside it run the same code; or because it cannot run
/// there. `why` follows "not under sanitizers: " in the output, and `make asan` counts these.
#define NOT_UNDER_SANITIZERS(why) \
  if (::kernbench::kSanitized) GTEST_SKIP() << "not under sanitizers: " why

/// What is allocated while one of these lives is no leak. For fibers that cannot be unwound, because their stack has
/// overflowed or they refuse: what they hold is lost, and that is meant.
class LeaksExpected {
 public:
#if KERNBENCH_ADDRESS_SANITIZER
  LeaksExpected() { __lsan_disable(); }
  ~LeaksExpected() { __lsan_enable(); }
#else
  LeaksExpected() {}   // NOLINT(modernize-use-equals-default): not trivial, or the variable would be unused
  ~LeaksExpected() {}  // NOLINT(modernize-use-equals-default)
#endif
  LeaksExpected(const LeaksExpected&) = delete;
  LeaksExpected& operator=(const LeaksExpected&) = delete;
};

}  // namespace kernbench
