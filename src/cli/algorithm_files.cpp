#include "cli/algorithm_files.h"

#include "kernbench/error.h"

namespace kernbench::cli {

CollectiveRegistry algorithms_of(const std::vector<std::string>& files, const BenchFileOptions& options, bool colour,
                                 const Environment& environment, StatusLine& status) {
  CollectiveRegistry all;
  if (files.empty()) return all;
  if (!environment.load_algorithms) throw ConfigurationError("this program loads no files");
  BenchFileHooks hooks;
  hooks.messages = environment.err;
  hooks.begin = [&](const std::string& path) { status.show("compiling " + path); };
  hooks.end = [&](const std::string&) { status.clear(); };
  hooks.colour = colour;
  hooks.stop_requested = environment.stop_requested;
  for (const std::string& file : files) {
    try {
      all.add(environment.load_algorithms(file, options, hooks));
    } catch (const ValueError& error) {
      throw ConfigurationError(error.what(), file);
    }
  }
  return all;
}

}  // namespace kernbench::cli
