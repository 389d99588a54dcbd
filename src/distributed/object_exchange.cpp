#include "distributed/object_exchange.h"

#include <utility>

namespace kernbench::distributed {

void ObjectExchange::give(std::uint64_t call, int member, std::vector<std::string> objects) {
  calls_[call].objects[member] = std::move(objects);
}

const std::vector<std::string>& ObjectExchange::of(std::uint64_t call, int member) const {
  return calls_.at(call).objects.at(member);
}

void ObjectExchange::leave(std::uint64_t call) {
  const auto mine = calls_.find(call);
  if (++mine->second.left == members_) calls_.erase(mine);
}

}  // namespace kernbench::distributed
