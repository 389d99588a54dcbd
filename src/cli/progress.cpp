#include "cli/progress.h"

#include <fmt/format.h>

#include "base/text.h"

namespace kernbench::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kQuietTime = std::chrono::seconds(1);
constexpr auto kInterval = std::chrono::milliseconds(100);

std::string rate(double per_second) {
  if (per_second >= 1e6) return fmt::format("{:.1f} M", per_second / 1e6);
  if (per_second >= 1e3) return fmt::format("{:.1f} k", per_second / 1e3);
  return fmt::format("{:.0f}", per_second);
}

std::string elapsed(double seconds) {
  const auto whole = static_cast<std::int64_t>(seconds);
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

}  // namespace

std::string progress_text(const RunProgress& progress, double seconds) {
  return fmt::format("simulated {}, {} launch{} completed, {} events/s, {}", to_text(progress.simulated_time),
                     progress.launches, progress.launches == 1 ? "" : "es",
                     rate(seconds > 0 ? static_cast<double>(progress.events) / seconds : 0), elapsed(seconds));
}

ProgressDisplay::ProgressDisplay(StatusLine& line, SimulateOptions& options) : line_(line) {
  if (!line.active()) return;
  options.progress_due = &due_;
  options.on_progress = [this, start = Clock::now()](const RunProgress& progress) {
    line_.show(progress_text(progress, std::chrono::duration<double>(Clock::now() - start).count()));
  };
  thread_ = std::thread([this] { keep_time(); });
}

ProgressDisplay::~ProgressDisplay() {
  if (thread_.joinable()) {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    stopped_.notify_all();
    thread_.join();
  }
  line_.clear();
}

void ProgressDisplay::keep_time() {
  std::unique_lock lock(mutex_);
  const auto stop = [this] { return stop_; };
  if (stopped_.wait_for(lock, kQuietTime, stop)) return;
  do {
    due_.store(true, std::memory_order_relaxed);
  } while (!stopped_.wait_for(lock, kInterval, stop));
}

}  // namespace kernbench::cli
