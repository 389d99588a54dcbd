#include "hardware/launch/way.h"

#include "hardware/journey.h"

namespace kernbench::hardware {

void Way::step(const PartId& on, const char* what, Time end) {
  if (end <= at_) return;
  steps_.push_back({on, what, at_, end});
  at_ = end;
}

void Way::message(const char* sender, const MessageTimes& times) {
  const std::string what = std::string("message of ") + sender;
  for (const JourneyStep& hop : journey_of(times.log, fabric_, at_, times.arrived)) {
    step(fabric_.spec(hop.server).part, what.c_str(), hop.end);
  }
}

void Way::handling(const PartId& processor, Time latency, Time handled) {
  step(processor, "waiting", handled - latency);
  step(processor, "", handled);
}

}  // namespace kernbench::hardware
