// Some layers of a model that stand for all of them: what the others would have taken, from the times of these.
//
// The first layers and the last one are simulated. A layer between takes the mean of those that are neither the first
// nor the last, an estimate: layers of one shape differ by what their addresses make of contention.
#pragma once

#include <kernbench/kernbench.h>
#include <kernbench/laws.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace benches::gpt {

class SampledLayers {
 public:
  /// At least so many have to be simulated: the first, one between, and the last.
  static constexpr std::int64_t kLeast = 3;

  SampledLayers() = default;
  /// `simulated` of `all` layers; both may be equal.
  SampledLayers(std::int64_t all, std::int64_t simulated) : left_out_(all - simulated), simulated_(simulated) {}

  /// The layers that a pass goes through, in order, of `all`.
  std::vector<std::size_t> of(std::size_t all) const {
    std::vector<std::size_t> chosen;
    for (std::size_t i = 0; i < all; ++i)
      if (left_out_ == 0 || static_cast<std::int64_t>(i) < simulated_ - 1 || i + 1 == all) chosen.push_back(i);
    return chosen;
  }
  bool leaves_out() const { return left_out_ > 0; }
  std::int64_t left_out() const { return left_out_; }
  std::int64_t simulated() const { return simulated_; }

  /// A pass begins, or goes on to its next layer, or ends: told before each layer and after the last one.
  void begin_pass() {
    passes_.emplace_back();
    launches_.emplace_back();
  }
  void mark() {
    passes_.back().emplace_back();
    passes_.back().back().record();
    launches_.back().push_back(torch::ahbm::launches_given());
  }

  /// Microseconds of the layers that were left out of passes `first` to before `last`, which have completed.
  double left_out_us(std::size_t first, std::size_t last) const {
    double sum = 0;
    for (std::size_t i = first; i < last; ++i) sum += static_cast<double>(left_out_) * mean(between(passes_[i]));
    return sum;
  }
  /// Launches that the layers left out of these passes would have been, as many as a layer between.
  std::int64_t left_out_launches(std::size_t first, std::size_t last) const {
    std::int64_t sum = 0;
    for (std::size_t i = first; i < last && left_out_ > 0; ++i) sum += left_out_ * (launches_[i][2] - launches_[i][1]);
    return sum;
  }
  /// By how much the shortest and the longest of all layers simulated differ, as a share of their mean: the most of all
  /// passes. The first and the last count, too: of one layer between alone there would be no difference.
  double spread() const {
    double most = 0;
    for (const auto& pass : passes_) {
      const std::vector<double> times = layers(pass, 0, pass.size() - 1);
      const auto [least, longest] = std::minmax_element(times.begin(), times.end());
      most = std::max(most, (*longest - *least) / mean(times));
    }
    return most;
  }
  std::size_t passes() const { return passes_.size(); }

 private:
  using Pass = std::vector<torch::ahbm::Event>;

  /// Microseconds of each of the layers `first` to before `last`.
  static std::vector<double> layers(const Pass& pass, std::size_t first, std::size_t last) {
    std::vector<double> times;
    for (std::size_t i = first; i < last; ++i) times.push_back(pass[i].elapsed_time(pass[i + 1]) * 1e3);
    return times;
  }
  /// Of each layer but the first and the last.
  static std::vector<double> between(const Pass& pass) { return layers(pass, 1, pass.size() - 2); }
  static double mean(const std::vector<double>& times) {
    double sum = 0;
    for (const double time : times) sum += time;
    return sum / static_cast<double>(times.size());
  }

  std::int64_t left_out_ = 0, simulated_ = 0;
  std::vector<Pass> passes_;
  std::vector<std::vector<std::int64_t>> launches_;  // of the worker so far, at the same marks
};

}  // namespace benches::gpt
