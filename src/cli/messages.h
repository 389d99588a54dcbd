// Messages on standard error. Each ends in a newline.
#pragma once

#include <string>

#include "report/result.h"

namespace kernbench::cli {

/// "kernbench: error: …", with the kind of error and its place where they say more than the message.
std::string error_message(const report::ErrorResult& error, bool colour);

/// Of a deadlock in which a send waits for a slot, where nobody has looked how many would do: what does that. Else
/// empty.
std::string slots_hint(const report::ErrorResult& error);

/// "kernbench: check failed: gemm: 3 of 4,096 elements …", and the line.
std::string failed_check_message(const report::CheckResult& check, bool colour);

/// "kernbench: race: store at halo.cpp:9 and …".
std::string race_message(const report::RaceResult& race, bool colour);
/// The messages of all failed checks and races; of many of a kind the first ones, and how many more there are.
std::string problem_messages(const report::RunResult& result, bool colour);

}  // namespace kernbench::cli
