#include "cli/extension_files.h"

#include "kernbench/error.h"

namespace kernbench::cli {

void add_models(ModelRegistry& models, const ModelRegistry& more) {
  for (const auto& [name, factory] : more.hbm()) models.add_hbm(name, factory);
  for (const auto& [name, factory] : more.gemm()) models.add_gemm(name, factory);
  for (const auto& [name, factory] : more.vector()) models.add_vector(name, factory);
  for (const auto& [name, factory] : more.dma()) models.add_dma(name, factory);
}

Extensions extensions_of(const std::vector<std::string>& files, const BenchFileOptions& options, bool colour,
                         const Environment& environment, StatusLine& status) {
  Extensions all;
  if (files.empty()) return all;
  if (!environment.load_extensions) throw ConfigurationError("this program loads no files");
  BenchFileHooks hooks;
  hooks.messages = environment.err;
  hooks.begin = [&](const std::string& path) { status.show("compiling " + path); };
  hooks.end = [&](const std::string&) { status.clear(); };
  hooks.colour = colour;
  hooks.stop_requested = environment.stop_requested;
  hooks.on_stuck = environment.on_stuck;
  for (const std::string& file : files) {
    try {
      const Extensions more = environment.load_extensions(file, options, hooks);
      all.algorithms.add(more.algorithms);
      add_models(all.models, more.models);
    } catch (const ValueError& error) {
      throw ConfigurationError(error.what(), file);
    }
  }
  return all;
}

}  // namespace kernbench::cli
