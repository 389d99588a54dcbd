#include "hardware/launch/way.h"

#include "hardware/journey.h"

namespace kernbench::hardware {

void Way::step(const PartId& on, const char* what, Time end) {
  if (end <= at_) return;
  steps_.push_back({on, what, at_, end});
  at_ = end;
}

void Way::message(const char* what, const MessageTimes& times) {
  for (const JourneyStep& hop : journey_of(times.log, fabric_, at_, times.arrived)) {
    step(fabric_.spec(hop.server).part, what, hop.end);
  }
}

void Way::handling(const PartId& processor, Time latency, Time handled) {
  step(processor, "waiting", handled - latency);
  step(processor, "", handled);
}

}  // namespace kernbench::hardware
