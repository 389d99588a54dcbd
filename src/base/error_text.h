// An exception as values: type, message, place.
#pragma once

#include <exception>
#include <string>
#include <string_view>

namespace kernbench {

struct ErrorText {
  std::string type, message, where;
};

/// What `error` says. Errors of kernbench/error.h have type, message and place; of all others the type is that of C++
/// ("std::out_of_range", "int"), and the message of a number or a text that was thrown is itself. REQUIRES: a non-null
/// pointer.
ErrorText error_text(const std::exception_ptr& error);
/// The same, but all others get the type `other`.
ErrorText error_text(const std::exception_ptr& error, std::string_view other);

}  // namespace kernbench
