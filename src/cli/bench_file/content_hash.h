// Names for contents: equal bytes get equal names, and unequal ones never meet in practice.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace kernbench::cli {

/// Hashes what is added, piece by piece, to 128 bits (XXH3). Not cryptographic: it guards against accidents.
class ContentHash {
 public:
  ContentHash();
  ~ContentHash();
  ContentHash(const ContentHash&) = delete;
  ContentHash& operator=(const ContentHash&) = delete;
  /// Adds a text and its length, so that "ab", "c" and "a", "bc" differ.
  ContentHash& add(std::string_view bytes);
  ContentHash& add(std::uint64_t word);
  /// 32 hexadecimal digits.
  std::string text() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string hash_of(std::string_view bytes);

/// All bytes of a file; nothing when it cannot be read.
std::optional<std::string> read_whole(const std::string& path);

}  // namespace kernbench::cli
