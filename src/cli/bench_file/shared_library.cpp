#include "cli/bench_file/shared_library.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <elf.h>
#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <optional>
#include <string_view>

#include "base/error_text.h"
#include "cli/bench_file/content_hash.h"
#include "kernbench/error.h"
#include "sim/errors.h"

namespace kernbench::cli {
namespace {

using Header = ElfW(Ehdr);
using Section = ElfW(Shdr);
using Symbol = ElfW(Sym);

constexpr const char* kBenchPrefix = "kernbench_bench_";
constexpr const char* kModelsFunction = "kernbench_add_models";
constexpr const char* kCollectivesFunction = "kernbench_add_collectives";

// The `index`-th T at `offset`, if the file has it whole.
template <class T>
std::optional<T> read_at(std::string_view file, std::uint64_t offset, std::uint64_t index = 0) {
  if (offset > file.size() || (file.size() - offset) / sizeof(T) <= index) return std::nullopt;
  T value;
  std::memcpy(&value, file.data() + offset + index * sizeof(T), sizeof(T));
  return value;
}

std::string_view text_at(std::string_view file, const Section& strings, std::uint64_t offset) {
  if (strings.sh_offset > file.size() || strings.sh_size > file.size() - strings.sh_offset) return {};
  const std::string_view all = file.substr(strings.sh_offset, strings.sh_size);
  if (offset >= all.size()) return {};
  return all.substr(offset, all.find('\0', offset) - offset);
}

// "FILE: undefined symbol: _ZN…" with the name as C++ has it.
std::string demangled(const std::string& message) {
  const std::size_t space = message.rfind(" _Z");
  if (space == std::string::npos) return message;
  const std::size_t start = space + 1;
  const std::size_t end = std::min(message.find_first_of(" \t\n)(", start), message.size());
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> name(
      abi::__cxa_demangle(message.substr(start, end - start).c_str(), nullptr, nullptr, &status), std::free);
  return status == 0 ? message.substr(0, start) + name.get() + message.substr(end) : message;
}

/// Calls the library's function of that name, if it has one: by its list of functions, for dlsym alone would look in
/// the libraries that this one needs, too. `macro` has defined it in the user's file.
template <class Registry>
void add_to(Registry& registry, void* library, const std::string& path, const char* function, const char* macro) {
  if (functions_of(path, function).empty()) return;
  const auto add = reinterpret_cast<void (*)(Registry&)>(::dlsym(library, function));
  try {
    if (add != nullptr) add(registry);
  } catch (const ValueError& error) {
    throw RegistrationError(error.what());
  } catch (const ConfigurationError& error) {
    throw RegistrationError(error.what(), error.where());
  } catch (const sim::InterruptedError&) {
    throw;
  } catch (...) {
    const ErrorText thrown = error_text(std::current_exception());
    throw RegistrationError(fmt::format("its {} threw {}: {}", macro, thrown.type, thrown.message));
  }
}

}  // namespace

std::vector<std::string> functions_of(const std::string& path, const std::string& prefix) {
  const auto file = read_whole(path);
  if (!file || !file->starts_with(ELFMAG)) return {};
  const auto header = read_at<Header>(*file, 0);
  if (!header) return {};
  std::vector<std::string> out;
  for (std::uint64_t index = 0; index < header->e_shnum; ++index) {
    const auto section = read_at<Section>(*file, header->e_shoff, index);
    if (!section || section->sh_type != SHT_DYNSYM) continue;
    const auto strings = read_at<Section>(*file, header->e_shoff, section->sh_link);
    if (!strings) continue;
    for (std::uint64_t i = 0; i < section->sh_size / sizeof(Symbol); ++i) {
      const auto symbol = read_at<Symbol>(*file, section->sh_offset, i);
      if (!symbol || symbol->st_shndx == SHN_UNDEF || (symbol->st_info & 0xf) != STT_FUNC) continue;
      const std::string_view name = text_at(*file, *strings, symbol->st_name);
      if (name.starts_with(prefix)) out.emplace_back(name);
    }
  }
  return out;
}

std::string compiler_of(const std::string& path) {
  const auto file = read_whole(path);
  if (!file || !file->starts_with(ELFMAG)) return {};
  const auto header = read_at<Header>(*file, 0);
  if (!header) return {};
  const auto names = read_at<Section>(*file, header->e_shoff, header->e_shstrndx);
  for (std::uint64_t index = 0; names && index < header->e_shnum; ++index) {
    const auto section = read_at<Section>(*file, header->e_shoff, index);
    if (section && text_at(*file, *names, section->sh_name) == ".comment") {
      return std::string(text_at(*file, *section, 0));
    }
  }
  return {};
}

LibraryContents load_library(const std::string& path) {
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* reason = ::dlerror();
    throw ConfigurationError("it cannot be loaded: " + demangled(reason == nullptr ? "" : reason) +
                             "; libraries that it needs are named with --cxxflags, such as \"-L/opt/x/lib -lx\"");
  }
  LibraryContents out;
  out.compiler = compiler_of(path);
  out.has_main = std::ranges::count(functions_of(path, "main"), "main") > 0;
  for (const std::string& name : functions_of(path, kBenchPrefix)) {
    const auto define = reinterpret_cast<void (*)(BenchDefinition&)>(::dlsym(library, name.c_str()));
    if (define != nullptr) define(out.benches.emplace_back());
  }
  std::ranges::sort(out.benches, {}, &BenchDefinition::line);
  add_to(out.models, library, path, kModelsFunction, "KERNBENCH_MODELS");
  add_to(out.algorithms, library, path, kCollectivesFunction, "KERNBENCH_COLLECTIVES");
  return out;
}

}  // namespace kernbench::cli
