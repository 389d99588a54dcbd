#include "cli/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <utility>

#include "kernbench/error.h"

namespace kernbench::cli {
namespace {

namespace fs = std::filesystem;

std::string reason_of(const std::string& path, int error) {
  const std::filesystem::path directory = std::filesystem::path(path).parent_path();
  std::error_code ignored;
  if (error == ENOENT && !directory.empty() && !std::filesystem::exists(directory, ignored)) {
    return "the directory \"" + directory.string() + "\" does not exist";
  }
  return std::strerror(error);
}

[[noreturn]] void reject(const std::string& option, const std::string& path, const std::string& reason) {
  throw ConfigurationError(option + ": cannot write \"" + path + "\": " + reason);
}

// The folder of a path; "." for a bare name.
std::string folder_of(const std::string& path) {
  const std::string folder = fs::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

// 0, or the errno with which the file could not be written.
int obstacle(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode)) return EISDIR;
    return ::access(path.c_str(), W_OK) == 0 ? 0 : errno;
  }
  if (errno != ENOENT) return errno;
  return ::access(folder_of(path).c_str(), W_OK | X_OK) == 0 ? 0 : errno;
}

// Writes into an open file, which it closes; 0 or an errno.
int write_and_close(int descriptor, std::string_view text) {
  int error = write_all(descriptor, text);
  if (::close(descriptor) != 0 && error == 0) error = errno;
  return error;
}

int write_in_place(const std::string& path, std::string_view text) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  return descriptor < 0 ? errno : write_and_close(descriptor, text);
}

// Under another name first; a link's target is replaced, not the link.
int write_and_rename(const std::string& path, std::string_view text) {
  std::error_code ignored;
  const fs::path target = fs::exists(path, ignored) ? fs::canonical(path, ignored) : fs::path(path);
  const std::string scratch =
      (target.parent_path() / ("." + target.filename().string() + "." + std::to_string(::getpid()) + ".part")).string();
  const int descriptor = ::open(scratch.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (descriptor < 0) return errno;
  struct stat before{};
  if (::stat(target.c_str(), &before) == 0) ::fchmod(descriptor, before.st_mode & 07777);
  int error = write_and_close(descriptor, text);
  if (error == 0 && ::rename(scratch.c_str(), target.c_str()) != 0) error = errno;
  if (error != 0) ::unlink(scratch.c_str());
  return error;
}

/// Where a file will be that is not there yet, also behind links.
fs::path whole(const std::string& path) {
  std::error_code ignored;
  fs::path at = fs::absolute(path, ignored);
  for (int links = 0; links < 40 && fs::is_symlink(at, ignored); ++links) {
    const fs::path target = fs::read_symlink(at, ignored);
    at = target.is_absolute() ? target : at.parent_path() / target;
  }
  return fs::weakly_canonical(at, ignored);
}

bool is_device_or_pipe(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
}

}  // namespace

OutputFile::OutputFile(std::string option, std::string path) : option_(std::move(option)), path_(std::move(path)) {
  const int error = obstacle(path_);
  if (error != 0) reject(option_, path_, reason_of(path_, error));
}

void OutputFile::write(std::string_view text) const {
  int error = is_device_or_pipe(path_) ? write_in_place(path_, text) : write_and_rename(path_, text);
  // Some may write a file, but nothing else in its folder.
  if (error == EACCES || error == EROFS) error = write_in_place(path_, text);
  if (error != 0) reject(option_, path_, std::strerror(error));
}

void OutputFile::empty() const {
  struct stat before{};
  if (::stat(path_.c_str(), &before) != 0 || !S_ISREG(before.st_mode) || before.st_size == 0) return;
  if (::truncate(path_.c_str(), 0) != 0) reject(option_, path_, std::strerror(errno));
}

bool OutputFile::same_file_as(const OutputFile& other) const {
  struct stat mine{};
  struct stat theirs{};
  if (::stat(path_.c_str(), &mine) == 0 && ::stat(other.path_.c_str(), &theirs) == 0) {
    return S_ISREG(mine.st_mode) && mine.st_dev == theirs.st_dev && mine.st_ino == theirs.st_ino;
  }
  return whole(path_) == whole(other.path_);
}

void require_no_input(const OutputFile& output, std::span<const InputFile> inputs) {
  struct stat mine{};
  if (::stat(output.path().c_str(), &mine) != 0 || !S_ISREG(mine.st_mode)) return;
  for (const InputFile& input : inputs) {
    struct stat read{};
    if (::stat(input.path.c_str(), &read) != 0 || mine.st_dev != read.st_dev || mine.st_ino != read.st_ino) continue;
    throw ConfigurationError(fmt::format("{} would overwrite \"{}\", which {} names: give another file",
                                         output.option(), output.path(), input.option));
  }
}

int write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

void flush_standard_output() {
  std::cout.flush();
  std::fflush(stdout);
}

DivertStandardOutput::DivertStandardOutput(bool active, To to) {
  if (!active) return;
  flush_standard_output();
  saved_ = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  if (saved_ < 0) return;
  if (to == To::standard_error) {
    ::dup2(STDERR_FILENO, STDOUT_FILENO);
    return;
  }
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nowhere < 0) return;
  ::dup2(nowhere, STDOUT_FILENO);
  ::close(nowhere);
}

void DivertStandardOutput::restore() {
  if (saved_ < 0) return;
  flush_standard_output();
  ::dup2(saved_, STDOUT_FILENO);
  ::close(std::exchange(saved_, -1));
}

}  // namespace kernbench::cli
