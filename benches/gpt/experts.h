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
#pragma once

#include <kernbench/torch/transformer.h>
#include <kernbench/tp.h>

#include <cstdint>
#include <numeric>
#include <string>
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
    router_ = on_device(parallel, weights.whole(block + "gate.weight", {config.experts, config.hidden}));
    for (std::int64_t e = first_expert(); e < first_expert() + local_experts(); ++e)
      experts_.push_back(fused ? of_stack(weights, block, e) : of_list(weights, block, e));
  }

  /// x [tokens, batch, hidden]: all tokens, and the result is the rank's part of a sum; or with `shared` the rank's own
  /// tokens and their result. `pass` counts passes through layers, alike on all ranks.
  Tensor operator()(const Tensor& x, bool shared, std::size_t pass) const {
    const Tensor rows = x.reshape({-1, config_.hidden});
    const Tensor y = parallel_.experts && shared ? exchanged(rows, pass) : partial(rows, pass);
    return y.view(x.sizes());
  }

 private:
  struct Expert {
    Tensor up, down;  // up: rows of the gate, then of what it multiplies
  };
  struct Choice {
    Tensor experts;  // on the host: Long [tokens, chosen]
    Tensor weights;  // [tokens, chosen]
  };

  std::int64_t local_experts() const { return parallel_.experts ? config_.experts / parallel_.size : config_.experts; }
  std::int64_t first_expert() const { return parallel_.experts ? parallel_.rank * local_experts() : 0; }
  /// The rank's part of the inner columns of an expert.
  Part inner(std::int64_t dimension) const {
    return parallel_.experts ? Part{dimension, 0, config_.inner} : part_of(parallel_, dimension, config_.inner);
  }

  Expert of_list(const Weights& weights, const std::string& block, std::int64_t e) const {
    const std::string name = block + "experts." + std::to_string(e);
    const Shape up{config_.inner, config_.hidden}, down{config_.hidden, config_.inner};
    return {on_device(parallel_, joined({weights.part(name + ".w1.weight", up, inner(0)),
                                         weights.part(name + ".w3.weight", up, inner(0))})),
            on_device(parallel_, weights.part(name + ".w2.weight", down, inner(1)))};
  }
  Expert of_stack(const Weights& weights, const std::string& block, std::int64_t e) const {
    const Shape up{config_.experts, 2 * config_.inner, config_.hidden};
    const Shape down{config_.experts, config_.hidden, config_.inner};
    const Part gate = inner(0), second{0, gate.begin + config_.inner, gate.end + config_.inner};
    return {on_device(parallel_, joined({weights.of_stack(block + "experts.gate_up_proj", up, e, gate),
                                         weights.of_stack(block + "experts.gate_up_proj", up, e, second)})),
            on_device(parallel_, weights.of_stack(block + "experts.down_proj", down, e, inner(1)).contiguous())};
  }

  const AssumedRouting& assumed() const { return parallel_.assumed != nullptr ? *parallel_.assumed : uniform_; }
  Tensor indices(std::vector<std::int64_t>::const_iterator begin, std::int64_t count) const {
    return long_tensor({begin, begin + count}).to(parallel_.device);
  }

  /// The experts of these rows, which are tokens first, first + 1, … of all.
  Choice choose(const Tensor& rows, std::int64_t first, bool shared, std::size_t pass) const {
    const Tensor probabilities = torch::linear(rows, router_).softmax(-1, torch::kFloat);
    const bool on_host = parallel_.device.is_cpu();
    auto [best, index] = probabilities.topk(config_.chosen_experts);
    if (on_host && parallel_.noted != nullptr && parallel_.noted->has(pass)) {
      index = parallel_.noted->choices(pass, config_.chosen_experts);
      best = probabilities.gather(-1, index);
    }
    const Tensor weights = (best / best.sum(torch::IntArrayRef{-1}, true)).to(parallel_.dtype);
    if (on_host) return {index, weights};
    const Tensor known =
        kernbench::floating_point_enabled()
            ? index.cpu()
            : index.cpu_or(assumed().choices(static_cast<std::int64_t>(pass), first, rows.size(0), index.size(1)));
    if (parallel_.noted != nullptr && (shared || parallel_.rank == 0)) parallel_.noted->note(pass, first, known);
    return {known, weights};
  }

  /// Rows of the rank's experts one after the other, `counts` of each, through them.
  Tensor through(const Tensor& rows, const std::vector<std::int64_t>& counts) const {
    std::vector<Tensor> parts;
    std::int64_t first = 0;
    for (std::size_t e = 0; e < counts.size(); ++e) {
      if (counts[e] == 0) continue;
      const Tensor active = torch::ahbm::swiglu(torch::linear(rows.narrow(0, first, counts[e]), experts_[e].up));
      parts.push_back(torch::linear(active, experts_[e].down));
      first += counts[e];
    }
    if (parts.empty()) return rows;
    return parts.size() == 1 ? parts.front() : torch::cat(parts, 0);
  }
  Tensor no_rows() const {
    return torch::empty({0, config_.hidden}, torch::dtype(parallel_.dtype).device(parallel_.device));
  }

  /// For each token the weighted sum of its rows, of which `made` has those from `first` on; the others count as zero.
  Tensor combined(const Tensor& made, std::int64_t first, const Grouping& grouping, const Choice& choice) const {
    const std::int64_t tokens = choice.experts.size(0), chosen = grouping.chosen;
    if (made.size(0) == 0)
      return torch::zeros({tokens, config_.hidden}, torch::dtype(parallel_.dtype).device(parallel_.device));
    const auto whole = static_cast<std::int64_t>(grouping.places.size());
    Tensor sum;
    for (std::int64_t j = 0; j < chosen; ++j) {
      std::vector<std::int64_t> places;
      for (std::int64_t token = 0; token < tokens; ++token)
        places.push_back(grouping.places[static_cast<std::size_t>(token * chosen + j)]);
      const Tensor at = long_tensor(places).to(parallel_.device);
      const Tensor rows =
          made.size(0) == whole ? torch::embedding(made, at) : torch::ahbm::embedding_part(made, at, first, whole);
      const Tensor weighted = rows * choice.weights.narrow(1, j, 1);
      sum = sum.defined() ? sum + weighted : weighted;
    }
    return sum;
  }

  /// The rank's part of the sum for all tokens.
  Tensor partial(const Tensor& x, std::size_t pass) const {
    const Choice choice = choose(x, 0, false, pass);
    const Grouping grouping(choice.experts, config_.experts);
    const std::int64_t before = grouping.rows_of(0, first_expert());
    const std::int64_t count = grouping.rows_of(first_expert(), local_experts());
    const auto begin = grouping.rows.begin() + first_expert();
    const std::vector<std::int64_t> counts(begin, begin + local_experts());
    const Tensor made =
        count == 0 ? no_rows() : through(torch::embedding(x, indices(grouping.tokens.begin() + before, count)), counts);
    return combined(made, before, grouping, choice);
  }

  /// The whole result of the rank's own tokens: rows go to the ranks that have their experts, and come back.
  Tensor exchanged(const Tensor& x, std::size_t pass) const {
    const auto group = tp::get_tensor_model_parallel_group();
    const std::int64_t tokens = x.size(0), local = local_experts(), ranks = parallel_.size;
    const Choice choice = choose(x, parallel_.rank * tokens, true, pass);
    const Grouping grouping(choice.experts, config_.experts);
    const std::vector<std::int64_t> expected = counts_for_me(grouping, tokens, pass);  // [rank][expert]
    std::vector<std::int64_t> to, from, order, counts(static_cast<std::size_t>(local), 0);
    for (std::int64_t r = 0; r < ranks; ++r) {
      to.push_back(grouping.rows_of(r * local, local));
      const auto begin = expected.begin() + r * local;
      from.push_back(std::accumulate(begin, begin + local, std::int64_t{0}));
    }
    for (std::int64_t e = 0; e < local; ++e) {
      for (std::int64_t r = 0; r < ranks; ++r) {
        const auto at = expected.begin() + r * local;
        const std::int64_t row = std::accumulate(expected.begin(), at + e, std::int64_t{0});
        for (std::int64_t i = 0; i < at[e]; ++i) order.push_back(row + i);
        counts[static_cast<std::size_t>(e)] += at[e];
      }
    }
    const auto rows = static_cast<std::int64_t>(order.size()), sent = static_cast<std::int64_t>(grouping.tokens.size());
    const Tensor received = torch::empty({rows, config_.hidden}, x.options());
    torch::distributed::all_to_all_single(received, torch::embedding(x, indices(grouping.tokens.begin(), sent)), from,
                                          to, group);
    Tensor made = received;
    if (rows > 0) {
      std::vector<std::int64_t> back(order.size());
      for (std::size_t i = 0; i < order.size(); ++i)
        back[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
      made = through(torch::embedding(received, indices(order.cbegin(), rows)), counts);
      made = torch::embedding(made, indices(back.cbegin(), rows));
    }
    const Tensor returned = torch::empty({sent, config_.hidden}, x.options());
    torch::distributed::all_to_all_single(returned, made, to, from, group);
    return combined(returned, 0, grouping, choice);
  }
  /// How many rows each rank sends to each of this rank's experts.
  std::vector<std::int64_t> counts_for_me(const Grouping& grouping, std::int64_t tokens, std::size_t pass) const {
    const std::int64_t local = local_experts();
    const Tensor mine = long_tensor(grouping.rows).to(parallel_.device), of_all = torch::empty_like(mine);
    torch::distributed::all_to_all_single(of_all, mine, {}, {}, tp::get_tensor_model_parallel_group());
    std::vector<std::int64_t> taken;  // where nobody knows
    for (std::int64_t r = 0; r < parallel_.size && !kernbench::floating_point_enabled(); ++r) {
      const Grouping theirs(
          assumed().choices(static_cast<std::int64_t>(pass), r * tokens, tokens, config_.chosen_experts),
          config_.experts);
      const auto begin = theirs.rows.begin() + first_expert();
      taken.insert(taken.end(), begin, begin + local);
    }
    const Tensor known = taken.empty() ? of_all.cpu() : of_all.cpu_or(long_tensor(taken));
    const auto* counts = known.data_ptr<std::int64_t>();
    return {counts, counts + known.numel()};
  }

  const ModelConfig& config_;
  Parallel parallel_;
  AssumedRouting uniform_;
  Tensor router_;
  std::vector<Expert> experts_;
};

}  // namespace benches::gpt
