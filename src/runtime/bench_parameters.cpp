// kernbench::parameter: what a bench reads of its run.
#include <fmt/format.h>

#include <vector>

#include "base/quantity.h"
#include "base/text.h"
#include "kernbench/bench.h"
#include "kernbench/error.h"
#include "runtime/context.h"

namespace kernbench::detail {

const Parameters& run_parameters(std::string_view name) {
  const Parameters& parameters = runtime::current_context("kernbench::parameter").simulation.options().parameters;
  if (parameters.contains(name)) return parameters;
  std::vector<std::string_view> names;
  for (const auto& [known, value] : parameters.values()) names.push_back(known);
  const std::string_view near = nearest(name, names);
  const std::string hint = !near.empty()   ? fmt::format("did you mean \"{}\"?", near)
                           : names.empty() ? std::string("it declares none")
                                           : fmt::format("it declares {}", fmt::join(names, ", "));
  const std::string bench = parameters.bench().empty() ? "the run" : "bench " + parameters.bench();
  throw ValueError(fmt::format("kernbench::parameter: {} declares no parameter {}; {}", bench, in_quotes(name), hint));
}

}  // namespace kernbench::detail
