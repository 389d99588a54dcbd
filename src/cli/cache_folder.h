// The folder in which the program keeps what it has made, from run to run.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kernbench::cli {

/// $XDG_CACHE_HOME/kernbench, else ~/.cache/kernbench; nothing when neither is known.
std::optional<std::string> default_cache_folder();

/// How much a cache keeps: what has not been used for longer goes, then the longest unused, until the rest fits.
struct CacheLimits {
  std::chrono::hours age{24 * 30};
  std::uint64_t bytes = std::uint64_t{256} << 20;
};

/// Names of what is on its way into a folder begin so. What such a process left behind goes after a day.
inline constexpr std::string_view kScratchPrefix = "making.";

/// Drops files of a folder with this extension (".so") that are too old or too much, but never `keep`. What cannot be
/// removed stays.
void trim_cache(const std::string& folder, std::string_view extension, const CacheLimits& limits,
                const std::string& keep);

}  // namespace kernbench::cli
