// Files that a command writes: looked at before the work begins, so that an hour's run does not end in "no such
// directory", and written whole or not at all.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace kernbench::cli {

/// A file to be written. Nothing is created or changed before empty() or write().
class OutputFile {
 public:
  /// Throws ConfigurationError that names the option, the path and the reason when the file could not be written.
  OutputFile(std::string option, std::string path);

  /// Makes `text` the file's contents. A regular file takes the place of the one before when it is whole, so that a
  /// process that dies, or a full disk, leaves that one. Throws ConfigurationError as above.
  void write(std::string_view text) const;
  /// Leaves nothing of what a regular file holds: not the result of another run, should this one end without its own.
  void empty() const;
  const std::string& option() const { return option_; }
  const std::string& path() const { return path_; }
  /// Whether both are the same regular file, by whatever path.
  bool same_file_as(const OutputFile& other) const;

 private:
  std::string option_, path_;
};

/// A file that a command reads, with the option that names it.
struct InputFile {
  std::string option, path;
};

/// Throws ConfigurationError if the output is one of the inputs, which it would overwrite.
void require_no_input(const OutputFile& output, std::span<const InputFile> inputs);

/// Writes all of `text` to a file descriptor. Returns 0 or the errno of the failure.
int write_all(int descriptor, std::string_view text);

/// While it lives, what the process writes to standard output goes to standard error, or nowhere: a program that prints
/// must not mix with JSON, nor print again when it is run again. Does nothing when `active` is false.
class DivertStandardOutput {
 public:
  enum class To : std::uint8_t { standard_error, nowhere };
  explicit DivertStandardOutput(bool active, To to = To::standard_error);
  ~DivertStandardOutput() { restore(); }
  /// Ends the diversion early.
  void restore();
  DivertStandardOutput(const DivertStandardOutput&) = delete;
  DivertStandardOutput& operator=(const DivertStandardOutput&) = delete;

 private:
  int saved_ = -1;
};

/// Flushes what C and C++ streams still hold for standard output.
void flush_standard_output();

}  // namespace kernbench::cli
