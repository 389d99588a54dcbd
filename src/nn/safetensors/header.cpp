#include "nn/safetensors/header.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_set>
#include <utility>

#include "kernbench/error.h"

namespace kernbench::safetensors {

namespace {

using Json = nlohmann::json;

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

/// A value of a header or an index. An object keeps its keys in order; none has a key twice.
struct Value {
  enum class Kind : std::uint8_t { other, text, whole, list, object };
  Kind kind = Kind::other;
  std::uint64_t number = 0;  // of a whole one
  std::string text;
  std::vector<Value> items;  // of a list or an object
  std::string key;           // within an object

  const Value* find(std::string_view name) const {
    const auto found = std::ranges::find(items, name, &Value::key);
    return kind == Kind::object && found != items.end() ? &*found : nullptr;
  }
};

/// Makes a Value of what the parser of JSON meets. What lies deeper than any number of a header has no meaning: it is
/// looked at for keys that stand twice, and not kept.
class ValueBuilder {
 public:
  bool null() { return add({}); }
  bool boolean(bool /*value*/) { return add({}); }
  bool number_integer(std::int64_t /*value*/) { return add({}); }
  bool number_unsigned(std::uint64_t value) { return add({Value::Kind::whole, value, {}, {}, {}}); }
  bool number_float(double /*value*/, const std::string& /*text*/) { return add({}); }
  bool string(std::string& text) { return add({Value::Kind::text, 0, std::move(text), {}, {}}); }
  bool binary(Json::binary_t& /*bytes*/) { return add({}); }
  bool start_object(std::size_t /*size*/) {
    keys_.emplace_back();
    return open(Value::Kind::object);
  }
  bool end_object() {
    keys_.pop_back();
    return close();
  }
  bool start_array(std::size_t /*size*/) { return open(Value::Kind::list); }
  bool end_array() { return close(); }
  bool key(std::string& text) {
    const bool is_new = keys_.back().insert(text).second;
    if (!is_new && twice_.empty()) twice_ = text;
    key_ = std::move(text);
    return true;
  }
  bool parse_error(std::size_t /*position*/, const std::string& /*token*/, const Json::exception& error) {
    const auto* const no_json = dynamic_cast<const Json::parse_error*>(&error);
    if (no_json != nullptr) error_byte_ = no_json->byte;
    number_too_large_ = no_json == nullptr;
    return false;
  }

  Value take() && { return std::move(root_); }
  const std::string& twice() const { return twice_; }
  /// The byte at which the text is no JSON.
  std::optional<std::size_t> error_byte() const { return error_byte_; }
  bool number_too_large() const { return number_too_large_; }

 private:
  static constexpr std::size_t kDepth = 4;  // the header, a tensor, its shape, a number

  bool add(Value value) {
    place(std::move(value));
    return true;
  }
  /// Where it stands now; null: too deep.
  Value* place(Value value) {
    if (depth_ == 0) return &(root_ = std::move(value));
    if (depth_ >= kDepth) return nullptr;
    Value& around = *open_[depth_ - 1];
    if (around.kind == Value::Kind::object) value.key = std::move(key_);
    return &around.items.emplace_back(std::move(value));
  }
  bool open(Value::Kind kind) {
    Value* const here = place({kind, 0, {}, {}, {}});
    // What is open is the last of what is around it, which grows when this is closed only.
    if (here != nullptr) open_[depth_] = here;
    ++depth_;
    return true;
  }
  bool close() {
    --depth_;
    return true;
  }

  Value root_;
  std::array<Value*, kDepth> open_{};
  std::size_t depth_ = 0;
  std::string key_;
  std::vector<std::unordered_set<std::string>> keys_;  // of each object that is open
  std::string twice_;
  std::optional<std::size_t> error_byte_;
  bool number_too_large_ = false;
};

/// JSON in which no object has a key twice.
Value parse_json(std::string_view text, const std::string& file, const char* what) {
  ValueBuilder builder;
  Json::sax_parse(text.begin(), text.end(), &builder);
  if (const auto byte = builder.error_byte()) fail(file, fmt::format("{}, byte {}: this is no JSON", what, *byte));
  if (builder.number_too_large()) fail(file, fmt::format("{}: a number is too large for JSON's", what));
  // The parser takes a NUL for the end of the text, and looks at nothing behind it.
  if (const auto nul = text.find('\0'); nul != std::string_view::npos)
    fail(file, fmt::format("{}, byte {}: this is no JSON", what, nul + 1));
  if (!builder.twice().empty())
    fail(file, fmt::format("{}: the key \"{}\" stands there twice", what, shown(builder.twice())));
  Value root = std::move(builder).take();
  if (root.kind != Value::Kind::object) fail(file, fmt::format("{}: a JSON object is expected", what));
  return root;
}

/// Reads the entry of one tensor.
class EntryReader {
 public:
  EntryReader(const std::string& name, const Value& value, const std::string& file)
      : name_(name), value_(value), file_(file) {}

  TensorEntry read() const {
    if (value_.kind != Value::Kind::object) complain("an object with dtype, shape and data_offsets is expected");
    for (const Value& value : value_.items) {
      const std::string& key = value.key;
      if (key != "dtype" && key != "shape" && key != "data_offsets")
        complain(fmt::format("\"{}\" is no key of a tensor; these are dtype, shape and data_offsets", shown(key)));
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
  const Value& at(const char* key) const {
    const Value* const found = value_.find(key);
    if (found == nullptr) complain(fmt::format("it has no {}", key));
    return *found;
  }
  const ElementType* type() const {
    const Value& value = at("dtype");
    if (value.kind != Value::Kind::text) complain("dtype must be a text, such as \"F32\"");
    if (const ElementType* const found = element_type(value.text)) return found;
    std::string all;
    for (const ElementType& each : kTypes) all += fmt::format("{}{}", all.empty() ? "" : ", ", each.name);
    complain(fmt::format("the dtype \"{}\" is unknown; there are {}", shown(value.text), all));
  }
  std::vector<std::int64_t> numbers(const char* key) const {
    const Value& value = at(key);
    if (value.kind != Value::Kind::list) complain(fmt::format("{} must be a list of whole numbers", key));
    std::vector<std::int64_t> result;
    for (const Value& each : value.items) {
      if (each.kind != Value::Kind::whole || each.number > INT64_MAX)
        complain(fmt::format("{} must be a list of whole numbers from 0 to 2^63 - 1", key));
      result.push_back(static_cast<std::int64_t>(each.number));
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
  const Value& value_;
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
  const Value root = parse_json(text, file, "header");
  Header header;
  for (const Value& value : root.items) {
    const std::string& name = value.key;
    if (name != kMetadataKey) {
      header.tensors.push_back(EntryReader(name, value, file).read());
      continue;
    }
    if (value.kind != Value::Kind::object) fail(file, "__metadata__ must be an object of texts");
    for (const Value& line : value.items) {
      if (line.kind != Value::Kind::text)
        fail(file, fmt::format("__metadata__: \"{}\" must be a text", shown(line.key)));
      header.metadata.emplace(line.key, line.text);
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
  const auto quoted = [](std::string_view text) { return Json(text).dump(); };
  std::string text;
  for (const auto& [key, value] : header.metadata)
    text += fmt::format("{}{}:{}", text.empty() ? "" : ",", quoted(key), quoted(value));
  if (!text.empty()) text = fmt::format("{}:{{{}}}", quoted(kMetadataKey), text);
  for (const TensorEntry& entry : header.tensors) {
    text += fmt::format(R"({}{}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})", text.empty() ? "" : ",",
                        quoted(entry.name), entry.type->name, fmt::join(entry.shape, ","), entry.begin, entry.end);
  }
  text = "{" + text + "}";
  text.append((8 - text.size() % 8) % 8, ' ');
  return text;
}

std::vector<std::pair<std::string, std::string>> parse_index(std::string_view text, const std::string& file) {
  const Value root = parse_json(text, file, "index");
  const Value* const map = root.find("weight_map");
  if (map == nullptr || map->kind != Value::Kind::object)
    fail(file, "it has no \"weight_map\", an object of the file of each tensor");
  std::vector<std::pair<std::string, std::string>> result;
  for (const Value& value : map->items) {
    const std::string& tensor = value.key;
    if (value.kind != Value::Kind::text) fail(file, fmt::format("weight_map: \"{}\" must name a file", shown(tensor)));
    const std::string& name = value.text;
    if (name.empty() || name.find('/') != std::string::npos)
      fail(file,
           fmt::format("weight_map: \"{}\" must name a file beside the index, not \"{}\"", shown(tensor), shown(name)));
    result.emplace_back(tensor, name);
  }
  return result;
}

}  // namespace kernbench::safetensors
