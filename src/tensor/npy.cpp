// Reading and writing numpy's .npy files.
//
// source: NumPy Enhancement Proposal 1 and numpy.lib.format: six magic bytes, two bytes of version, the header's length
// (two bytes in version 1, four from version 2 on, little-endian), and a header that is the text of a Python dictionary
// with the keys descr, fortran_order and shape, padded with spaces and a newline to a multiple of 64 bytes. Version 3
// differs by UTF-8 in names of fields, of which there are none here.
#include "kernbench/torch/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <fstream>
#include <istream>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "kernbench/error.h"
#include "tensor/dimensions.h"
#include "tensor/host_call.h"
#include "tensor/promotion.h"
#include "tensor/tensor_impl.h"

namespace kernbench::torch {

namespace {

using tensor::Extents;
using tensor::impl_of;

static_assert(std::endian::native == std::endian::little, "elements are written as they lie in memory");

constexpr std::string_view kMagic("\x93NUMPY", 6);
/// A header of the types that are read here needs some 300 bytes at most; a file that asks for more is no such file.
constexpr std::uint32_t kLongestHeader = 64 * 1024;
constexpr std::size_t kMaximumRank = 8;

struct NumpyType {
  std::string_view name;  // without the byte order
  ScalarType type;
};
constexpr std::array<NumpyType, 8> kTypes{{{"b1", kBool},
                                           {"u1", kByte},
                                           {"i1", kChar},
                                           {"i4", kInt},
                                           {"i8", kLong},
                                           {"f2", kHalf},
                                           {"f4", kFloat},
                                           {"f8", kDouble}}};

// ---- writing -----------------------------------------------------------------------------------------------------

std::string numpy_type(ScalarType type) {
  for (const NumpyType& entry : kTypes)
    if (entry.type == type) return (item_size(type) == 1 ? "|" : "<") + std::string(entry.name);
  throw ValueError(
      fmt::format("save_npy: numpy has no element type for {}; convert the tensor with .to(torch::kFloat) first",
                  tensor::text_of(type)));
}

std::string numpy_shape(IntArrayRef sizes) {
  std::string text = "(";
  for (const std::int64_t size : sizes) text += fmt::format("{}, ", size);
  if (sizes.size() > 1) text.resize(text.size() - 2);  // (2, 3) but (2,)
  if (sizes.size() == 1) text.pop_back();
  return text + ")";
}

std::string header_of(const Tensor& tensor) {
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}",
                                   numpy_type(tensor.scalar_type()), numpy_shape(tensor.sizes()));
  // The elements begin at a multiple of 64 bytes: magic, version and length take ten.
  const std::size_t unpadded = 10 + header.size() + 1;
  header.append((unpadded + 63) / 64 * 64 - unpadded, ' ');
  return header + '\n';
}

// ---- reading -----------------------------------------------------------------------------------------------------

/// What the header says.
struct Header {
  ScalarType type = kFloat;
  bool swapped = false;
  bool fortran_order = false;
  Extents shape;
};

/// Reads the text of the dictionary.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  Header parse() {
    expect('{');
    while (!accept('}')) {
      read_entry();
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_spaces();
    if (at_ != text_.size()) fail("text after the dictionary");
    if (!type_) fail("no key 'descr'");
    if (!fortran_order_) fail("no key 'fortran_order'");
    if (!shape_) fail("no key 'shape'");
    return {*type_, swapped_, *fortran_order_, *shape_};
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw ConfigurationError(fmt::format("{}: header, byte {}: {}; expected a dictionary like {{'descr': '<f4', "
                                         "'fortran_order': False, 'shape': (2, 3), }}",
                                         name_, at_, what),
                             name_);
  }

  void skip_spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  bool accept(char character) {
    skip_spaces();
    if (at_ >= text_.size() || text_[at_] != character) return false;
    ++at_;
    return true;
  }
  void expect(char character) {
    if (!accept(character)) fail(fmt::format("no '{}'", character));
  }
  bool accept_word(std::string_view word) {
    skip_spaces();
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  std::string read_string() {
    skip_spaces();
    if (at_ >= text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) fail("no string");
    const char quote = text_[at_++];
    const std::size_t end = text_.find(quote, at_);
    if (end == std::string_view::npos) fail("a string without an end");
    std::string value(text_.substr(at_, end - at_));
    if (value.find('\\') != std::string::npos) fail("an escape in a string");
    at_ = end + 1;
    return value;
  }

  bool read_boolean() {
    if (accept_word("True")) return true;
    if (accept_word("False")) return false;
    fail("neither True nor False");
  }

  std::int64_t read_extent() {
    skip_spaces();
    std::int64_t value = 0;
    const std::size_t first = at_;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
      if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, text_[at_] - '0', &value))
        fail("an extent beyond 64 bits");
    }
    if (at_ == first) fail("no extent");
    accept('L');  // as Python 2 wrote it
    return value;
  }

  Extents read_shape() {
    Extents shape;
    expect('(');
    while (!accept(')')) {
      if (shape.size() == kMaximumRank) fail(fmt::format("more than {} dimensions", kMaximumRank));
      shape.push_back(read_extent());
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return shape;
  }

  void read_type() {
    const std::string text = read_string();
    const std::string_view name = text.empty() ? std::string_view() : std::string_view(text).substr(1);
    for (const NumpyType& entry : kTypes) {
      if (name != entry.name) continue;
      const bool one_byte = item_size(entry.type) == 1;
      // '|' says that there is no byte order to speak of, '=' that it is the writer's.
      if (one_byte || text[0] == '<' || text[0] == '=' || text[0] == '>') {
        if (std::string_view("<>=|").find(text[0]) == std::string_view::npos) break;
        type_ = entry.type;
        swapped_ = !one_byte && text[0] == '>';
        return;
      }
    }
    fail(fmt::format("element type '{}', which is none of b1, u1, i1, i4, i8, f2, f4, f8", text));
  }

  void read_entry() {
    const std::string key = read_string();
    expect(':');
    if (key == "descr") {
      if (type_) fail("key 'descr' twice");
      read_type();
    } else if (key == "fortran_order") {
      if (fortran_order_) fail("key 'fortran_order' twice");
      fortran_order_ = read_boolean();
    } else if (key == "shape") {
      if (shape_) fail("key 'shape' twice");
      shape_ = read_shape();
    } else {
      fail(fmt::format("unknown key '{}'", key));
    }
  }

  std::string_view text_;
  const std::string& name_;
  std::size_t at_ = 0;
  std::optional<ScalarType> type_;
  bool swapped_ = false;
  std::optional<bool> fortran_order_;
  std::optional<Extents> shape_;
};

class Reader {
 public:
  Reader(std::istream& in, const std::string& name) : in_(in), name_(name) {}

  Tensor read() {
    const Header header = HeaderParser(read_header(), name_).parse();
    std::int64_t bytes = 0;
    try {
      bytes = tensor::checked_numel(header.shape) * item_size(header.type);
    } catch (const ValueError& error) {
      fail(error.what());
    }
    std::vector<std::byte> elements = read_elements(bytes);
    if (in_.peek() != std::istream::traits_type::eof())
      fail(fmt::format("bytes after the {} of the elements; the file holds more than one array, or none", bytes));
    if (header.swapped) swap_bytes(elements, static_cast<std::size_t>(item_size(header.type)));
    return tensor_of(header, elements);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw ConfigurationError(fmt::format("{}: {}", name_, what), name_);
  }

  std::string read_bytes(std::size_t count, const char* what) {
    std::string bytes(count, '\0');
    in_.read(bytes.data(), static_cast<std::streamsize>(count));
    if (static_cast<std::size_t>(in_.gcount()) != count)
      fail(fmt::format("the file ends within the {}: {} of {} bytes", what, in_.gcount(), count));
    return bytes;
  }

  std::string read_header() {
    const std::string start = read_bytes(8, "magic string");
    if (std::string_view(start).substr(0, 6) != kMagic)
      fail("not a .npy file: it does not begin with \\x93NUMPY (an .npz file is a zip archive; unpack it first)");
    const auto major = static_cast<unsigned char>(start[6]), minor = static_cast<unsigned char>(start[7]);
    if (major < 1 || major > 3 || minor != 0)
      fail(fmt::format("format {}.{} is unknown; 1.0, 2.0 and 3.0 are read", major, minor));
    const std::string length_bytes = read_bytes(major == 1 ? 2 : 4, "header's length");
    std::uint32_t length = 0;
    for (std::size_t i = length_bytes.size(); i-- > 0;)
      length = length << 8 | static_cast<unsigned char>(length_bytes[i]);
    if (length > kLongestHeader)
      fail(fmt::format("a header of {} bytes; one of plain arrays has at most {}", length, kLongestHeader));
    return read_bytes(length, "header");
  }

  /// In pieces, so that a header that promises too much allocates no more than the file holds.
  std::vector<std::byte> read_elements(std::int64_t bytes) {
    constexpr std::int64_t kPiece = 1 << 24;
    std::vector<std::byte> elements;
    for (std::int64_t done = 0; done < bytes;) {
      const std::int64_t piece = std::min(kPiece, bytes - done);
      elements.resize(static_cast<std::size_t>(done + piece));
      in_.read(reinterpret_cast<char*>(elements.data() + done), piece);
      done += in_.gcount();
      if (in_.gcount() != piece) fail(fmt::format("the file ends within the elements: {} of {} bytes", done, bytes));
    }
    return elements;
  }

  static void swap_bytes(std::vector<std::byte>& elements, std::size_t item) {
    for (auto at = elements.begin(); at != elements.end(); at += static_cast<std::ptrdiff_t>(item))
      std::reverse(at, at + static_cast<std::ptrdiff_t>(item));
  }

  static Tensor tensor_of(const Header& header, const std::vector<std::byte>& elements) {
    Extents stored = header.shape;
    if (header.fortran_order) std::ranges::reverse(stored);
    Tensor tensor = tensor::new_host_tensor(stored, header.type);
    if (!elements.empty()) std::memcpy(impl_of(tensor).data(), elements.data(), elements.size());
    if (header.type == kBool) {
      // Any byte but 0 is true.
      for (std::int64_t i = 0; i < tensor.numel(); ++i) {
        std::byte& element = impl_of(tensor).data()[i];
        element = element == std::byte{0} ? std::byte{0} : std::byte{1};
      }
    }
    return header.fortran_order ? tensor.T() : tensor;
  }

  std::istream& in_;
  const std::string& name_;
};

}  // namespace

namespace {

/// All that a file will hold; made before the file is opened, so that an error leaves an old one as it was.
struct Contents {
  std::string header;
  Tensor host;
};

Contents contents_of(const Tensor& tensor) {
  tensor::require_host_context("save_npy");
  return {header_of(tensor), tensor::host_copy(tensor, tensor::HostRead::save).contiguous()};
}

void write(std::ostream& out, const Contents& contents) {
  const auto length = static_cast<std::uint16_t>(contents.header.size());
  out.write(kMagic.data(), static_cast<std::streamsize>(kMagic.size()));
  out.put('\1').put('\0').put(static_cast<char>(length & 0xFF)).put(static_cast<char>(length >> 8));
  out.write(contents.header.data(), static_cast<std::streamsize>(contents.header.size()));
  out.write(reinterpret_cast<const char*>(impl_of(contents.host).data()),
            static_cast<std::streamsize>(contents.host.nbytes()));
}

}  // namespace

void save_npy(std::ostream& out, const Tensor& tensor, Where where) {
  const tensor::HostCall here("save_npy", where);
  write(out, contents_of(tensor));
}

void save_npy(const std::string& file, const Tensor& tensor, Where where) {
  const tensor::HostCall here("save_npy", where);
  const Contents contents = contents_of(tensor);
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  if (out) write(out, contents);
  out.close();
  if (!out) {
    throw ConfigurationError(fmt::format("{}: cannot be written; does its folder exist, and is there room?", file),
                             file);
  }
}

Tensor load_npy(std::istream& in, const std::string& name, Where where) {
  const tensor::HostCall here("load_npy", where);
  tensor::require_host_context("load_npy");
  return Reader(in, name).read();
}

Tensor load_npy(const std::string& file, Where where) {
  const tensor::HostCall here("load_npy", where);
  std::ifstream in(file, std::ios::binary);
  if (!in) throw ConfigurationError(fmt::format("{}: cannot be read; does it exist?", file), file);
  return load_npy(in, file);
}

}  // namespace kernbench::torch
