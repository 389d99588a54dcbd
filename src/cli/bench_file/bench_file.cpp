#include "cli/bench_file/bench_file.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/quantity.h"
#include "base/text.h"
#include "cli/bench_file/child_process.h"
#include "cli/bench_file/compile_cache.h"
#include "cli/bench_file/compiler.h"
#include "cli/bench_file/content_hash.h"
#include "cli/bench_file/installation.h"
#include "cli/bench_file/shared_library.h"
#include "cli/bench_file/way_out.h"
#include "cli/version.h"
#include "kernbench/error.h"
#include "report/outcome.h"
#include "sim/watchdog.h"
#include "sim/watched_call.h"
#include "topology/files.h"

namespace kernbench::cli {
namespace {

namespace fs = std::filesystem;

std::string read_source(const std::string& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    throw ConfigurationError(fmt::format("{} is a folder; name a C++ file in it", in_quotes(path)));
  }
  if (auto source = read_whole(path)) return *std::move(source);
  const int error = errno;
  if (!fs::exists(path, ignored)) {
    throw ConfigurationError(
        fmt::format("there is no file {}{}", in_quotes(path), topology::working_directory_hint(path)));
  }
  throw ConfigurationError(
      fmt::format("cannot read {}: {}", in_quotes(path), error == 0 ? "it is no file" : std::strerror(error)));
}

// What a file does while it is loaded, as the watchdog names it.
class Initialisation final : public sim::WatchedCall {
 public:
  explicit Initialisation(const std::string& path) : path_(path) {}
  std::string text() const override { return path_ + ", which initialises and registers what it has,"; }

 private:
  const std::string& path_;
};

// One file on its way from source to library.
class Compilation {
 public:
  Compilation(std::string path, const BenchFileOptions& options, const BenchFileHooks& hooks)
      : hooks_(hooks),
        watchdog_seconds_(options.watchdog_seconds),
        path_(std::move(path)),
        source_(read_source(path_)),
        compiler_(find_compiler(options.compiler)) {
    job_.source = path_;
    job_.include_folder = include_folder();
    job_.colour = hooks.colour;
    for (const std::string& text : options.cxxflags) {
      for (std::string& word : words_of(text, "--cxxflags")) job_.flags.push_back(std::move(word));
    }
    if (!options.cache) return;
    const auto folder = default_cache_folder();
    const std::string reason = folder ? open_cache(*folder) : "neither XDG_CACHE_HOME nor HOME is set";
    if (!reason.empty()) {
      hooks.messages(fmt::format("kernbench: note: {} is compiled again at each run: {}\n", path_, reason));
    }
  }

  LibraryContents load() {
    if (!cache_) return compile_in(fs::temp_directory_path().string());
    const std::string entry = cache_->path_of(fs::path(path_).stem().string() + "-" + key());
    if (auto files = cache_->files_of(entry)) {
      files_ = *std::move(files);
      try {
        return loaded(entry);
      } catch (const RegistrationError&) {
        throw;
      } catch (const ConfigurationError&) {  // NOLINT(bugprone-empty-catch)
        // Another process has trimmed it meanwhile, or the program has lost what it used: it is made again.
      }
    }
    try {
      return compile_in(cache_->folder(), entry);
    } catch (const RegistrationError&) {
      throw;
    } catch (const ConfigurationError&) {
      if (!cache_is_full()) throw;
    }
    note_full_cache();
    return compile_in(fs::temp_directory_path().string());
  }

  /// Of the library that load() has returned.
  Origin origin(const LibraryContents& library) const {
    Origin out{.kind = "file", .path = path_, .compiler = library.compiler};
    out.flags = fmt::format("{}", fmt::join(job_.flags, " "));
    std::error_code ignored;
    const fs::path folder = fs::absolute(path_, ignored).parent_path();
    for (const HashedFile& file : files_) {
      if (file.path.starts_with(own_folder(job_.include_folder))) continue;
      out.files.push_back({fs::path(file.path).lexically_proximate(folder).string(), file.content});
    }
    return out;
  }

 private:
  // A library with its debug information is smaller.
  static constexpr std::uint64_t kRoomForALibrary = std::uint64_t{16} << 20;

  // KernBench's own headers, in the form in which the files of an entry are named.
  static std::string own_folder(const std::string& folder) {
    std::error_code ignored;
    return fs::absolute(folder, ignored).string() + "/";
  }

  bool cache_is_full() const {
    std::error_code error;
    const auto space = fs::space(cache_->folder(), error);
    return !error && space.available < kRoomForALibrary;
  }
  void note_full_cache() const {
    std::error_code ignored;
    hooks_.messages(fmt::format("kernbench: note: {} is compiled again at each run: the cache {} has {} bytes left\n",
                                path_, cache_->folder(), fs::space(cache_->folder(), ignored).available));
  }

  // Returns why there is no cache, if so.
  std::string open_cache(const std::string& folder) {
    cache_.emplace(folder);
    const std::string reason = cache_->prepare();
    if (reason.empty()) return "";
    cache_.reset();
    return fmt::format("the cache {} cannot be written: {}", folder, reason);
  }

  std::string key() const {
    std::error_code ignored;
    ContentHash hash;
    hash.add(version()).add(fs::absolute(path_, ignored).lexically_normal().string()).add(source_);
    hash.add(identity_of(compiler_));
    for (const std::string& word : compile_command({}, {job_.source, job_.flags, job_.include_folder}, "", "")) {
      if (word != job_.source) hash.add(word);
    }
    return hash.text();
  }

  // In a folder of its own in `parent`; becomes `entry` of the cache, if that is not empty.
  LibraryContents compile_in(const std::string& parent, const std::string& entry = {}) {
    const auto start = fs::file_time_type::clock::now();
    const ScratchFolder scratch(parent);
    const std::string library = scratch.path(fs::path(path_).stem().string() + ".so");
    compile(scratch, library, entry.empty() ? Again::no : Again::where_the_disk_is_full);
    std::vector<std::string> files = dependencies_of(read_whole(scratch.path("dependencies")).value_or(""));
    std::error_code ignored;
    for (std::string& file : files) file = fs::absolute(file, ignored).string();
    files_ = hashed(files).value_or(std::vector<HashedFile>{});
    if (entry.empty()) return loaded(library);
    // What changed while the compiler ran may not be what the compiler read.
    const auto unchanged = [&](const std::string& file) { return fs::last_write_time(file, ignored) < start; };
    if (files.empty() || !std::ranges::all_of(files, unchanged)) return loaded(library);
    if (!cache_->store(library, entry, files)) {
      if (cache_is_full()) note_full_cache();
      return loaded(library);
    }
    cache_->trim(entry);
    return loaded(entry);
  }

  LibraryContents loaded(const std::string& library) const {
    try {
      return load_watched(library);
    } catch (const RegistrationError& error) {
      throw RegistrationError(error.what(), error.where().empty() ? path_ : error.where());
    } catch (const ConfigurationError& error) {
      throw ConfigurationError(error.what(), path_);
    }
  }

  /// The file's own code runs: its initialisers, and what it registers.
  LibraryContents load_watched(const std::string& library) const {
    const Initialisation initialisation(path_);
    const sim::WatchedScope scope(initialisation);
    std::optional<sim::Watchdog> watchdog;
    if (watchdog_seconds_ > 0) watchdog.emplace(watchdog_seconds_, hooks_.on_stuck);
    return load_library(library);
  }

  /// Whether a file that does not compile is compiled once more, elsewhere: what the compiler says now is of no use
  /// then.
  enum class Again : bool { no, where_the_disk_is_full };

  void compile(const ScratchFolder& scratch, const std::string& library, Again again) const {
    const auto command = compile_command(compiler_, job_, library, scratch.path("dependencies"));
    if (hooks_.begin) hooks_.begin(path_);
    const ChildResult result = run_child(command, scratch.path("messages"), hooks_.stop_requested);
    if (hooks_.end) hooks_.end(path_);
    if (result.stopped) {
      throw Error(std::string(report::kInterrupted), fmt::format("while {} was being compiled", path_));
    }
    if (result.error != 0) {
      throw ConfigurationError(fmt::format("cannot start the compiler {} (from {}): {}", compiler_.command.front(),
                                           compiler_.named_by, std::strerror(result.error)));
    }
    const bool in_vain = result.exit_code != 0 && again == Again::where_the_disk_is_full && cache_is_full();
    if (!result.output.empty() && !in_vain) hooks_.messages(result.output);
    if (result.exit_code == 0) return;
    const Diagnostic first = first_error(result.output, job_.source);
    if (!first.where.empty()) {
      const std::string_view way_out = way_out_of(first.message);
      throw ConfigurationError(
          fmt::format("does not compile: {}{}{}", first.message, way_out.empty() ? "" : "; ", way_out), first.where);
    }
    throw ConfigurationError(
        fmt::format("does not compile: {} ended with exit code {}", compiler_.command.front(), result.exit_code),
        path_);
  }

  const BenchFileHooks& hooks_;
  double watchdog_seconds_;
  std::string path_, source_;
  Compiler compiler_;
  CompileJob job_;
  std::optional<CompileCache> cache_;
  std::vector<HashedFile> files_;  // of the library that was loaded
};

const BenchDefinition& chosen(const LibraryContents& library, const std::string& path, const std::string& name) {
  const std::vector<BenchDefinition>& benches = library.benches;
  if (benches.empty()) {
    throw ConfigurationError(
        library.has_main
            ? "defines no bench, but a program of its own: write KERNBENCH_BENCH(name, \"help\") { … } in place of "
              "main(), or build it with CMake (find_package(KernBench))"
            : "defines no bench: write KERNBENCH_BENCH(name, \"help\") { … } in it, outside of unnamed namespaces",
        path);
  }
  if (name.empty() && benches.size() == 1) return benches.front();
  std::vector<std::string_view> names;
  for (const BenchDefinition& bench : benches) names.push_back(bench.name);
  if (name.empty()) {
    throw ConfigurationError(
        fmt::format("defines {} benches: {}; choose one with --bench NAME", benches.size(), fmt::join(names, ", ")),
        path);
  }
  const auto found = std::ranges::find(benches, name, &BenchDefinition::name);
  if (found != benches.end()) return *found;
  const std::string_view near = nearest(name, names);
  const std::string hint = near.empty() ? "" : fmt::format(", did you mean \"{}\"?", near);
  throw ConfigurationError(
      fmt::format("defines no bench {}{}; it defines {}", in_quotes(name), hint, fmt::join(names, ", ")), path);
}

}  // namespace

bool is_bench_file(const std::string& name) {
  return name.find('/') != std::string::npos || name.ends_with(".cpp") || name.ends_with(".cc") ||
         name.ends_with(".cxx");
}

Bench load_bench_file(const std::string& path, const BenchFileOptions& options, const BenchFileHooks& hooks) {
  Compilation compilation(path, options, hooks);
  LibraryContents library = compilation.load();
  const BenchDefinition& bench = chosen(library, path, options.bench);
  Origin origin = compilation.origin(library);
  return {bench.name,
          bench.help,
          bench.parameters,
          bench.run,
          std::move(library.models),
          std::move(library.algorithms),
          std::move(origin)};
}

Extensions load_extension_file(const std::string& path, const BenchFileOptions& options, const BenchFileHooks& hooks) {
  Compilation compilation(path, options, hooks);
  LibraryContents library = compilation.load();
  const ModelRegistry& models = library.models;
  const bool has_models =
      !models.hbm().empty() || !models.gemm().empty() || !models.vector().empty() || !models.dma().empty();
  if (!library.algorithms.algorithms().empty() || has_models) {
    return {std::move(library.algorithms), std::move(library.models)};
  }
  throw ConfigurationError(
      "registers no collective algorithm and no component model: write KERNBENCH_COLLECTIVES(registry) { "
      "registry.add(…); } or KERNBENCH_MODELS(registry) { … } in it, outside of unnamed namespaces",
      path);
}

}  // namespace kernbench::cli
