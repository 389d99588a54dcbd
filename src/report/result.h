// The result type under the name that this layer uses.
#pragma once

#include "kernbench/result.h"

namespace kernbench::report {
using kernbench::CheckResult;
using kernbench::CheckStatus;
using kernbench::ErrorResult;
using kernbench::LaunchResult;
using kernbench::Metric;
using kernbench::ResourceResult;
using kernbench::RunResult;
using kernbench::RunStatus;
}  // namespace kernbench::report
