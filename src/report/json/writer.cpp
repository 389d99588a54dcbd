#include "report/json/writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

namespace kernbench::report {

void append_json(std::string& out, std::string_view text) {
  const auto plain = [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; };
  if (std::ranges::all_of(text, plain)) {
    out.append(1, '"').append(text).append(1, '"');
  } else {
    using Json = nlohmann::json;
    out += Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
  }
}

void append_json(std::string& out, double value) {
  if (!std::isfinite(value)) {
    out += "null";
    return;
  }
  char buffer[32];
  out.append(buffer, std::to_chars(std::begin(buffer), std::end(buffer), value).ptr);
}

void append_hexadecimal(std::string& out, std::uint64_t value) {
  fmt::format_to(std::back_inserter(out), "\"{:016x}\"", value);
}

}  // namespace kernbench::report
