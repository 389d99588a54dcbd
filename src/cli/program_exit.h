// std::exit() and std::quick_exit() called by a simulated program: an error of that program, not the end of this one.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace kernbench::cli {

/// Makes exits known to ExitWatch; called once, early, by the process that owns them.
void handle_exits();

/// While it lives, a call of std::exit or std::quick_exit ends the process by `leave`, which gets the status (of
/// std::exit alone: it is not known of the other) and the name of the fiber that called (empty: none), and must not
/// return.
class ExitWatch {
 public:
  using Leave = std::function<void(std::optional<int> status, const std::string& fiber)>;
  explicit ExitWatch(Leave leave);
  ~ExitWatch();
  ExitWatch(const ExitWatch&) = delete;
  ExitWatch& operator=(const ExitWatch&) = delete;

 private:
  friend void leave_by(std::optional<int> status);
  Leave leave_;
  ExitWatch* before_;
};

}  // namespace kernbench::cli
