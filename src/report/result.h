// What one run of a program yields, under the names that this layer uses. The types are public: kernbench/result.h.
#pragma once

#include "kernbench/result.h"

namespace kernbench::report {

using kernbench::CheckResult;
using kernbench::CheckStatus;
using kernbench::CopyTotal;
using kernbench::DeviceResult;
using kernbench::DistanceBytes;
using kernbench::EngineResult;
using kernbench::ErrorResult;
using kernbench::KernelTime;
using kernbench::LaunchResult;
using kernbench::Metric;
using kernbench::OperationResult;
using kernbench::Origin;
using kernbench::PathPart;
using kernbench::PathSegment;
using kernbench::RaceAccess;
using kernbench::RaceResult;
using kernbench::RangeResult;
using kernbench::RegionResult;
using kernbench::ResourceResult;
using kernbench::Roof;
using kernbench::Roofline;
using kernbench::RunResult;
using kernbench::RunStatus;
using kernbench::SetupResult;
using kernbench::SlotAdvice;
using kernbench::TlbResult;
using kernbench::WaitEdgeResult;
using kernbench::WaitResult;

}  // namespace kernbench::report
