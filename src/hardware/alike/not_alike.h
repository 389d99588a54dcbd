// The error of programs whose devices differ where they are to be alike.
#pragma once

#include <string>

#include "kernbench/error.h"

namespace kernbench::hardware {

/// `how`: in what they differ, a sentence without its end.
inline ProgramError not_alike(const std::string& how) {
  return {"AlikeDevicesError", "devices are not alike: " + how + "; simulate all devices"};
}

}  // namespace kernbench::hardware
