// The errors that a user of KernBench can cause. Libraries throw these; only the program prints and exits.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace kernbench {

/// Base of all user-facing errors. `type()` is the stable name that reports and JSON show,
/// `where()` the place (a file position, a kernel with PE and source line, a host call), possibly empty.
class Error : public std::runtime_error {
 public:
  Error(std::string type, const std::string& message, std::string where = {})
      : std::runtime_error(message), type_(std::move(type)), where_(std::move(where)) {}
  const std::string& type() const { return type_; }
  const std::string& where() const { return where_; }

 private:
  std::string type_;
  std::string where_;
};

/// Bad command line, file, key or value: nothing was simulated (exit code 2).
class ConfigurationError : public Error {
 public:
  explicit ConfigurationError(const std::string& message, std::string where = {})
      : Error("ConfigurationError", message, std::move(where)) {}
};

/// The simulated program did something wrong (exit code 3).
class ProgramError : public Error {
 public:
  using Error::Error;
};

/// A wrong argument of a host or kernel call: shape, dtype, range.
class ValueError : public ProgramError {
 public:
  explicit ValueError(const std::string& message, std::string where = {})
      : ProgramError("ValueError", message, std::move(where)) {}
};

/// An address or index outside of what exists.
class OutOfBoundsError : public ProgramError {
 public:
  explicit OutOfBoundsError(const std::string& message, std::string where = {})
      : ProgramError("OutOfBoundsError", message, std::move(where)) {}
};

/// HBM, TCM or host memory that does not suffice.
class OutOfMemoryError : public ProgramError {
 public:
  explicit OutOfMemoryError(const std::string& message, std::string where = {})
      : ProgramError("OutOfMemoryError", message, std::move(where)) {}
};

/// An uninitialised or masked-off value reached an address, a branch, a host read or a check.
class InvalidValueError : public ProgramError {
 public:
  explicit InvalidValueError(const std::string& message, std::string where = {})
      : ProgramError("InvalidValueError", message, std::move(where)) {}
};

/// Thrown at the waits of a fiber that is being unwound because a sibling failed.
/// Deliberately not a std::exception: `catch (const std::exception&)` must not swallow it.
class Cancelled {};

}  // namespace kernbench
