#include "report/outcome.h"

#include <algorithm>
#include <utility>

#include "base/error_text.h"

namespace kernbench::report {

ErrorResult error_result(const std::exception_ptr& error) {
  auto text = error_text(error, kInternalError);
  return {std::move(text.type), std::move(text.message), std::move(text.where)};
}

bool is_internal(std::string_view type) {
  return type == kInternalError;
}

RunStatus status_of(const RunResult& result) {
  if (result.error) return RunStatus::error;
  const auto failed = [](const CheckResult& check) { return check.status == CheckStatus::failed; };
  return std::any_of(result.checks.begin(), result.checks.end(), failed) ? RunStatus::check_failed : RunStatus::ok;
}

}  // namespace kernbench::report
