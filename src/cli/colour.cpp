#include <cstdlib>
#include <string_view>

#include "cli/commands.h"

namespace kernbench::cli {
namespace {

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

bool dumb_terminal() {
  const char* value = std::getenv("TERM");
  return value != nullptr && std::string_view(value) == "dumb";
}

}  // namespace

bool use_colour(ColourMode mode, bool terminal) {
  if (mode != ColourMode::automatic) return mode == ColourMode::always;
  return terminal && !is_set("NO_COLOR") && !dumb_terminal();
}

}  // namespace kernbench::cli
