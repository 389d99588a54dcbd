// One line on a terminal that says what goes on, and goes away.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace kernbench::cli {

class StatusLine {
 public:
  /// `write` writes to the terminal; an inactive line shows nothing.
  StatusLine(std::function<void(std::string_view)> write, bool active);
  ~StatusLine();
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  bool active() const { return active_; }
  /// Shows `text` in place of what was shown.
  void show(const std::string& text);
  /// Writes `lines`, which stay, above the line; also of an inactive one.
  void write_above(std::string_view lines);
  /// Removes the line.
  void clear();

 private:
  std::function<void(std::string_view)> write_;
  bool active_;
  bool shown_ = false;
  std::string text_;  // what is shown, or was last
};

}  // namespace kernbench::cli
