#include "report/json/reader.h"

#include <fmt/format.h>

#include "kernbench/error.h"

namespace kernbench::report {

Node Node::at(std::string_view key) const {
  if (!value_.is_object()) fail("an object");
  const auto found = value_.find(key);
  if (found == value_.end()) {
    const std::string place = path();
    throw ConfigurationError(fmt::format("the key \"{}{}{}\" is missing", place, place.empty() ? "" : ".", key), file_);
  }
  return {*found, *this, key, 0};
}

bool Node::has(std::string_view key) const {
  return value_.is_object() && value_.contains(key);
}

bool Node::truth() const {
  if (!value_.is_boolean()) fail("true or false");
  return value_.get<bool>();
}

std::string Node::text() const {
  if (!value_.is_string()) fail("a string");
  return value_.get<std::string>();
}

std::uint64_t Node::natural() const {
  if (!value_.is_number_unsigned()) fail("a whole number, not negative");
  return value_.get<std::uint64_t>();
}

double Node::real() const {
  if (value_.is_null()) return std::numeric_limits<double>::quiet_NaN();
  if (!value_.is_number()) fail("a number or null");
  return value_.get<double>();
}

std::uint64_t Node::hexadecimal() const {
  const std::string digits = text();
  if (digits.size() != 16 || digits.find_first_not_of("0123456789abcdef") != std::string::npos) {
    fail("16 hexadecimal digits");
  }
  return std::stoull(digits, nullptr, 16);
}

std::size_t Node::one_of(std::span<const std::string_view> names) const {
  const std::string value = text();
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == value) return i;
  }
  std::string all;
  for (const std::string_view name : names) all.append(all.empty() ? "one of " : ", ").append(name);
  fail(all);
}

void Node::fail(const std::string& wanted) const {
  const std::string place = path();
  const std::string what = place.empty() ? "the file's value" : fmt::format("\"{}\"", place);
  throw ConfigurationError(fmt::format("{} is {}, but should be {}", what, value_.type_name(), wanted), file_);
}

std::string Node::path() const {
  if (parent_ == nullptr) return {};
  const std::string outer = parent_->path();
  if (key_.data() == nullptr) return fmt::format("{}[{}]", outer, index_);
  return outer.empty() ? std::string(key_) : fmt::format("{}.{}", outer, key_);
}

}  // namespace kernbench::report
