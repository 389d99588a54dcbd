// What lies before something, as races are found by it: a vector clock, of the programs that are known to it only.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace kernbench::tile {

/// By program, the latest of its releases that lies before: all accesses that this release stands for do. A value; what
/// is alike is shared.
class Clock {
 public:
  struct Entry {
    std::uint32_t program = 0, release = 0;  // numbers
    bool operator==(const Entry&) const = default;
  };

  Clock() = default;
  /// Null: nothing of that program lies before.
  const Entry* find(std::uint32_t program) const;
  /// Everything that lies before either.
  void join(const Clock& other);
  /// Besides, what this release of a program stands for.
  void add(Entry entry);

 private:
  using Entries = std::vector<Entry>;  // by program
  explicit Clock(Entries entries) : entries_(std::make_shared<const Entries>(std::move(entries))) {}

  std::shared_ptr<const Entries> entries_;  // null: none
};

}  // namespace kernbench::tile
