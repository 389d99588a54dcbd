// The outcome of a run: errors as values, and the one status that follows from errors and checks.
#pragma once

#include <array>
#include <cstddef>
#include <exception>
#include <string>
#include <string_view>

#include "report/result.h"

namespace kernbench::report {

/// The `type` of an error that is KernBench's own fault, and of a run that the user stopped.
inline constexpr std::string_view kInternalError = "InternalError";
inline constexpr std::string_view kInterrupted = "Interrupted";

/// Whether an error of that type is KernBench's own fault. (An exception of the program that is none of
/// kernbench/error.h has its C++ type.)
bool is_internal(std::string_view type);

/// What `error` says, as a result shows it. Errors of kernbench/error.h keep their type, message and place; everything
/// else, be it a std::exception or not, is an InternalError. Requires a non-null pointer.
ErrorResult error_result(const std::exception_ptr& error);

/// Of a spawn that failed, with which ranks failed first and the type of their error: its message begins with an empty
/// line, as PyTorch's does. "SpawnException: rank 1: ValueError". Of other errors the type.
std::string kind_of(const ErrorResult& error);
/// The error in one line: that, and the first line of the message.
std::string headline(const ErrorResult& error);

/// Of a check that failed: "3 of 4,096 elements (0.1 %) outside of the tolerance; the worst, [3, 7], is 9, expected
/// 7 (max abs error 2, max rel error 0.286)".
std::string mismatch_text(const CheckResult& check);

/// "store at halo.cpp:9 and load at halo.cpp:12 touch the same bytes, and nothing orders them: element [3] of x,
/// …".
std::string race_text(const RaceResult& race);

/// `error` when the result holds one, else `check_failed` when a check failed or programs race, else `ok`.
RunStatus status_of(const RunResult& result);

/// The names that the JSON and the table show, in the order of the values.
inline constexpr std::array<std::string_view, 3> kRunStatusNames = {"ok", "check_failed", "error"};
inline constexpr std::array<std::string_view, 3> kCheckStatusNames = {"passed", "failed", "skipped"};
inline std::string_view name(RunStatus status) {
  return kRunStatusNames[static_cast<std::size_t>(status)];
}
inline std::string_view name(CheckStatus status) {
  return kCheckStatusNames[static_cast<std::size_t>(status)];
}

}  // namespace kernbench::report
