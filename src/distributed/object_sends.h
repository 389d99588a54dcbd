// Sends and receives of tensors with which host objects come.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernbench/distributed.h"

namespace kernbench::distributed {

/// The other side: a global rank, or one of the group.
struct Peer {
  std::optional<int> rank = {}, group_rank = {};
};

/// isend of a tensor, with objects. Null for a rank that is not a member. `call` is the name of the user's call.
torch::distributed::WorkRef send_with_objects(const char* call, const torch::Tensor& tensor,
                                              std::vector<std::string> objects, const Peer& peer,
                                              const torch::distributed::ProcessGroup& group);

struct ReceivedObjects {
  int rank;  // global rank of the sender
  std::vector<std::string> objects;
};
/// Holds up the host until it has received a tensor and the objects that came with it; nothing for a rank that is not a
/// member.
std::optional<ReceivedObjects> receive_with_objects(const char* call, const torch::Tensor& tensor, const Peer& peer,
                                                    const torch::distributed::ProcessGroup& group);

}  // namespace kernbench::distributed
