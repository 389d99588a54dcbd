// Random correct programs of several ranks: collectives over random groups, messages between ranks, kernels whose
// programs send to each other, reads by the host, in an order that all ranks share. None is taken for stuck, and every
// value is right.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "support.h"
#include "support/sanitizers.h"

namespace kernbench::deadlocks_test {
namespace {

namespace dist = torch::distributed;
namespace mp = torch::multiprocessing;

constexpr int kPes = 2;

struct Action {
  enum class Kind : std::uint8_t { reduce, broadcast, barrier, transfer, swap, add, turn, read };
  Kind kind;
  std::size_t group = 0;  // of a collective
  int root = 0;           // of a broadcast; the sender
  int peer = 0;           // the receiver
  bool asynchronous = false;
  dist::ReduceOp reduce = dist::ReduceOp::SUM;
};

struct Script {
  int ranks = 2;
  std::int64_t elements = 1;
  std::int32_t slots = 1;
  std::vector<std::vector<int>> groups;  // the first has all ranks
  std::vector<Action> actions;
};

std::vector<int> random_ranks(Random& random, int ranks) {
  std::vector<int> group;
  while (group.empty()) {
    for (int rank = 0; rank < ranks; ++rank) {
      if (pick(random, 0, 1) == 0) group.push_back(rank);
    }
  }
  return group;
}

Action random_action(Random& random, const Script& script) {
  Action action{static_cast<Action::Kind>(pick(random, 0, 7))};
  action.group = static_cast<std::size_t>(pick(random, 0, static_cast<std::int64_t>(script.groups.size()) - 1));
  const auto& group = script.groups[action.group];
  const bool collective = action.kind == Action::Kind::broadcast;
  action.root = collective
                    ? group[static_cast<std::size_t>(pick(random, 0, static_cast<std::int64_t>(group.size()) - 1))]
                    : static_cast<int>(pick(random, 0, script.ranks - 1));
  action.peer = static_cast<int>((action.root + pick(random, 1, script.ranks - 1)) % script.ranks);
  action.asynchronous = pick(random, 0, 2) == 0;
  const dist::ReduceOp ops[] = {dist::ReduceOp::SUM, dist::ReduceOp::MIN, dist::ReduceOp::MAX};
  action.reduce = ops[pick(random, 0, 2)];
  return action;
}

Script random_script(std::uint64_t seed) {
  Random random(seed);
  Script script;
  script.ranks = static_cast<int>(pick(random, 2, 4));
  script.elements = 2 * kPes * pick(random, 1, 40);
  script.slots = static_cast<std::int32_t>(pick(random, 1, 3));
  script.groups.emplace_back();
  for (int rank = 0; rank < script.ranks; ++rank) script.groups[0].push_back(rank);
  for (std::int64_t more = pick(random, 0, 2); more > 0; --more)
    script.groups.push_back(random_ranks(random, script.ranks));
  for (std::int64_t count = pick(random, 3, 8); count > 0; --count)
    script.actions.push_back(random_action(random, script));
  return script;
}

// ---- what should come out ------------------------------------------------------------------------------------------

using Values = std::vector<std::int64_t>;  // of one rank, by element

std::int64_t reduced(dist::ReduceOp op, std::int64_t a, std::int64_t b) {
  if (op == dist::ReduceOp::SUM) return a + b;
  return op == dist::ReduceOp::MIN ? std::min(a, b) : std::max(a, b);
}

Values initial(const Script& script, int rank) {
  Values values;
  for (std::int64_t i = 0; i < script.elements; ++i) values.push_back((7 * rank + 3 * i) % 19 - 5);
  return values;
}

/// The halves of a tensor over two PEs change places.
Values turned(Values values) {
  std::ranges::rotate(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  return values;
}

void apply(const Script& script, const Action& action, std::vector<Values>& all) {
  const auto of = [&](int rank) -> Values& { return all[static_cast<std::size_t>(rank)]; };
  const auto& group = script.groups[action.group];
  switch (action.kind) {
    case Action::Kind::reduce: {
      Values result = of(group[0]);
      for (std::size_t member = 1; member < group.size(); ++member) {
        for (std::size_t i = 0; i < result.size(); ++i)
          result[i] = reduced(action.reduce, result[i], of(group[member])[i]);
      }
      for (const int rank : group) of(rank) = result;
      return;
    }
    case Action::Kind::broadcast:
      for (const int rank : group) of(rank) = of(action.root);
      return;
    case Action::Kind::transfer:
      of(action.peer) = of(action.root);
      return;
    case Action::Kind::swap:
      std::swap(of(action.root), of(action.peer));
      return;
    case Action::Kind::add:
      for (Values& values : all) {
        for (std::int64_t& value : values) ++value;
      }
      return;
    case Action::Kind::turn:
      for (Values& values : all) values = turned(values);
      return;
    case Action::Kind::barrier:
    case Action::Kind::read:
      return;
  }
}

std::vector<std::vector<Values>> after_each_action(const Script& script) {
  std::vector<Values> now;
  for (int rank = 0; rank < script.ranks; ++rank) now.push_back(initial(script, rank));
  std::vector<std::vector<Values>> states;
  for (const Action& action : script.actions) {
    apply(script, action, now);
    states.push_back(now);
  }
  return states;
}

// ---- the program ---------------------------------------------------------------------------------------------------

/// Each program sends its half to the other one, a quarter at a time.
void turn_halves(tl::In x, tl::Tensor out) {
  const std::int64_t self = tl::member_index(), half = x.numel() / kPes, quarter = half / 2;
  for (std::int64_t i = 0; i < 2; ++i) {
    const auto sent = tl::isend(tl::load(x, {self * half + i * quarter}, {quarter}), tl::ring_next());
    tl::store(out, {self * half + i * quarter}, tl::recv(DType::i32, {quarter}, tl::ring_previous()));
    tl::wait(sent);
  }
}

class RankProgram {
 public:
  RankProgram(const Script& script, const std::vector<std::vector<Values>>& states, int rank)
      : script_(script), states_(states), rank_(rank) {}

  void run() {
    torch::ahbm::set_device(rank_);
    dist::init_process_group("ahbm", rank_, script_.ranks);
    groups_.emplace_back();
    for (std::size_t i = 1; i < script_.groups.size(); ++i) groups_.push_back(dist::new_group(script_.groups[i]));
    x_ = on_device(initial(script_, rank_));
    for (std::size_t i = 0; i < script_.actions.size(); ++i) {
      act(script_.actions[i]);
      if (script_.actions[i].kind == Action::Kind::read || i + 1 == script_.actions.size()) expect_values(i);
    }
  }

 private:
  static torch::Tensor on_device(const Values& values) {
    torch::Tensor host = torch::empty({static_cast<std::int64_t>(values.size())}, DType::i32);
    for (std::size_t i = 0; i < values.size(); ++i) host[static_cast<std::int64_t>(i)].fill_(values[i]);
    return host.to(torch::dtype(DType::i32).device("ahbm"));
  }

  bool is_in(std::size_t group) const {
    return std::ranges::find(script_.groups[group], rank_) != script_.groups[group].end();
  }

  /// Something of the rank's own between an asynchronous operation and the wait for it.
  void finish(const dist::WorkRef& work, bool asynchronous) {
    if (!asynchronous) return;
    own_ = own_.defined() ? own_ + 1 : torch::ones({64}, torch::dtype(DType::i32).device("ahbm"));
    work->wait();
  }

  void transfer(const Action& action) {
    if (rank_ == action.root) {
      action.asynchronous ? void(dist::isend(x_, action.peer)->wait()) : dist::send(x_, action.peer);
    } else if (rank_ == action.peer) {
      action.asynchronous ? void(dist::irecv(x_, action.root)->wait()) : void(dist::recv(x_, action.root));
    }
  }

  // Whichever is first: both are under way at once.
  void swap(const Action& action) {
    if (rank_ != action.root && rank_ != action.peer) return;
    const int other = rank_ == action.root ? action.peer : action.root;
    const torch::Tensor theirs = torch::empty_like(x_);
    std::vector<dist::P2POp> both{{dist::P2POp::isend, x_, other}, {dist::P2POp::irecv, theirs, other}};
    if (action.asynchronous) std::swap(both[0], both[1]);
    for (const auto& work : dist::batch_isend_irecv(both)) work->wait();
    x_ = theirs;
  }

  void turn() {
    const torch::Tensor out = torch::empty_like(x_);
    torch::launch(channels(kPes, QueueTopology::ring_1d, script_.slots, 64), "turn", turn_halves, x_, out);
    x_ = out;
  }

  void act(const Action& action) {
    const bool member = is_in(action.group), async = action.asynchronous;
    switch (action.kind) {
      case Action::Kind::reduce:
        if (member) finish(dist::all_reduce(x_, action.reduce, groups_[action.group], async), async);
        return;
      case Action::Kind::broadcast:
        if (member) finish(dist::broadcast(x_, action.root, groups_[action.group], async), async);
        return;
      case Action::Kind::barrier:
        if (member) finish(dist::barrier(groups_[action.group], async), async);
        return;
      case Action::Kind::transfer:
        return transfer(action);
      case Action::Kind::swap:
        return swap(action);
      case Action::Kind::add:
        x_ = x_ + 1;
        return;
      case Action::Kind::turn:
        return turn();
      case Action::Kind::read:
        return;
    }
  }

  void expect_values(std::size_t action) {
    const Values& expected = states_[action][static_cast<std::size_t>(rank_)];
    const torch::Tensor host = x_.cpu();
    for (std::size_t i = 0; i < expected.size(); ++i) {
      ASSERT_EQ(host[static_cast<std::int64_t>(i)].item<std::int32_t>(), expected[i])
          << "rank " << rank_ << ", element " << i << " after action " << action;
    }
  }

  const Script& script_;
  const std::vector<std::vector<Values>>& states_;
  int rank_;
  std::vector<dist::ProcessGroup> groups_;
  torch::Tensor x_, own_;
};

class CorrectPrograms : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(CorrectPrograms, RaiseNoFalseAlarm) {
  constexpr std::uint64_t kPrograms = kSanitized ? 12 : 125;  // of each part
  for (std::uint64_t seed = GetParam() * kPrograms; seed < (GetParam() + 1) * kPrograms && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Script script = random_script(seed);
    const auto states = after_each_action(script);
    const RunResult result = try_simulate(machine(script.ranks, kPes, {"pe.ipcq.queues=32"}), [&] {
      mp::spawn([&](int rank) { RankProgram(script, states, rank).run(); }, {}, {.nprocs = script.ranks});
    });
    EXPECT_EQ(outcome(result), "ok");
  }
}

INSTANTIATE_TEST_SUITE_P(Thousand, CorrectPrograms, ::testing::Range<std::uint64_t>(0, 8));

}  // namespace
}  // namespace kernbench::deadlocks_test
