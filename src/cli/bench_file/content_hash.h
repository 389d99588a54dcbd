// Names for contents: equal bytes get equal names, and unequal ones never meet in practice.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kernbench::cli {

/// Hashes what is added, piece by piece, to 128 bits. Not cryptographic: it guards against accidents.
class ContentHash {
 public:
  /// Adds a text and its length, so that "ab", "c" and "a", "bc" differ.
  ContentHash& add(std::string_view bytes);
  ContentHash& add(std::uint64_t word);
  /// 32 hexadecimal digits.
  std::string text() const;

 private:
  std::uint64_t a_ = 0x6a09e667f3bcc908u, b_ = 0xbb67ae8584caa73bu;  // of sqrt(2) and sqrt(3), as good as any
};

std::string hash_of(std::string_view bytes);

/// All bytes of a file; nothing when it cannot be read.
std::optional<std::string> read_whole(const std::string& path);

}  // namespace kernbench::cli
