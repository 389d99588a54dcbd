// Splits the time of a transfer by cause, from its log.
#pragma once

#include <vector>

#include "hardware/fabric/fabric.h"
#include "kernbench/units.h"

namespace kernbench::hardware {

/// A time that is due to one server.
struct ServerTime {
  ServerId server;
  Time time;
};

/// The server whose buffer was too small for longest, and for how long (TransferLog::Hop::starved); no time
/// where none was. The first of equals.
ServerTime most_starved(const TransferLog& log);

/// A server has a transfer from the arrival of the last chunk's head until that is at the next server.
struct JourneyStep {
  ServerId server;
  Time start, end;
  Time held;  // TransferLog::Hop::held
};
/// The steps of the last chunk of a transfer that began at `start` and was delivered at `end`. They tile [start, end].
std::vector<JourneyStep> journey_of(const TransferLog& log, const Fabric& fabric, Time start, Time end);

}  // namespace kernbench::hardware
