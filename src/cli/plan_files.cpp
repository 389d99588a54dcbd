#include "cli/plan_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "cli/bench_file/content_hash.h"

namespace kernbench::cli {
namespace {

constexpr std::size_t kTrailerSize = 32;

/// Writes a new file next to where it will be; its path, or nothing.
std::optional<std::string> written_beside(const std::string& folder, const std::string& text) {
  std::string path = fmt::format("{}/{}XXXXXX", folder, kScratchPrefix);
  const int file = ::mkstemp(path.data());
  if (file < 0) return std::nullopt;
  const bool whole = ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (::close(file) == 0 && whole) return path;
  ::unlink(path.c_str());
  return std::nullopt;
}

}  // namespace

PlanFiles::PlanFiles(const std::string& cache, std::string version, CacheLimits limits)
    : folder_(cache + "/plans"), version_(std::move(version)), limits_(limits) {}

std::string PlanFiles::path_of(std::string_view key) const {
  return fmt::format("{}/{}.plan", folder_, ContentHash().add(version_).add(key).text());
}

std::optional<std::string> PlanFiles::find(std::string_view key) {
  const std::string path = path_of(key);
  auto text = read_whole(path);
  if (!text || text->size() < kTrailerSize) return std::nullopt;
  const std::string hash = text->substr(text->size() - kTrailerSize);
  text->resize(text->size() - kTrailerSize);
  if (hash_of(*text) != hash) return std::nullopt;
  ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0);  // it is in use
  return text;
}

void PlanFiles::keep(std::string_view key, std::string_view plan) {
  std::error_code ignored;
  std::filesystem::create_directories(folder_, ignored);
  const std::string path = path_of(key);
  const auto made = written_beside(folder_, std::string(plan) + hash_of(plan));
  if (!made) return;
  if (std::rename(made->c_str(), path.c_str()) != 0) {
    ::unlink(made->c_str());
    return;
  }
  if (!std::exchange(trimmed_, true)) trim_cache(folder_, ".plan", limits_, path);
}

}  // namespace kernbench::cli
