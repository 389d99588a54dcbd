// One safetensors file: opened and checked, its elements read in pieces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "nn/safetensors/header.h"

namespace kernbench::safetensors {

/// Stays open while it lives, so that elements can be read later.
class File {
 public:
  explicit File(std::string path);
  ~File();
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  const std::string& path() const { return path_; }
  const Header& header() const { return header_; }
  /// Bytes behind the header. ConfigurationError when the file has become shorter.
  void read(std::int64_t offset, std::int64_t bytes, std::byte* out) const;

 private:
  void open_and_check();

  std::string path_;
  int descriptor_ = -1;
  std::int64_t data_begin_ = 0;
  Header header_;
};

/// The text of a file; ConfigurationError when it cannot be read or is longer.
std::string text_of_file(const std::string& path, std::int64_t longest);

}  // namespace kernbench::safetensors
