#include "cli/bench_file/installation.h"

#include <filesystem>

#include "kernbench/error.h"

namespace kernbench::cli {
namespace {

namespace fs = std::filesystem;

// The program may have been moved, or installed under another prefix than was configured: what lies beside it first.
std::vector<fs::path> possible_folders() {
  std::vector<fs::path> out;
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (!error) out.push_back(program.parent_path().parent_path() / "include");
  out.push_back(fs::path(KERNBENCH_SOURCE_TREE) / "include");
  out.emplace_back(KERNBENCH_INSTALLED_INCLUDE);
  return out;
}

}  // namespace

std::string include_folder() {
  std::string looked;
  for (const fs::path& folder : possible_folders()) {
    std::error_code ignored;
    const fs::path header = folder / "kernbench" / "kernbench.h";
    if (fs::exists(header, ignored)) return folder.string();
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
