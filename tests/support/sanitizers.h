// Under which sanitizer the tests run. What is long without being new in what it exercises is left out there.
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#endif

namespace kernbench {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kAddressSanitizer = true;
#else
inline constexpr bool kAddressSanitizer = false;
#endif

#if defined(__SANITIZE_THREAD__)
inline constexpr bool kThreadSanitizer = true;
#else
inline constexpr bool kThreadSanitizer = false;
#endif

inline constexpr bool kSanitized = kAddressSanitizer || kThreadSanitizer;

/// What is allocated while one of these lives is no leak. For fibers that cannot be unwound, because their stack has
/// overflowed or they refuse: what they hold is lost, and that is meant.
class LeaksExpected {
 public:
#if defined(__SANITIZE_ADDRESS__)
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
