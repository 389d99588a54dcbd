// The bytes of host objects that the members of a group exchange.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace kernbench::distributed {

/// What members have given to the group's object collectives, until all have taken what they get. Their collectives on
/// tensors say when it is there: whoever has finished one in which another member took part finds that member's bytes.
class ObjectExchange {
 public:
  explicit ObjectExchange(std::size_t members) : members_(members) {}

  void give(std::uint64_t call, int member, std::vector<std::string> objects);
  /// Those that the member has given to the call. It must have come to it.
  const std::vector<std::string>& of(std::uint64_t call, int member) const;
  /// A member needs nothing more of the call; the last one ends it.
  void leave(std::uint64_t call);
  bool empty() const { return calls_.empty(); }

 private:
  struct Call {
    std::map<int, std::vector<std::string>> objects = {};  // by member
    std::size_t left = 0;
  };
  std::size_t members_;
  std::map<std::uint64_t, Call> calls_;  // by the number of the call, which is the same on all members
};

}  // namespace kernbench::distributed
