#include "cli/options/list_options.h"

#include "cli/options/option_values.h"

namespace kernbench::cli {

void ListOptions::declare(OptionSet& options) {
  options.text("--color", colour, "WHEN", "auto (default), always or never");
}

Command ListOptions::command() const {
  return ListCommand{colour_of(single("--color", colour, "auto"))};
}

}  // namespace kernbench::cli
