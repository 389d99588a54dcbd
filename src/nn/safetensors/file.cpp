#include "nn/safetensors/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

#include "kernbench/error.h"

namespace kernbench::safetensors {

namespace {

static_assert(std::endian::native == std::endian::little, "elements and lengths are read as they lie in memory");

[[noreturn]] void fail_file(const std::string& path, const std::string& what) {
  throw ConfigurationError(fmt::format("{}: {}", path, what));
}

int opened(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) fail_file(path, fmt::format("it cannot be read: {}", std::strerror(errno)));
  return descriptor;
}

std::int64_t size_of(int descriptor, const std::string& path) {
  struct stat status{};
  if (::fstat(descriptor, &status) != 0) fail_file(path, fmt::format("it cannot be read: {}", std::strerror(errno)));
  if (!S_ISREG(status.st_mode)) fail_file(path, "this is no regular file");
  return status.st_size;
}

void read_at(int descriptor, std::int64_t offset, std::int64_t bytes, std::byte* out, const std::string& path) {
  while (bytes > 0) {
    const ssize_t got = ::pread(descriptor, out, static_cast<std::size_t>(bytes), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_file(path, fmt::format("byte {} cannot be read: {}", offset, std::strerror(errno)));
    if (got == 0) fail_file(path, fmt::format("it ends at byte {}; it was longer when it was opened", offset));
    offset += got, bytes -= got, out += got;
  }
}

}  // namespace

File::File(std::string path) : path_(std::move(path)), descriptor_(opened(path_)) {
  try {
    open_and_check();
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
}

File::~File() {
  ::close(descriptor_);
}

void File::open_and_check() {
  const std::int64_t size = size_of(descriptor_, path_);
  if (size < kLengthBytes)
    fail_file(path_, fmt::format("it has {} bytes; a safetensors file begins with eight of its header's length", size));
  std::uint64_t length = 0;
  read_at(descriptor_, 0, kLengthBytes, reinterpret_cast<std::byte*>(&length), path_);
  if (length > static_cast<std::uint64_t>(kLongestHeader) || static_cast<std::int64_t>(length) > size - kLengthBytes) {
    fail_file(path_, fmt::format("its header would have {} bytes, but the file has {} and a header {} at most; is it a "
                                 "safetensors file?",
                                 length, size, kLongestHeader));
  }
  std::string text(length, '\0');
  read_at(descriptor_, kLengthBytes, static_cast<std::int64_t>(length), reinterpret_cast<std::byte*>(text.data()),
          path_);
  data_begin_ = kLengthBytes + static_cast<std::int64_t>(length);
  header_ = parse_header(text, size - data_begin_, path_);
}

void File::read(std::int64_t offset, std::int64_t bytes, std::byte* out) const {
  read_at(descriptor_, data_begin_ + offset, bytes, out, path_);
}

std::string text_of_file(const std::string& path, std::int64_t longest) {
  struct Closing {
    int descriptor;
    ~Closing() { ::close(descriptor); }
  } const file{opened(path)};
  const std::int64_t size = size_of(file.descriptor, path);
  if (size > longest) fail_file(path, fmt::format("it has {} bytes; {} is the limit", size, longest));
  std::string text(static_cast<std::size_t>(size), '\0');
  read_at(file.descriptor, 0, size, reinterpret_cast<std::byte*>(text.data()), path);
  return text;
}

}  // namespace kernbench::safetensors
