// What ranks must have in common that a collective does not show.
#pragma once

#include <string>
#include <utility>

#include "runtime/context.h"

namespace kernbench::tp {

/// While it lives, the calling rank's collectives say `text`, too: ranks that say something else are an error of the
/// first collective, which names both texts. It takes no time and sends nothing.
class Agreement {
 public:
  Agreement(const char* call, std::string text) : context_(runtime::current_context(call)) {
    context_.agreement = std::move(text);
  }
  ~Agreement() { context_.agreement.clear(); }
  Agreement(const Agreement&) = delete;
  Agreement& operator=(const Agreement&) = delete;

 private:
  runtime::HostContext& context_;
};

}  // namespace kernbench::tp
