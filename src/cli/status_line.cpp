#include "cli/status_line.h"

#include <utility>

#include "report/text/utf8.h"

namespace kernbench::cli {
namespace {

// To the line's first column, and erase the line: what every terminal of the last 40 years understands.
constexpr std::string_view kErase = "\r\x1b[K";

}  // namespace

StatusLine::StatusLine(std::function<void(std::string_view)> write, bool active)
    : write_(std::move(write)), active_(active) {}

StatusLine::~StatusLine() {
  clear();
}

void StatusLine::show(const std::string& text) {
  if (!active_) return;
  // Back at the first column, so that what the program prints overwrites the line.
  write_(std::string(kErase) + report::one_line(text) + "\r");
  shown_ = true;
  if (&text != &text_) text_ = text;
}

void StatusLine::write_above(std::string_view lines) {
  const bool again = shown_;
  clear();
  write_(lines);
  if (again) show(text_);
}

void StatusLine::clear() {
  if (!shown_) return;
  write_(kErase);
  shown_ = false;
}

}  // namespace kernbench::cli
