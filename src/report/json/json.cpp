#include "report/json/json.h"

#include "report/description/result.h"
#include "report/json/writer.h"

namespace kernbench::report {

std::string to_json(const RunResult& result) {
  std::string out;
  Writer(out).document(result);
  return out;
}

}  // namespace kernbench::report
