// Files that a command writes: opened before the work begins, so that an hour's run does not end in "no such
// directory".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace kernbench::cli {

/// An open file. Opening it creates or empties it.
class OutputFile {
 public:
  /// Throws ConfigurationError that names the option, the path and the reason.
  OutputFile(std::string option, std::string path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  /// Appends `text`. Throws ConfigurationError as above.
  void write(std::string_view text);
  const std::string& option() const { return option_; }
  const std::string& path() const { return path_; }
  /// Whether both are the same regular file, by whatever path.
  bool same_file_as(const OutputFile& other) const;

 private:
  std::string option_, path_;
  int descriptor_ = -1;
};

/// Writes all of `text` to a file descriptor. Returns 0 or the errno of the failure.
int write_all(int descriptor, std::string_view text);

/// While it lives, what the process writes to standard output goes to standard error, or nowhere: a program that prints
/// must not mix with JSON, nor print again when it is run again. Does nothing when `active` is false.
class DivertStandardOutput {
 public:
  enum class To : std::uint8_t { standard_error, nowhere };
  explicit DivertStandardOutput(bool active, To to = To::standard_error);
  ~DivertStandardOutput();
  DivertStandardOutput(const DivertStandardOutput&) = delete;
  DivertStandardOutput& operator=(const DivertStandardOutput&) = delete;

 private:
  int saved_ = -1;
};

/// Flushes what C and C++ streams still hold for standard output.
void flush_standard_output();

}  // namespace kernbench::cli
