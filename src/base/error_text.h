// What an exception says, as values.
#pragma once

#include <exception>
#include <string>
#include <string_view>

namespace kernbench {

struct ErrorText {
  std::string type, message, where;
};

/// What `error` says. Errors of base/error.h keep their type, message and place; all others, be they std::exceptions or
/// not, get the type `other`. REQUIRES: a non-null pointer.
ErrorText error_text(const std::exception_ptr& error, std::string_view other);

}  // namespace kernbench
