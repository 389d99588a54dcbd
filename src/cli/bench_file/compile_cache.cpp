#include "cli/bench_file/compile_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <utility>

#include "cli/bench_file/content_hash.h"
#include "kernbench/error.h"

namespace kernbench::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic = "kernbench library 1\n";
constexpr std::size_t kHashSize = 32, kLengthSize = 16;
constexpr std::size_t kFooterSize = kLengthSize + kHashSize + kMagic.size();

// "HASH PATH\n" for each file; nothing when one cannot be read.
std::optional<std::string> record_of(const std::vector<std::string>& files) {
  std::string record;
  const auto all = hashed(files);
  if (!all) return std::nullopt;
  for (const HashedFile& file : *all) {
    if (file.path.find('\n') != std::string::npos) return std::nullopt;
    record += file.content + " " + file.path + "\n";
  }
  return record;
}

// After the library: the record, its length, the hash of all before it, and a mark.
std::string trailer(std::string_view library, const std::string& record) {
  const std::string length = fmt::format("{:016x}", record.size());
  const std::string hash = ContentHash().add(library).add(record).text();
  return record + length + hash + std::string(kMagic);
}

// The record of an entry, if the entry is whole.
std::optional<std::string> checked_record(const std::string& entry) {
  const std::string_view all(entry);
  if (all.size() < kFooterSize || !all.ends_with(kMagic)) return std::nullopt;
  const std::string_view footer = all.substr(all.size() - kFooterSize);
  const std::size_t length = std::strtoull(std::string(footer.substr(0, kLengthSize)).c_str(), nullptr, 16);
  if (length > all.size() - kFooterSize) return std::nullopt;
  const std::string_view library = all.substr(0, all.size() - kFooterSize - length);
  std::string record(all.substr(library.size(), length));
  if (ContentHash().add(library).add(record).text() != footer.substr(kLengthSize, kHashSize)) return std::nullopt;
  return record;
}

// What the record says, if all of it is still so.
std::optional<std::vector<HashedFile>> up_to_date(std::string_view record) {
  std::vector<HashedFile> files;
  while (!record.empty()) {
    const std::size_t end = record.find('\n');
    if (end == std::string_view::npos || end < kHashSize + 1) return std::nullopt;
    files.push_back(
        {std::string(record.substr(kHashSize + 1, end - kHashSize - 1)), std::string(record.substr(0, kHashSize))});
    const auto contents = read_whole(files.back().path);
    if (!contents || hash_of(*contents) != files.back().content) return std::nullopt;
    record.remove_prefix(end + 1);
  }
  return files;
}

}  // namespace

std::optional<std::vector<HashedFile>> hashed(const std::vector<std::string>& files) {
  std::vector<HashedFile> out;
  for (const std::string& file : files) {
    const auto contents = read_whole(file);
    if (!contents) return std::nullopt;
    out.push_back({file, hash_of(*contents)});
  }
  return out;
}

CompileCache::CompileCache(std::string folder, CacheLimits limits) : folder_(std::move(folder)), limits_(limits) {}

std::string CompileCache::prepare() const {
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error) return error.message();
  if (::access(folder_.c_str(), W_OK | X_OK) != 0) return std::strerror(errno);
  return "";
}

std::optional<std::vector<HashedFile>> CompileCache::files_of(const std::string& path) const {
  const auto entry = read_whole(path);
  if (!entry) return std::nullopt;
  const auto record = checked_record(*entry);
  auto files = record ? up_to_date(*record) : std::nullopt;
  if (files) ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
  return files;
}

bool CompileCache::store(const std::string& made, const std::string& path,
                         const std::vector<std::string>& files) const {
  const auto library = read_whole(made);
  const auto record = record_of(files);
  if (!library || !record) return false;
  std::ofstream out(made, std::ios::binary | std::ios::app);
  out << trailer(*library, *record);
  out.close();
  return out.good() && std::rename(made.c_str(), path.c_str()) == 0;
}

void CompileCache::trim(const std::string& keep) const {
  trim_cache(folder_, ".so", limits_, keep);
}

ScratchFolder::ScratchFolder(const std::string& parent) : folder_(fmt::format("{}/{}XXXXXX", parent, kScratchPrefix)) {
  if (::mkdtemp(folder_.data()) != nullptr) return;
  throw ConfigurationError(fmt::format("cannot make a folder in {}: {}", parent, std::strerror(errno)));
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

}  // namespace kernbench::cli
