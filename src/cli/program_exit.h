// std::exit() called by a simulated program: an error of that program, not the end of this one.
#pragma once

#include <functional>
#include <string>

namespace kernbench::cli {

/// Makes exits known to ExitWatch; called once, early, by the process that owns them.
void handle_exits();

/// While it lives, a call of std::exit ends the process by `leave`, which gets the status and the name of the fiber
/// that called (empty: none) and must not return.
class ExitWatch {
 public:
  using Leave = std::function<void(int status, const std::string& fiber)>;
  explicit ExitWatch(Leave leave);
  ~ExitWatch();
  ExitWatch(const ExitWatch&) = delete;
  ExitWatch& operator=(const ExitWatch&) = delete;

 private:
  friend void on_exit_of_process(int, void*);
  Leave leave_;
  ExitWatch* before_;
};

}  // namespace kernbench::cli
