// A library of benches, loaded into this program.
#pragma once

#include <string>
#include <vector>

#include "kernbench/bench.h"
#include "kernbench/collective_registry.h"
#include "kernbench/error.h"
#include "kernbench/models.h"

namespace kernbench::cli {

/// The names of the functions that a library (an ELF file) offers and that begin with `prefix`, in no particular order.
/// Empty when the file is no such library.
std::vector<std::string> functions_of(const std::string& path, const std::string& prefix);

/// What compilers have written into the section .comment of a library (an ELF file): the first signature. Empty when
/// there is none.
std::string compiler_of(const std::string& path);

/// What a library has to offer.
struct LibraryContents {
  std::vector<BenchDefinition> benches;  // in the order of the file
  ModelRegistry models;                  // what KERNBENCH_MODELS adds
  CollectiveRegistry algorithms;         // what KERNBENCH_COLLECTIVES adds
  bool has_main = false;                 // it is a program of its own, too
  std::string compiler;                  // as it signed the library: "GCC: (Debian 12.2.0-14) 12.2.0"; may be empty
};

/// What a library's own code has thrown while it registered, or a registry has refused.
class RegistrationError : public ConfigurationError {
 public:
  using ConfigurationError::ConfigurationError;
};

/// Loads a library, for as long as the process lives. ConfigurationError when it cannot be loaded: it uses something
/// that neither it nor this program has. RegistrationError for what it registers.
LibraryContents load_library(const std::string& path);

}  // namespace kernbench::cli
