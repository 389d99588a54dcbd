#include "cli/cache_folder.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <vector>

namespace kernbench::cli {
namespace {

namespace fs = std::filesystem;

constexpr auto kScratchAge = std::chrono::hours(24);  // nobody takes longer to make something

struct Entry {
  fs::path path;
  fs::file_time_type used;
  std::uint64_t bytes = 0;
};

}  // namespace

std::optional<std::string> default_cache_folder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache == '/') return std::string(cache) + "/kernbench";  // a relative one is not valid
  const char* home = std::getenv("HOME");
  if (home != nullptr && *home == '/') return std::string(home) + "/.cache/kernbench";
  return std::nullopt;
}

void trim_cache(const std::string& folder, std::string_view extension, const CacheLimits& limits,
                const std::string& keep) {
  const auto now = fs::file_time_type::clock::now();
  std::vector<Entry> entries;
  std::uint64_t total = 0;
  std::error_code error;
  // Anything may vanish at any time: another process trims too.
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::error_code gone;
    const fs::path& path = at->path();
    const auto used = fs::last_write_time(path, gone);
    if (gone) continue;
    if (path.filename().string().starts_with(kScratchPrefix)) {
      if (now - used > kScratchAge) fs::remove_all(path, gone);
    } else if (path.extension() == extension) {
      const std::uint64_t bytes = fs::file_size(path, gone);
      if (gone) continue;
      entries.push_back({path, used, bytes});
      total += bytes;
    }
  }
  std::ranges::sort(entries, {}, &Entry::used);
  for (const Entry& entry : entries) {
    if (now - entry.used <= limits.age && total <= limits.bytes) break;
    if (entry.path == keep) continue;
    std::error_code gone;
    fs::remove(entry.path, gone);
    total -= entry.bytes;
  }
}

}  // namespace kernbench::cli
