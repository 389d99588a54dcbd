#include "cli/bench_file/installation.h"

#include <filesystem>

#include "base/error.h"

namespace kernbench::cli {
namespace {

namespace fs = std::filesystem;

struct Place {
  fs::path headers, internal;
};

// The program may have been moved, or installed under another prefix than was configured: what lies beside it first.
std::vector<Place> places() {
  std::vector<Place> out;
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  const auto installed = [&](const fs::path& include) { out.push_back({include, include / "kernbench" / "internal"}); };
  if (!error) installed(program.parent_path().parent_path() / "include");
  const fs::path source = KERNBENCH_SOURCE_TREE;
  out.push_back({source / "include", source / "src"});
  installed(KERNBENCH_INSTALLED_INCLUDE);
  return out;
}

}  // namespace

std::vector<std::string> include_folders() {
  std::string looked;
  for (const Place& place : places()) {
    std::error_code ignored;
    const fs::path header = place.headers / "kernbench" / "kernbench.h";
    if (fs::exists(header, ignored) && fs::exists(place.internal / "base" / "units.h", ignored)) {
      return {place.headers.string(), place.internal.string()};
    }
    looked += (looked.empty() ? "" : ", ") + header.string();
  }
  throw ConfigurationError(
      "KernBench's headers are not installed beside this program, so it cannot compile a file; install it with "
      "\"cmake --install\". Looked for " +
      looked);
}

const char* building_compiler() {
  return KERNBENCH_BUILDING_COMPILER;
}

std::vector<std::string> building_flags() {
  const std::string sanitizers = KERNBENCH_SANITIZERS;
  if (sanitizers.empty()) return {};
  return {"-fsanitize=" + sanitizers, "-fno-omit-frame-pointer"};
}

}  // namespace kernbench::cli
