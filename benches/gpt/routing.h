// Which experts the tokens of a mixture go to: by the router's scores; without data by a stated distribution.
#pragma once

#include <kernbench/kernbench.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "config.h"

namespace benches::gpt {

using torch::Tensor;

/// What is taken for the choices of a router whose scores nobody computes. Each token draws its experts one after the
/// other without putting back, by the experts' weights; a draw depends on layer, token and place alone, so that all
/// ranks draw alike.
class AssumedRouting {
 public:
  /// `text`: "uniform" (equal weights), "zipf:S" (the i-th expert, from 1, has the weight 1 / i^S), or a file with a
  /// weight for each expert. ConfigurationError for what is none of them.
  AssumedRouting(const std::string& text, std::int64_t experts) {
    if (text == "uniform") {
      weights_.assign(static_cast<std::size_t>(experts), 1.0);
    } else if (text.starts_with("zipf:")) {
      const double exponent = exponent_of(text);
      for (std::int64_t i = 1; i <= experts; ++i) weights_.push_back(std::pow(static_cast<double>(i), -exponent));
    } else {
      read(text, experts);
    }
  }

  /// The experts of tokens first, first + 1, … of a layer: Long [tokens, chosen] on the host.
  Tensor choices(std::int64_t layer, std::int64_t first, std::int64_t tokens, std::int64_t chosen) const {
    Tensor result = torch::empty({tokens, chosen}, torch::kLong);
    auto* of_token = result.data_ptr<std::int64_t>();
    for (std::int64_t i = 0; i < tokens; ++i, of_token += chosen)
      for (std::int64_t j = 0; j < chosen; ++j) of_token[j] = draw(layer, first + i, j, of_token, j);
    return result;
  }

 private:
  static double exponent_of(const std::string& text) {
    const std::string number = text.substr(5);
    char* end = nullptr;
    const double exponent = std::strtod(number.c_str(), &end);
    if (number.empty() || *end != '\0' || !(exponent >= 0 && exponent <= 100))
      throw ConfigurationError("routing=" + text + ": zipf:S needs a number S from 0 to 100, as zipf:1.2");
    return exponent;
  }
  void read(const std::string& path, std::int64_t experts) {
    std::ifstream file(path);
    if (!file) {
      throw ConfigurationError("routing=" + path +
                               ": it cannot be read; a routing is uniform, zipf:S, or a file with a weight per expert");
    }
    const auto refuse = [&](const std::string& what) {
      throw ConfigurationError(path + ": " + what + "; the file must have " + std::to_string(experts) +
                               " numbers from 0, a weight for each expert, not all 0");
    };
    for (std::string word; file >> word;) {
      char* end = nullptr;
      const double weight = std::strtod(word.c_str(), &end);
      if (*end != '\0' || !(weight >= 0) || std::isinf(weight)) refuse("\"" + word + "\" is no weight");
      weights_.push_back(weight);
    }
    if (static_cast<std::int64_t>(weights_.size()) != experts)
      refuse("there are " + std::to_string(weights_.size()) + " weights");
    if (std::ranges::count(weights_, 0.0) > experts - 1) refuse("all weights are 0");
  }

  /// In [0, 1): Steele, Lea and Flood's SplitMix64 of what is drawn.
  static double uniform(std::int64_t layer, std::int64_t token, std::int64_t place) {
    auto mixed = static_cast<std::uint64_t>(layer) * 0x100000001b3u + static_cast<std::uint64_t>(token) * 64 +
                 static_cast<std::uint64_t>(place);
    for (int round = 0; round < 2; ++round) {
      mixed += 0x9e3779b97f4a7c15u;
      mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
      mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
      mixed ^= mixed >> 31;
    }
    return static_cast<double>(mixed >> 11) * 0x1p-53;
  }
  std::int64_t draw(std::int64_t layer, std::int64_t token, std::int64_t place, const std::int64_t* taken,
                    std::int64_t taken_count) const {
    const auto is_taken = [&](std::size_t expert) {
      return std::find(taken, taken + taken_count, static_cast<std::int64_t>(expert)) != taken + taken_count;
    };
    double left = 0;
    for (std::size_t i = 0; i < weights_.size(); ++i) left += is_taken(i) ? 0 : weights_[i];
    double at = uniform(layer, token, place) * left;
    std::int64_t last = -1;
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      if (is_taken(i) || (weights_[i] == 0 && left > 0)) continue;
      last = static_cast<std::int64_t>(i);
      at -= weights_[i];
      if (at < 0) break;
    }
    return last;
  }

  std::vector<double> weights_;
};

/// A choice that is dropped stands as -1 - expert.
inline std::int64_t expert_of(std::int64_t choice) {
  return choice < 0 ? -1 - choice : choice;
}
/// The choices with those dropped for which an expert has no place: it takes the first `most` of them, in the order of
/// the tokens.
inline Tensor dropped_beyond(std::int64_t most, const Tensor& choices, std::int64_t experts) {
  Tensor result = choices.clone();
  auto* of = result.data_ptr<std::int64_t>();
  std::vector<std::int64_t> rows(static_cast<std::size_t>(experts), 0);
  for (std::int64_t i = 0; i < result.numel(); ++i)
    if (++rows.at(static_cast<std::size_t>(of[i])) > most) of[i] = -1 - of[i];
  return result;
}

/// The experts that were chosen in each pass through a layer, of all ranks: for figures, and so that a reference
/// chooses alike where scores are nearly equal.
class NotedChoices {
 public:
  /// Of a rank that has tokens first, first + 1, … of pass `pass`.
  void note(std::size_t pass, std::int64_t first, const Tensor& choices) {
    if (pass >= passes_.size()) passes_.resize(pass + 1);
    std::vector<std::int64_t>& all = passes_[pass];
    const auto count = static_cast<std::size_t>(choices.numel());
    const auto begin = static_cast<std::size_t>(first * choices.size(1));
    all.resize(std::max(all.size(), begin + count));
    const Tensor dense = choices.contiguous();
    std::copy_n(dense.data_ptr<std::int64_t>(), count, all.begin() + static_cast<std::ptrdiff_t>(begin));
  }
  bool has(std::size_t pass) const { return pass < passes_.size(); }
  /// Long [tokens, chosen].
  Tensor choices(std::size_t pass, std::int64_t chosen) const {
    const auto& all = passes_.at(pass);
    Tensor result = torch::empty({static_cast<std::int64_t>(all.size()) / chosen, chosen}, torch::kLong);
    std::ranges::copy(all, result.data_ptr<std::int64_t>());
    return result;
  }
  /// How often one expert was chosen in one of the first `passes` at most, over what equal shares would be.
  double busiest(std::size_t passes, std::int64_t experts) const {
    double most = 0;
    for (std::size_t pass = 0; pass < std::min(passes, passes_.size()); ++pass) {
      if (passes_[pass].empty()) continue;
      std::vector<double> rows(static_cast<std::size_t>(experts), 0.0);
      for (const std::int64_t choice : passes_[pass]) rows[static_cast<std::size_t>(expert_of(choice))] += 1;
      const double even = static_cast<double>(passes_[pass].size()) / static_cast<double>(experts);
      most = std::max(most, std::ranges::max(rows) / even);
    }
    return most;
  }
  /// The share of the choices of the first `passes` that were dropped.
  double dropped(std::size_t passes) const {
    double all = 0, gone = 0;
    for (std::size_t pass = 0; pass < std::min(passes, passes_.size()); ++pass) {
      all += static_cast<double>(passes_[pass].size());
      gone += static_cast<double>(std::ranges::count_if(passes_[pass], [](std::int64_t choice) { return choice < 0; }));
    }
    return all == 0 ? 0 : gone / all;
  }

 private:
  std::vector<std::vector<std::int64_t>> passes_;
};

/// The rows of a product for each expert: tokens in the order of the experts, of an expert in that of the tokens.
struct Grouping {
  std::vector<std::int64_t> rows;    // for each expert
  std::vector<std::int64_t> tokens;  // for each row: its token
  std::vector<std::int64_t> places;  // for each token, its chosen experts one after the other: the row; -1: dropped
  std::int64_t chosen = 1;

  Grouping(const Tensor& choices, std::int64_t experts)
      : rows(static_cast<std::size_t>(experts), 0), chosen(choices.size(1)) {
    const Tensor dense = choices.contiguous();
    const std::span<const std::int64_t> of(dense.data_ptr<std::int64_t>(), static_cast<std::size_t>(dense.numel()));
    for (const std::int64_t expert : of)
      if (expert >= 0) ++rows.at(static_cast<std::size_t>(expert));
    std::vector<std::int64_t> next(rows.size(), 0);
    for (std::size_t e = 1; e < next.size(); ++e) next[e] = next[e - 1] + rows[e - 1];
    tokens.resize(static_cast<std::size_t>(rows_of(0, experts)));
    places.resize(of.size(), -1);
    for (std::size_t i = 0; i < of.size(); ++i) {
      if (of[i] < 0) continue;
      places[i] = next[static_cast<std::size_t>(of[i])]++;
      tokens[static_cast<std::size_t>(places[i])] = static_cast<std::int64_t>(i) / chosen;
    }
  }
  /// Rows of the experts [first, first + count).
  std::int64_t rows_of(std::int64_t first, std::int64_t count) const {
    return std::accumulate(rows.begin() + first, rows.begin() + first + count, std::int64_t{0});
  }
};

/// A host tensor of these numbers.
inline Tensor long_tensor(const std::vector<std::int64_t>& values) {
  Tensor result = torch::empty({static_cast<std::int64_t>(values.size())}, torch::kLong);
  std::ranges::copy(values, result.data_ptr<std::int64_t>());
  return result;
}

}  // namespace benches::gpt
