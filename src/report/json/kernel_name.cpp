#include "report/json/kernel_name.h"

namespace kernbench::report {

std::string kernel_name(const std::string& launch) {
  const std::size_t mark = launch.rfind('#');
  const bool counted = mark != std::string::npos && mark + 1 < launch.size() &&
                       launch.find_first_not_of("0123456789.", mark + 1) == std::string::npos;
  return counted ? launch.substr(0, mark) : launch;
}

}  // namespace kernbench::report
