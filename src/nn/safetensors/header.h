// The header of a safetensors file: what stands where.
//
// source: the format's description in the README of huggingface/safetensors: eight bytes of the header's length
// (little- endian), the header, which is a JSON object of tensors ({"dtype", "shape", "data_offsets"}) and perhaps
// "__metadata__" (text by text), and the elements, which the ranges cover without gaps. Limit of the header: 100 MB.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernbench/dtype.h"

namespace kernbench::safetensors {

struct ElementType {
  std::string_view name;
  std::int64_t size = 0;
  std::optional<DType> type;  // none: KernBench has no such type
};
/// All types of the format, in the order in which it sorts them; null for another name.
const ElementType* element_type(std::string_view name);
const ElementType& element_type(DType type);

struct TensorEntry {
  std::string name;
  const ElementType* type = nullptr;
  std::vector<std::int64_t> shape;
  std::int64_t begin = 0, end = 0;  // bytes behind the header
};

struct Header {
  std::vector<TensorEntry> tensors;  // by their place in the file
  std::map<std::string, std::string> metadata;
};

/// The key of the texts, which no tensor can have for its name.
constexpr const char* kMetadataKey = "__metadata__";
constexpr std::int64_t kLengthBytes = 8;
constexpr std::int64_t kLongestHeader = 100'000'000;

/// Reads the text of a header, in front of so many bytes of elements. ConfigurationError, which begins with `file`.
Header parse_header(std::string_view text, std::int64_t data_bytes, const std::string& file);

/// The header of these tensors, whose ranges are set, padded with spaces to a multiple of eight bytes.
std::string header_text(const Header& header);
/// ConfigurationError unless all names and texts are UTF-8, without which header_text cannot write them.
void check_texts(const Header& header, const std::string& file);

/// The files of an index by the tensor that they have, in order.
std::vector<std::pair<std::string, std::string>> parse_index(std::string_view text, const std::string& file);

}  // namespace kernbench::safetensors
