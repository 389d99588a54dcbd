#include "nn/safetensors/header.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "kernbench/error.h"

namespace kernbench::safetensors {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<ElementType, 15> kTypes{{{"BOOL", 1, DType::boolean},
                                              {"U8", 1, DType::u8},
                                              {"I8", 1, DType::i8},
                                              {"F8_E5M2", 1, DType::f8e5m2},
                                              {"F8_E4M3", 1, DType::f8e4m3},
                                              {"I16", 2, {}},
                                              {"U16", 2, {}},
                                              {"F16", 2, DType::f16},
                                              {"BF16", 2, DType::bf16},
                                              {"I32", 4, DType::i32},
                                              {"U32", 4, {}},
                                              {"F32", 4, DType::f32},
                                              {"F64", 8, DType::f64},
                                              {"I64", 8, DType::i64},
                                              {"U64", 8, {}}}};

[[noreturn]] void fail(const std::string& file, const std::string& what) {
  throw ConfigurationError(fmt::format("{}: {}", file, what));
}

/// A text as it may stand in a message: the first part of a long one, and no control characters.
std::string shown(std::string_view text) {
  constexpr std::size_t kLongest = 80;
  std::string result;
  for (const char c : text.substr(0, kLongest)) result += static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? '?' : c;
  return text.size() > kLongest ? result + "..." : result;
}

bool is_utf8(const std::string& text) {
  try {
    return !Json(text).dump().empty();
  } catch (const Json::type_error&) {
    return false;
  }
}

/// For a message about a text that is no UTF-8: bytes beyond ASCII as "\xff".
std::string with_bytes_shown(const std::string& text) {
  std::string result;
  for (const char c : shown(text)) {
    const auto byte = static_cast<unsigned char>(c);
    result += byte < 0x80 ? std::string(1, c) : fmt::format("\\x{:02x}", byte);
  }
  return result;
}

/// JSON in which no object has a key twice.
Json parse_json(std::string_view text, const std::string& file, const char* what) {
  std::vector<std::set<std::string>> keys;
  std::string twice;
  const auto watch = [&](int, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key && !keys.back().insert(parsed.get<std::string>()).second && twice.empty())
      twice = parsed.get<std::string>();
    return true;
  };
  Json json;
  try {
    json = Json::parse(text.begin(), text.end(), watch);
  } catch (const Json::parse_error& error) {
    fail(file, fmt::format("{}, byte {}: this is no JSON", what, error.byte));
  } catch (const Json::exception&) {
    fail(file, fmt::format("{}: a number is too large for JSON's", what));
  }
  // The parser takes a NUL for the end of the text, and looks at nothing behind it.
  if (const auto nul = text.find('\0'); nul != std::string_view::npos)
    fail(file, fmt::format("{}, byte {}: this is no JSON", what, nul + 1));
  if (!twice.empty()) fail(file, fmt::format("{}: the key \"{}\" stands there twice", what, shown(twice)));
  if (!json.is_object()) fail(file, fmt::format("{}: a JSON object is expected", what));
  return json;
}

/// Reads the entry of one tensor.
class EntryReader {
 public:
  EntryReader(const std::string& name, const Json& json, const std::string& file)
      : name_(name), json_(json), file_(file) {}

  TensorEntry read() const {
    if (!json_.is_object()) complain("an object with dtype, shape and data_offsets is expected");
    for (const auto& item : json_.items()) {
      if (item.key() != "dtype" && item.key() != "shape" && item.key() != "data_offsets")
        complain(
            fmt::format("\"{}\" is no key of a tensor; these are dtype, shape and data_offsets", shown(item.key())));
    }
    TensorEntry entry{name_, type(), numbers("shape"), 0, 0};
    const auto range = numbers("data_offsets");
    if (range.size() != 2 || range[0] > range[1])
      complain("data_offsets must be two numbers [begin, end], the first not above the second");
    entry.begin = range[0], entry.end = range[1];
    check_size(entry);
    return entry;
  }

 private:
  [[noreturn]] void complain(const std::string& what) const {
    fail(file_, fmt::format("tensor \"{}\": {}", shown(name_), what));
  }
  const Json& at(const char* key) const {
    const auto found = json_.find(key);
    if (found == json_.end()) complain(fmt::format("it has no {}", key));
    return *found;
  }
  const ElementType* type() const {
    const Json& json = at("dtype");
    if (!json.is_string()) complain("dtype must be a text, such as \"F32\"");
    const auto& text = json.get_ref<const std::string&>();
    if (const ElementType* const found = element_type(text)) return found;
    std::string all;
    for (const ElementType& each : kTypes) all += fmt::format("{}{}", all.empty() ? "" : ", ", each.name);
    complain(fmt::format("the dtype \"{}\" is unknown; there are {}", shown(text), all));
  }
  std::vector<std::int64_t> numbers(const char* key) const {
    const Json& json = at(key);
    if (!json.is_array()) complain(fmt::format("{} must be a list of whole numbers", key));
    std::vector<std::int64_t> result;
    for (const Json& each : json) {
      if (!each.is_number_unsigned() || each.get<std::uint64_t>() > INT64_MAX)
        complain(fmt::format("{} must be a list of whole numbers from 0 to 2^63 - 1", key));
      result.push_back(each.get<std::int64_t>());
    }
    return result;
  }
  void check_size(const TensorEntry& entry) const {
    std::int64_t bytes = entry.type->size;
    bool fits = true;
    // A product with a zero is small, whatever stands before it.
    if (std::ranges::find(entry.shape, 0) != entry.shape.end())
      bytes = 0;
    else
      for (const std::int64_t extent : entry.shape) fits = fits && !__builtin_mul_overflow(bytes, extent, &bytes);
    if (fits && entry.end - entry.begin == bytes) return;
    complain(fmt::format("data_offsets [{}, {}] hold {} bytes, but {} of shape [{}] takes {}", entry.begin, entry.end,
                         entry.end - entry.begin, entry.type->name, fmt::join(entry.shape, ", "),
                         fits ? std::to_string(bytes) : "more than 2^63"));
  }

  const std::string& name_;
  const Json& json_;
  const std::string& file_;
};

void check_cover(const Header& header, std::int64_t data_bytes, const std::string& file) {
  std::int64_t covered = 0;
  for (const TensorEntry& entry : header.tensors) {
    if (entry.begin != covered) {
      fail(file,
           fmt::format("tensor \"{}\": its elements begin at byte {} behind the header, but those before it end at "
                       "{}; ranges must neither overlap nor leave a gap",
                       shown(entry.name), entry.begin, covered));
    }
    covered = entry.end;
  }
  if (covered == data_bytes) return;
  fail(file, fmt::format("the tensors take {} bytes behind the header, but the file has {}; it is {}", covered,
                         data_bytes, covered > data_bytes ? "cut off" : "too long"));
}

}  // namespace

const ElementType* element_type(std::string_view name) {
  const auto* const found = std::ranges::find(kTypes, name, &ElementType::name);
  return found == kTypes.end() ? nullptr : found;
}

const ElementType& element_type(DType type) {
  return *std::ranges::find(kTypes, std::optional(type), &ElementType::type);
}

Header parse_header(std::string_view text, std::int64_t data_bytes, const std::string& file) {
  const Json json = parse_json(text, file, "header");
  Header header;
  for (const auto& item : json.items()) {
    if (item.key() != kMetadataKey) {
      header.tensors.push_back(EntryReader(item.key(), item.value(), file).read());
      continue;
    }
    if (!item.value().is_object()) fail(file, "__metadata__ must be an object of texts");
    for (const auto& line : item.value().items()) {
      if (!line.value().is_string()) fail(file, fmt::format("__metadata__: \"{}\" must be a text", shown(line.key())));
      header.metadata.emplace(line.key(), line.value().get<std::string>());
    }
  }
  std::ranges::stable_sort(header.tensors, {}, [](const TensorEntry& e) { return std::pair(e.begin, e.end); });
  check_cover(header, data_bytes, file);
  return header;
}

void check_texts(const Header& header, const std::string& file) {
  for (const TensorEntry& entry : header.tensors) {
    if (!is_utf8(entry.name)) {
      fail(file, fmt::format("tensor \"{}\": its name is no UTF-8, as the format has all names; rename it",
                             with_bytes_shown(entry.name)));
    }
  }
  for (const auto& [key, value] : header.metadata) {
    if (!is_utf8(key) || !is_utf8(value)) {
      fail(file, fmt::format("__metadata__: \"{}\": \"{}\" is no UTF-8, as the format has all texts",
                             with_bytes_shown(key), with_bytes_shown(value)));
    }
  }
}

std::string header_text(const Header& header) {
  Json json = Json::object();
  for (const auto& [key, value] : header.metadata) json[kMetadataKey][key] = value;
  for (const TensorEntry& entry : header.tensors) {
    json[entry.name] = {
        {"dtype", entry.type->name}, {"shape", entry.shape}, {"data_offsets", {entry.begin, entry.end}}};
  }
  std::string text = json.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  return text;
}

std::vector<std::pair<std::string, std::string>> parse_index(std::string_view text, const std::string& file) {
  const Json json = parse_json(text, file, "index");
  const auto map = json.find("weight_map");
  if (map == json.end() || !map->is_object())
    fail(file, "it has no \"weight_map\", an object of the file of each tensor");
  std::vector<std::pair<std::string, std::string>> result;
  for (const auto& item : map->items()) {
    if (!item.value().is_string()) fail(file, fmt::format("weight_map: \"{}\" must name a file", shown(item.key())));
    const auto& name = item.value().get_ref<const std::string&>();
    if (name.empty() || name.find('/') != std::string::npos)
      fail(file, fmt::format("weight_map: \"{}\" must name a file beside the index, not \"{}\"", shown(item.key()),
                             shown(name)));
    result.emplace_back(item.key(), name);
  }
  return result;
}

}  // namespace kernbench::safetensors
