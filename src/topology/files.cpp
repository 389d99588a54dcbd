#include "topology/files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>

#include "base/quantity.h"
#include "kernbench/error.h"

// Defined in programs that are linked against an installed KernBench (cmake/share_folder.cpp).
extern "C" [[gnu::weak]] const char* const kernbench_share_folder;

namespace kernbench::topology {

namespace fs = std::filesystem;

std::string place_text(const SourcePlace& place, const std::string& file_name,
                       const std::vector<std::string>& overrides) {
  if (place.override_index >= 0) return "--set " + printable(overrides[static_cast<std::size_t>(place.override_index)]);
  return file_name + ":" + std::to_string(place.line) + ":" + std::to_string(place.column);
}

void throw_problems(const std::vector<Problem>& problems, const std::string& file_name,
                    const std::vector<std::string>& overrides) {
  std::multimap<SourcePlace, std::string_view> in_order;
  for (const Problem& problem : problems) in_order.emplace(problem.place, problem.message);
  std::string message;
  for (const auto& [place, text] : in_order) {
    if (!message.empty()) message += '\n';
    message += place_text(place, file_name, overrides) + ": " + std::string(text);
  }
  throw ConfigurationError(message);
}

std::string working_directory_hint(const std::string& path) {
  if (fs::path(path).is_absolute()) return {};
  std::error_code error;
  const fs::path folder = fs::current_path(error);
  return error ? "" : fmt::format("; relative paths begin at the working directory, {}", folder.string());
}

namespace {

[[noreturn]] void refuse_to_open(const std::string& path, int error) {
  if (error == ENOENT) throw ConfigurationError(path + ": there is no such file" + working_directory_hint(path));
  throw ConfigurationError(fmt::format("{}: cannot be opened: {}", path, std::strerror(error)));
}

[[noreturn]] void refuse_size(const std::string& path, std::string_view kind, std::size_t most) {
  std::error_code unknown;  // of a pipe
  const std::uintmax_t size = fs::file_size(path, unknown);
  const std::string found = unknown || size <= most ? fmt::format("more than {}", most) : fmt::format("{}", size);
  throw ConfigurationError(fmt::format("{}: has {} bytes; {} file has at most {} ({})", path, found, kind, most,
                                       to_quantity(Bytes(static_cast<std::int64_t>(most)))));
}

}  // namespace

std::string read_file(const std::string& path, std::string_view kind, std::size_t most) {
  std::error_code error;
  if (fs::is_directory(path, error)) {
    throw ConfigurationError(path + ": is a directory, expected " + std::string(kind) + " file");
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) refuse_to_open(path, errno);
  // In parts, for most files are far smaller than they may be. One byte more than is allowed shows that a file is too
  // large without reading all of it.
  constexpr std::size_t kPart = 256 * 1024;
  std::string text;
  std::size_t filled = 0;
  while (file && filled <= most) {
    text.resize(filled + std::min(kPart, most + 1 - filled));
    file.read(text.data() + filled, static_cast<std::streamsize>(text.size() - filled));
    filled += static_cast<std::size_t>(file.gcount());
  }
  if (file.bad()) throw ConfigurationError(path + ": cannot be read");
  if (filled > most) refuse_size(path, kind, most);
  text.resize(filled);
  return text;
}

std::vector<std::string> shipped_folders(const std::string& name) {
  std::vector<std::string> folders;
  const auto add = [&](const std::string& folder) { folders.push_back(folder + "/" + name); };
  // An installation may have been moved, or have another prefix than was configured: its own files come first.
  if (&kernbench_share_folder != nullptr) add(kernbench_share_folder);
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (!error) add((program.parent_path().parent_path() / "share/kernbench").string());
  add(KERNBENCH_SOURCE_FOLDER);
  add(KERNBENCH_INSTALLED_FOLDER);
  return folders;
}

}  // namespace kernbench::topology
