// Which threadblock receives what another one sends.
#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "distributed/msccl/schedule.h"

namespace kernbench::distributed::msccl {

/// From a gpu to a gpu, on a channel.
using ConnectionKey = std::tuple<int, int, int>;

/// Each connection has one threadblock at either end.
struct Connection {
  int sender = -1, receiver = -1;       // places of threadblocks
  std::int64_t sent = 0, received = 0;  // chunks
};

/// ConfigurationError for a connection with two threadblocks at one end, or with sends and receives that do not match.
std::map<ConnectionKey, Connection> connections_of(const Schedule& schedule);

}  // namespace kernbench::distributed::msccl
