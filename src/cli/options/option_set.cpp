#include "cli/options/option_set.h"

#include "base/quantity.h"
#include "kernbench/error.h"

namespace kernbench::cli {

std::string single(const std::string& option, const Texts& values, const std::string& otherwise) {
  if (values.size() > 1) throw ConfigurationError(option + " is given more than once");
  if (values.empty()) return otherwise;
  if (values.front().empty()) throw ConfigurationError(option + " needs a value that is not empty");
  const std::string& value = values.front();
  // Else "--json --quiet" would write a file of that name. Numbers are left to their own errors.
  const bool is_option = value.size() > 1 && value[0] == '-' && (value[1] < '0' || value[1] > '9');
  if (is_option) throw ConfigurationError(option + " needs a value, found the option " + in_quotes(value));
  return value;
}

}  // namespace kernbench::cli
