#include "base/error_text.h"

#include <cxxabi.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <new>
#include <typeinfo>

#include "kernbench/error.h"

namespace kernbench {

namespace {

/// "std::out_of_range" of a C++ type.
std::string type_name(const std::type_info* type) {
  if (type == nullptr) return "unknown exception";
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(type->name(), nullptr, nullptr, &status),
                                                         &std::free);
  std::string name = status == 0 ? text.get() : type->name();
  // Library versions are no part of a name.
  for (const std::string_view version : {"__cxx11::", "__1::"}) {
    for (auto at = name.find(version); at != std::string::npos; at = name.find(version)) name.erase(at, version.size());
  }
  // A user's own class may have the name of a type that stands for something else in results.
  constexpr std::array<std::string_view, 3> kTaken = {"ConfigurationError", "InternalError", "Interrupted"};
  return std::ranges::find(kTaken, name) == kTaken.end() ? name : "::" + name;
}

ErrorText thrown_value(const char* type, const std::string& value) {
  return {type, value + " was thrown, which is not a std::exception", {}};
}

/// What is thrown that is no std::exception: the usual scalar values, or a text.
ErrorText other_text() {
  try {
    throw;
  } catch (int value) {
    return thrown_value("int", std::to_string(value));
  } catch (long value) {
    return thrown_value("long", std::to_string(value));
  } catch (unsigned value) {
    return thrown_value("unsigned int", std::to_string(value));
  } catch (unsigned long value) {
    return thrown_value("unsigned long", std::to_string(value));
  } catch (double value) {
    return thrown_value("double", std::to_string(value));
  } catch (const char* text) {
    return thrown_value("const char*", text == nullptr ? "a null pointer" : "\"" + std::string(text) + "\"");
  } catch (const std::string& text) {
    return thrown_value("std::string", "\"" + text + "\"");
  } catch (...) {
    return {type_name(abi::__cxa_current_exception_type()), "an exception that is not a std::exception", {}};
  }
}

}  // namespace

ErrorText error_text(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const Error& known) {
    return {known.type(), known.what(), known.where()};
  } catch (const std::bad_alloc& full) {
    return {type_name(&typeid(full)), "the host's memory does not suffice", {}};
  } catch (const std::exception& unknown) {
    return {type_name(&typeid(unknown)), unknown.what(), {}};
  } catch (const Cancelled&) {
    return {"Cancelled", "a cancelled fiber had no cause", {}};
  } catch (...) {
    return other_text();
  }
}

ErrorText error_text(const std::exception_ptr& error, std::string_view other) {
  ErrorText text = error_text(error);
  try {
    std::rethrow_exception(error);
  } catch (const Error&) {
    return text;
  } catch (...) {
    text.type = other;
    return text;
  }
}

}  // namespace kernbench
