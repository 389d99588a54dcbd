// A mixture of experts in place of a feed-forward network: a router sends each token through a few of many networks,
// and the result is their sum, weighted by its scores.
//
// Without expert parallelism each rank has a part of every expert, as of any other column and row, and its result is a
// part of a sum over the ranks. With it a rank has whole experts. Where all ranks have all tokens it makes the rows of
// its own experts, again a part of a sum. Where the tokens are shared it sends each row to the rank that has the
// expert, and gets the results back: three all_to_all_single with splits (how many, the rows, the results).
//
// How many rows an expert gets is known to the host only when the router's choices are: each pass through a layer waits
// for them, as programs of PyTorch do that call nonzero().
//
// The products of all experts are one launch, a batch of matrices with as many rows as the busiest expert has: its
// programs use all PEs, where the few rows of one expert cannot. With a capacity an expert takes no more rows than that
// and the tokens beyond lose it (Lepikhin et al., GShard, 2020; Fedus et al., Switch Transformers, 2021).
#pragma once

#include <kernbench/torch/transformer.h>
#include <kernbench/tp.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "parallel.h"
#include "routing.h"

namespace benches::gpt {

namespace tp = kernbench::tp;

class Experts {
 public:
  /// Of the layer that the weights call `name` ("model.layers.0").
  Experts(const ModelConfig& config, const Weights& weights, const Parallel& parallel, const std::string& name)
      : config_(config), parallel_(parallel), uniform_("uniform", config.experts) {
    const bool fused = weights.has(name + ".mlp.experts.gate_up_proj");
    const std::string block = name + (fused ? ".mlp." : ".block_sparse_moe.");
    const std::string gate = block + "gate.weight";
    router_ = on_device(parallel, weights.whole(gate, {config.experts, config.hidden}), gate);
    load(weights, block, fused);
  }

  /// x [tokens, batch, hidden]: all tokens, and the result is the rank's part of a sum; or with `shared` the rank's own
  /// tokens and their result. `pass` counts passes through layers, alike on all ranks.
  Tensor operator()(const Tensor& x, bool shared, std::size_t pass) const {
    const Tensor rows = x.reshape({-1, config_.hidden});
    const Tensor y = parallel_.experts && shared ? exchanged(rows, pass) : partial(rows, pass);
    return y.view(x.sizes());
  }

 private:
  struct Choice {
    Tensor experts;  // on the host: Long [tokens, chosen], those dropped as routing.h has them
    Tensor weights;  // [tokens, chosen]
  };
  /// What the experts make of rows, and where each row lies in it.
  struct Made {
    Tensor rows;
    std::vector<std::int64_t> at;
  };
  using Numbers = std::vector<std::int64_t>;

  std::int64_t local_experts() const { return parallel_.experts ? config_.experts / parallel_.size : config_.experts; }
  std::int64_t first_expert() const { return parallel_.experts ? parallel_.rank * local_experts() : 0; }
  /// The rank's part of the inner columns of an expert.
  Part inner(std::int64_t dimension) const {
    return parallel_.experts ? Part{dimension, 0, config_.inner} : part_of(parallel_, dimension, config_.inner);
  }

  // ---- weights -------------------------------------------------------------------------------------------------

  void load(const Weights& weights, const std::string& block, bool fused) {
    std::vector<Tensor> up, down;
    for (std::int64_t e = first_expert(); e < first_expert() + local_experts(); ++e) {
      up.push_back(fused ? up_of_stack(weights, block, e) : up_of_list(weights, block, e));
      down.push_back(fused ? down_of_stack(weights, block, e) : down_of_list(weights, block, e));
    }
    up_ = stacked(up, block + "experts.gate_up_proj");
    down_ = stacked(down, block + "experts.down_proj");
  }
  /// Matrices [out, in] as [experts, out, in]. In memory the rows `out` come first, so that each expert lies in all
  /// slices, and one alone is read with the bandwidth of all.
  Tensor stacked(const std::vector<Tensor>& matrices, const std::string& name) const {
    const auto count = static_cast<std::int64_t>(matrices.size());
    const Tensor host = kernbench::data_enabled()
                            ? torch::stack(matrices, 1)
                            : torch::empty({matrices.front().size(0), count, matrices.front().size(1)});
    return on_device(parallel_, host, name).permute({1, 0, 2});
  }
  Tensor up_of_list(const Weights& weights, const std::string& block, std::int64_t e) const {
    const std::string name = block + "experts." + std::to_string(e);
    const Shape shape{config_.inner, config_.hidden};
    return joined({weights.part(name + ".w1.weight", shape, inner(0)),  //
                   weights.part(name + ".w3.weight", shape, inner(0))});
  }
  Tensor down_of_list(const Weights& weights, const std::string& block, std::int64_t e) const {
    return weights.part(block + "experts." + std::to_string(e) + ".w2.weight", {config_.hidden, config_.inner},
                        inner(1));
  }
  Tensor up_of_stack(const Weights& weights, const std::string& block, std::int64_t e) const {
    const std::string name = block + "experts.gate_up_proj";
    const Shape shape{config_.experts, 2 * config_.inner, config_.hidden};
    const Part gate = inner(0), second{0, gate.begin + config_.inner, gate.end + config_.inner};
    return joined({weights.of_stack(name, shape, e, gate), weights.of_stack(name, shape, e, second)});
  }
  Tensor down_of_stack(const Weights& weights, const std::string& block, std::int64_t e) const {
    return weights.of_stack(block + "experts.down_proj", {config_.experts, config_.hidden, config_.inner}, e, inner(1));
  }

  // ---- routing -------------------------------------------------------------------------------------------------

  const AssumedRouting& assumed() const { return parallel_.assumed != nullptr ? *parallel_.assumed : uniform_; }
  Tensor indices(const Numbers& numbers) const { return long_tensor(numbers).to(parallel_.device); }
  /// What an expert takes of the choices of so many tokens.
  Tensor with_capacity(const Tensor& choices) const {
    if (parallel_.capacity <= 0) return choices;
    const double even = static_cast<double>(choices.numel()) / static_cast<double>(config_.experts);
    return dropped_beyond(static_cast<std::int64_t>(std::ceil(parallel_.capacity * even)), choices, config_.experts);
  }
  /// What is taken for the choices of a rank's tokens.
  Tensor assumed_choices(std::size_t pass, std::int64_t first, std::int64_t tokens) const {
    return assumed().choices(static_cast<std::int64_t>(pass), first, tokens, config_.chosen_experts);
  }

  /// The experts of these rows, which are tokens first, first + 1, … of all.
  Choice choose(const Tensor& rows, std::int64_t first, bool shared, std::size_t pass) const {
    const Tensor probabilities = torch::linear(rows, router_).softmax(-1, torch::kFloat);
    if (parallel_.device.is_cpu() && parallel_.noted != nullptr && parallel_.noted->has(pass)) {
      const Tensor noted = parallel_.noted->choices(pass, config_.chosen_experts);
      const Tensor experts = torch::where(noted < 0, -1 - noted, noted);
      return {noted, weights_of(probabilities.gather(-1, experts))};
    }
    const auto [best, index] = probabilities.topk(config_.chosen_experts);
    const Tensor chosen =
        kernbench::floating_point_enabled() ? index.cpu() : index.cpu_or(assumed_choices(pass, first, rows.size(0)));
    const Tensor kept = with_capacity(chosen);
    if (parallel_.noted != nullptr && (shared || parallel_.rank == 0)) parallel_.noted->note(pass, first, kept);
    return {kept, weights_of(best)};
  }
  Tensor weights_of(const Tensor& best) const {
    return (best / best.sum(torch::IntArrayRef{-1}, true)).to(parallel_.dtype);
  }

  // ---- experts -------------------------------------------------------------------------------------------------

  /// Rows of an expert in a product of all of them at once: one of eight sizes between a power of two and the next, so
  /// that few products have to be planned.
  static std::int64_t padded(std::int64_t rows) {
    const auto step =
        std::max<std::int64_t>(static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(rows))) / 8, 1);
    return (rows + step - 1) / step * step;
  }

  /// Whether all experts at once, each with `capacity` rows, are likely faster than those that have rows one after the
  /// other. An assumption, by products on ahbm-1sip: with fewer than 64 rows reading the weights takes the time; the
  /// launches of an expert alone take as long as 64 further rows and 2.4 GFLOP.
  bool at_once_is_faster(const Numbers& counts, std::int64_t capacity) const {
    const double rows_of_weights = 64, flops_of_row = 3.0 * static_cast<double>(up_.size(1) * up_.size(2));
    double alone = 0;
    for (const std::int64_t count : counts) {
      if (count == 0) continue;
      alone += std::max(static_cast<double>(count), rows_of_weights) + 64 + 2.4e9 / flops_of_row;
    }
    const double together =
        static_cast<double>(counts.size()) * std::max(static_cast<double>(capacity), rows_of_weights);
    return counts.size() > 1 && together < alone;
  }

  /// The rows `from` of `source`, grouped by local expert, `counts` of each, through them.
  Made through(const Tensor& source, const Numbers& from, const Numbers& counts) const {
    const auto experts = static_cast<std::int64_t>(counts.size()), rows = static_cast<std::int64_t>(from.size());
    if (rows == 0) return {torch::empty({0, config_.hidden}, source.options()), {}};
    const std::int64_t capacity = padded(std::ranges::max(counts));
    if (at_once_is_faster(counts, capacity)) return at_once(source, from, counts, capacity);
    const Tensor grouped = torch::embedding(source, indices(from));
    std::vector<Tensor> parts;
    std::int64_t first = 0;
    for (std::int64_t e = 0; e < experts; ++e) {
      const std::int64_t count = counts[static_cast<std::size_t>(e)];
      if (count == 0) continue;
      const Tensor active = torch::ahbm::swiglu(torch::linear(grouped.narrow(0, first, count), up_[e]));
      parts.push_back(torch::linear(active, down_[e]));
      first += count;
    }
    Numbers at(from.size());
    std::iota(at.begin(), at.end(), std::int64_t{0});
    return {parts.size() == 1 ? parts.front() : torch::cat(parts, 0), std::move(at)};
  }
  Made at_once(const Tensor& source, const Numbers& from, const Numbers& counts, std::int64_t capacity) const {
    const auto experts = static_cast<std::int64_t>(counts.size());
    // What fills up is any row: spread, so that no slice is asked for one again and again.
    Numbers rows(static_cast<std::size_t>(experts * capacity)), at;
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<std::int64_t>(i) % source.size(0);
    for (std::int64_t e = 0; e < experts; ++e) {
      for (std::int64_t i = 0; i < counts[static_cast<std::size_t>(e)]; ++i) {
        at.push_back(e * capacity + i);
        rows[static_cast<std::size_t>(at.back())] = from[at.size() - 1];
      }
    }
    const Tensor x = torch::embedding(source, indices(rows)).view({experts, capacity, config_.hidden});
    const Tensor active = torch::ahbm::swiglu(torch::bmm(x, up_.transpose(1, 2)));
    return {torch::bmm(active, down_.transpose(1, 2)).view({experts * capacity, config_.hidden}), std::move(at)};
  }

  /// For each token the weighted sum of its rows: of row i of the grouping what `made` has at at[i - first]. Others,
  /// and those dropped, count as zero.
  Tensor combined(const Made& made, std::int64_t first, const Grouping& grouping, const Choice& choice) const {
    const std::int64_t tokens = choice.experts.size(0), chosen = grouping.chosen, rows = made.rows.size(0);
    if (rows == 0) return torch::zeros({tokens, config_.hidden}, choice.weights.options());
    Numbers places;
    bool all = true;
    for (const std::int64_t place : grouping.places) {
      const bool here = place >= first && place - first < static_cast<std::int64_t>(made.at.size());
      places.push_back(here ? made.at[static_cast<std::size_t>(place - first)] : rows);
      all = all && here;
    }
    const Tensor at = indices(places).view({tokens, chosen});
    const Tensor of = all ? torch::embedding(made.rows, at) : torch::ahbm::embedding_part(made.rows, at, 0, rows + 1);
    return (of * choice.weights.unsqueeze(-1)).sum(torch::IntArrayRef{1});
  }

  /// The rank's part of the sum for all tokens.
  Tensor partial(const Tensor& x, std::size_t pass) const {
    const Choice choice = choose(x, 0, false, pass);
    const Grouping grouping(choice.experts, config_.experts);
    const std::int64_t before = grouping.rows_of(0, first_expert());
    const auto begin = grouping.tokens.begin() + before;
    const auto of = grouping.rows.begin() + first_expert();
    const Made made =
        through(x, {begin, begin + grouping.rows_of(first_expert(), local_experts())}, {of, of + local_experts()});
    return combined(made, before, grouping, choice);
  }

  // ---- rows to the ranks of their experts, and back ------------------------------------------------------------

  /// The whole result of the rank's own tokens.
  Tensor exchanged(const Tensor& x, std::size_t pass) const {
    const auto group = tp::get_tensor_model_parallel_group();
    const std::int64_t tokens = x.size(0), local = local_experts(), ranks = parallel_.size;
    const Choice choice = choose(x, parallel_.rank * tokens, true, pass);
    const Grouping grouping(choice.experts, config_.experts);
    const Numbers counts = counts_for_me(grouping, tokens, pass);  // [rank][expert]
    Numbers to, from;
    for (std::int64_t r = 0; r < ranks; ++r) {
      to.push_back(grouping.rows_of(r * local, local));
      const auto begin = counts.begin() + r * local;
      from.push_back(std::accumulate(begin, begin + local, std::int64_t{0}));
    }
    const Received received = by_expert(counts);
    const auto sent = static_cast<std::int64_t>(grouping.tokens.size());
    const auto rows = static_cast<std::int64_t>(received.order.size());
    const Tensor here = torch::empty({rows, config_.hidden}, x.options());
    const auto rows_of = [&](const Tensor& table, const Numbers& at) {
      return at.empty() ? torch::empty({0, config_.hidden}, x.options()) : torch::embedding(table, indices(at));
    };
    torch::distributed::all_to_all_single(here, rows_of(x, grouping.tokens), from, to, group);
    const Made made = through(here, received.order, received.counts);
    Numbers back(received.order.size());
    for (std::size_t i = 0; i < back.size(); ++i) back[static_cast<std::size_t>(received.order[i])] = made.at[i];
    Made returned{torch::empty({sent, config_.hidden}, x.options()), Numbers(static_cast<std::size_t>(sent))};
    std::iota(returned.at.begin(), returned.at.end(), std::int64_t{0});
    torch::distributed::all_to_all_single(returned.rows, rows_of(made.rows, back), to, from, group);
    return combined(returned, 0, grouping, choice);
  }
  /// Rows come in the order of the ranks, of a rank in that of the experts: which are those of each expert, one after
  /// the other.
  struct Received {
    Numbers order, counts;
  };
  Received by_expert(const Numbers& counts) const {
    const std::int64_t local = local_experts();
    Received result{{}, Numbers(static_cast<std::size_t>(local), 0)};
    for (std::int64_t e = 0; e < local; ++e) {
      std::int64_t row = 0;
      for (std::size_t i = 0; i < counts.size(); ++i) {
        if (static_cast<std::int64_t>(i) % local == e) {
          for (std::int64_t k = 0; k < counts[i]; ++k) result.order.push_back(row + k);
          result.counts[static_cast<std::size_t>(e)] += counts[i];
        }
        row += counts[i];
      }
    }
    return result;
  }
  /// How many rows each rank sends to each of this rank's experts.
  Numbers counts_for_me(const Grouping& grouping, std::int64_t tokens, std::size_t pass) const {
    const Tensor mine = indices(grouping.rows), of_all = torch::empty_like(mine);
    torch::distributed::all_to_all_single(of_all, mine, {}, {}, tp::get_tensor_model_parallel_group());
    Numbers taken;  // where nobody knows
    for (std::int64_t r = 0; r < parallel_.size && !kernbench::floating_point_enabled(); ++r) {
      const Grouping theirs(with_capacity(assumed_choices(pass, r * tokens, tokens)), config_.experts);
      const auto begin = theirs.rows.begin() + first_expert();
      taken.insert(taken.end(), begin, begin + local_experts());
    }
    const Tensor known = taken.empty() ? of_all.cpu() : of_all.cpu_or(long_tensor(taken));
    const auto* counts = known.data_ptr<std::int64_t>();
    return {counts, counts + known.numel()};
  }

  const ModelConfig& config_;
  Parallel parallel_;
  AssumedRouting uniform_;
  Tensor router_;
  Tensor up_, down_;  // of all local experts: rows of the gate, then of what it multiplies; the rows that come out
};

}  // namespace benches::gpt
