#include "topology/files.h"

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

std::string read_file(const std::string& path, std::string_view kind) {
  std::error_code error;
  if (fs::is_directory(path, error)) {
    throw ConfigurationError(path + ": is a directory, expected a " + std::string(kind) + " file");
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) throw ConfigurationError(path + ": cannot be opened; does the file exist and may it be read?");
  // One byte more than is allowed shows that the file is too large without reading all of it.
  std::string text(kMaximumFileBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) throw ConfigurationError(path + ": cannot be read");
  text.resize(static_cast<std::size_t>(file.gcount()));
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
