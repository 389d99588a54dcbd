// Names as arguments of fmt::format: their texts.
#pragma once

#include <fmt/format.h>

#include <string_view>

#include "base/name.h"

template <>
struct fmt::formatter<kernbench::Name> : fmt::formatter<std::string_view> {
  auto format(const kernbench::Name& name, fmt::format_context& context) const {
    return fmt::formatter<std::string_view>::format(name.text(), context);
  }
};
