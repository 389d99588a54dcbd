#include "sim/program_call.h"

#include <fmt/format.h>

#include <string_view>

namespace kernbench::sim {

std::string place_text(const std::source_location& where) {
  if (where.line() == 0) return {};
  const std::string_view path = where.file_name();
  if (path.find("/include/c++/") != std::string_view::npos) return {};
  return fmt::format("{}:{}", path.substr(path.rfind('/') + 1), where.line());
}

std::string to_text(const ProgramCall& call) {
  if (call.name == nullptr) return {};
  const std::string place = place_text(call.where);
  return place.empty() ? call.name : fmt::format("{} at {}", call.name, place);
}

std::string where_text(const ProgramCall& call) {
  const std::string place = place_text(call.where);
  return place.empty() ? "" : fmt::format("{} ({})", place, call.name);
}

}  // namespace kernbench::sim
