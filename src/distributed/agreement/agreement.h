// What ranks must have in common that a collective does not show.
#pragma once

#include <string>
#include <utility>

#include "runtime/context.h"

namespace kernbench::distributed {

/// While it lives, the calling rank's collectives say `text`, too: ranks that say something else are an error of the
/// first collective, which names both texts. Within another one both texts are said. It takes no time and sends
/// nothing.
class Agreement {
 public:
  Agreement(const char* call, const std::string& text)
      : context_(runtime::current_context(call)), outer_(context_.agreement) {
    context_.agreement = outer_.empty() ? text : outer_ + ", " + text;
  }
  ~Agreement() { context_.agreement = std::move(outer_); }
  Agreement(const Agreement&) = delete;
  Agreement& operator=(const Agreement&) = delete;

 private:
  runtime::HostContext& context_;
  std::string outer_;
};

}  // namespace kernbench::distributed
