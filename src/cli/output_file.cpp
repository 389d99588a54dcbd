#include "cli/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <utility>

#include "base/error.h"

namespace kernbench::cli {
namespace {

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

}  // namespace

OutputFile::OutputFile(std::string option, std::string path)
    : option_(std::move(option)),
      path_(std::move(path)),
      descriptor_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {
  if (descriptor_ < 0) reject(option_, path_, reason_of(path_, errno));
}

OutputFile::~OutputFile() {
  ::close(descriptor_);
}

void OutputFile::write(std::string_view text) {
  const int error = write_all(descriptor_, text);
  if (error != 0) reject(option_, path_, std::strerror(error));
}

bool OutputFile::same_file_as(const OutputFile& other) const {
  struct stat mine{};
  struct stat theirs{};
  if (::fstat(descriptor_, &mine) != 0 || ::fstat(other.descriptor_, &theirs) != 0) return false;
  return S_ISREG(mine.st_mode) && mine.st_dev == theirs.st_dev && mine.st_ino == theirs.st_ino;
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

DivertStandardOutput::~DivertStandardOutput() {
  if (saved_ < 0) return;
  flush_standard_output();
  ::dup2(saved_, STDOUT_FILENO);
  ::close(saved_);
}

}  // namespace kernbench::cli
