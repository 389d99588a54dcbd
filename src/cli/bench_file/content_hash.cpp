#include "cli/bench_file/content_hash.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstring>

namespace kernbench::cli {
namespace {

// The finaliser of MurmurHash3: every bit of the input changes about half of the output's.
std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdu;
  x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53u;
  return x ^ (x >> 33);
}

}  // namespace

ContentHash& ContentHash::add(std::uint64_t word) {
  a_ = mixed(a_ ^ word) + b_;
  b_ = mixed(std::rotl(b_, 29) ^ word ^ 0x9e3779b97f4a7c15u);
  return *this;
}

ContentHash& ContentHash::add(std::string_view bytes) {
  add(static_cast<std::uint64_t>(bytes.size()));
  while (!bytes.empty()) {
    const std::size_t taken = std::min(bytes.size(), sizeof(std::uint64_t));
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), taken);
    add(word);
    bytes.remove_prefix(taken);
  }
  return *this;
}

std::string ContentHash::text() const {
  return fmt::format("{:016x}{:016x}", mixed(a_ ^ std::rotl(b_, 17)), mixed(b_ + a_));
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
