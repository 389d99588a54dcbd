#include "cli/bench_file/content_hash.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

// The functions become part of this source: the program needs no library for them where it runs. Builds that inline
// little (-Og) cannot follow the demand to inline all.
#define XXH_INLINE_ALL
#define XXH_NO_INLINE_HINTS 1
#include <xxhash.h>

namespace kernbench::cli {

struct ContentHash::State {
  XXH3_state_t value;
};

ContentHash::ContentHash() : state_(std::make_unique<State>()) {
  XXH3_128bits_reset(&state_->value);
}

ContentHash::~ContentHash() = default;

ContentHash& ContentHash::add(std::uint64_t word) {
  XXH3_128bits_update(&state_->value, &word, sizeof word);
  return *this;
}

ContentHash& ContentHash::add(std::string_view bytes) {
  add(static_cast<std::uint64_t>(bytes.size()));
  XXH3_128bits_update(&state_->value, bytes.data(), bytes.size());
  return *this;
}

std::string ContentHash::text() const {
  const XXH128_hash_t hash = XXH3_128bits_digest(&state_->value);
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

std::string hash_of(std::string_view bytes) {
  return ContentHash().add(bytes).text();
}

std::optional<std::string> read_whole(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return std::nullopt;
  struct stat status{};
  std::string bytes;
  bool good = ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
  if (good) bytes.resize(static_cast<std::size_t>(status.st_size));
  for (std::size_t at = 0; good && at < bytes.size();) {
    const ssize_t got = ::read(descriptor, bytes.data() + at, bytes.size() - at);
    if (got > 0) at += static_cast<std::size_t>(got);
    if (got == 0) bytes.resize(at);  // it has become shorter meanwhile
    if (got < 0 && errno != EINTR) good = false;
  }
  ::close(descriptor);
  if (!good) return std::nullopt;
  return bytes;
}

}  // namespace kernbench::cli
