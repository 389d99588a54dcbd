// Stream order behind collectives and sends: a kernel that follows a call sees what the call leaves in memory.
// A host read would not tell, because it waits for whatever writes the tensor.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "kernbench/partials.h"
#include "kernbench/subgroups.h"
#include "ranks.h"
#include "spawning.h"
#include "support/sanitizers.h"

namespace kernbench::testing::stream_order_test {
namespace {

namespace dist = torch::distributed;
using torch::ahbm::Stream;
using torch::ahbm::StreamGuard;
using Works = std::vector<dist::WorkRef>;

constexpr int kElements = 20000;
constexpr float kMine = 2, kTheirs = 5;

/// A call that leaves another value in the tensor of rank 1: rank 0 has filled its own with kTheirs, rank 1 with kMine.
struct Call {
  std::string name;
  std::function<Works(int rank, const torch::Tensor& x)> run;
  float result;                   // on rank 1
  int of_other_rank = kElements;  // so many elements, the first ones, come from rank 0: the others may come earlier
};

torch::Tensor filled(int rank, int elements = kElements) {
  return torch::full({elements}, rank == 0 ? kTheirs : kMine, one_pe());
}

/// A collective as it is called on either rank. Rank 0 gives its tensor, rank 1 gets the result in its own.
struct Collective {
  const char* name;
  std::function<dist::WorkRef(int rank, const torch::Tensor& x, bool async_op)> call;
  float result;
  int of_other_rank = kElements;
};

std::vector<Collective> reductions() {
  using torch::Tensor;
  const auto sum = dist::ReduceOp::SUM;
  const float total = kMine + kTheirs;
  const auto twice = [](const Tensor& x) { return torch::cat({x, x}); };
  const auto output = [](int rank, const Tensor& x) { return rank == 1 ? x : torch::empty_like(x); };
  return {
      {"all_reduce", [=](int, const Tensor& x, bool async_op) { return dist::all_reduce(x, sum, {}, async_op); },
       total},
      {"reduce", [=](int, const Tensor& x, bool async_op) { return dist::reduce(x, 1, sum, {}, async_op); }, total},
      {"reduce_scatter_tensor",
       [=](int rank, const Tensor& x, bool async_op) {
         return dist::reduce_scatter_tensor(output(rank, x), twice(x), sum, {}, async_op);
       },
       total},
      {"reduce_scatter",
       [=](int rank, const Tensor& x, bool async_op) {
         return dist::reduce_scatter(output(rank, x), {x.clone(), x.clone()}, sum, {}, async_op);
       },
       total},
      {"all_reduce_coalesced",
       [=](int, const Tensor& x, bool async_op) { return dist::all_reduce_coalesced({x}, sum, {}, async_op); }, total},
      {"reduce_scatter_tensor_coalesced",
       [=](int rank, const Tensor& x, bool async_op) {
         return dist::reduce_scatter_tensor_coalesced({output(rank, x)}, {twice(x)}, sum, {}, async_op);
       },
       total},
      {"all_reduce_partials",
       [=](int, const Tensor& x, bool async_op) { return torch::ahbm::all_reduce_partials(x, sum, {}, async_op); },
       total},
  };
}

/// Of these rank 0 only reads its tensor. What rank 1 has from itself has the value that comes from rank 0, too.
std::vector<Collective> transports() {
  using torch::Tensor;
  const auto half = [](int rank, const Tensor& x) {
    return rank == 0 ? x.narrow(0, 0, kElements / 2) : filled(0, kElements / 2);
  };
  const auto other = [](const Tensor& x) { return torch::empty_like(x); };
  return {
      {"broadcast", [](int, const Tensor& x, bool async_op) { return dist::broadcast(x, 0, {}, async_op); }, kTheirs},
      {"all_gather",
       [=](int rank, const Tensor& x, bool async_op) {
         return rank == 0 ? dist::all_gather({other(x), other(x)}, x, {}, async_op)
                          : dist::all_gather({x, other(x)}, filled(0), {}, async_op);
       },
       kTheirs},
      {"all_gather_into_tensor",
       [=](int rank, const Tensor& x, bool async_op) {
         return dist::all_gather_into_tensor(rank == 0 ? other(x) : x, half(rank, x), {}, async_op);
       },
       kTheirs, kElements / 2},
      {"all_gather_coalesced",
       [=](int rank, const Tensor& x, bool async_op) {
         return rank == 0 ? dist::all_gather_coalesced({{other(x)}, {other(x)}}, {x}, {}, async_op)
                          : dist::all_gather_coalesced({{x}, {other(x)}}, {filled(0)}, {}, async_op);
       },
       kTheirs},
      {"all_gather_into_tensor_coalesced",
       [=](int rank, const Tensor& x, bool async_op) {
         return dist::all_gather_into_tensor_coalesced({rank == 0 ? other(x) : x}, {half(rank, x)}, {}, async_op);
       },
       kTheirs, kElements / 2},
      {"gather",
       [=](int rank, const Tensor& x, bool async_op) {
         return rank == 0 ? dist::gather(x, {}, 1, {}, async_op)
                          : dist::gather(filled(0), {x, other(x)}, 1, {}, async_op);
       },
       kTheirs},
      {"scatter",
       [=](int rank, const Tensor& x, bool async_op) {
         return rank == 0 ? dist::scatter(other(x), {filled(0), x}, 0, {}, async_op)
                          : dist::scatter(x, {}, 0, {}, async_op);
       },
       kTheirs},
      {"all_to_all",
       [=](int rank, const Tensor& x, bool async_op) {
         return rank == 0 ? dist::all_to_all({other(x), other(x)}, {filled(0), x}, {}, async_op)
                          : dist::all_to_all({x, other(x)}, {filled(0), filled(0)}, {}, async_op);
       },
       kTheirs},
      {"all_to_all_single",
       [=](int rank, const Tensor& x, bool async_op) {
         return rank == 0 ? dist::all_to_all_single(other(x), x, {}, {}, {}, async_op)
                          : dist::all_to_all_single(x, filled(0), {}, {}, {}, async_op);
       },
       kTheirs, kElements / 2},
  };
}

std::vector<Call> transfers() {
  using torch::Tensor;
  return {
      {"send and recv",
       [](int rank, const Tensor& x) {
         rank == 0 ? dist::send(x, 1) : static_cast<void>(dist::recv(x, 0));
         return Works();
       },
       kTheirs},
      {"isend and irecv",
       [](int rank, const Tensor& x) { return Works{rank == 0 ? dist::isend(x, 1) : dist::irecv(x, 0)}; }, kTheirs},
      {"batch_isend_irecv",
       [](int rank, const Tensor& x) {
         const auto op = rank == 0 ? dist::P2POp::isend : dist::P2POp::irecv;
         return dist::batch_isend_irecv({{op, x, 1 - rank}});
       },
       kTheirs},
  };
}

/// Every call, synchronous and asynchronous.
std::vector<Call> calls() {
  std::vector<Call> all = transfers();
  std::size_t turn = 0;
  for (const auto& collectives : {reductions(), transports()}) {
    for (const Collective& collective : collectives) {
      // The others of their operation take the same way; sanitizers make all of them long.
      const std::string_view name = collective.name;
      if (kSanitized && (name.ends_with("coalesced") || name.ends_with("_tensor") || name.ends_with("_single")))
        continue;
      ++turn;
      for (const bool async_op : {false, true}) {
        if (kSanitized && (async_op != (turn % 2 == 0) || turn % 4 > 1)) continue;
        all.push_back({collective.name + std::string(async_op ? ", asynchronous" : ""),
                       [collective, async_op](int rank, const torch::Tensor& x) {
                         const dist::WorkRef work = collective.call(rank, x, async_op);
                         EXPECT_EQ(work != nullptr, async_op) << collective.name;
                         return work ? Works{work} : Works();
                       },
                       collective.result, collective.of_other_rank});
      }
    }
  }
  return all;
}

void run_on_two(const std::function<void(int rank)>& body) {
  const auto outcome = run_ranks(machine_of(2), 2, [&](int rank) {
    dist::init_process_group("ahbm", rank, 2);
    body(rank);
  });
  EXPECT_EQ(outcome.run.status, RunStatus::ok) << outcome.error.message;
  EXPECT_THAT(outcome.errors, ::testing::Each(""));
}

void expect_all(const torch::Tensor& x, float value, const Call& call, const std::string& where) {
  const auto seen = x.cpu().narrow(0, 0, call.of_other_rank);
  EXPECT_TRUE(torch::equal(seen, torch::full({call.of_other_rank}, value)))
      << call.name << ", " << where << ": " << seen[0].item<float>();
}

/// The channels are there and both ranks begin at the same time: the host waits in no call after this.
void warm_up(int rank, const Call& call) {
  const auto x = filled(rank);
  for (const auto& work : call.run(rank, x)) work->wait();
  dist::barrier();
}

/// Rank 0 comes to the call so late that on rank 1 whatever is not ordered behind it is over.
void come_late(int rank) {
  if (rank == 1) return;
  const auto x = torch::ones({64}, one_pe()), out = torch::empty_like(x);
  torch::launch("busy", busy, x, out, 20);
}

/// Calls, waits for asynchronous works, and then does `kernel` on rank 1 in whatever stream it makes current.
void check_behind(const std::function<torch::Tensor(const torch::Tensor& x)>& kernel,
                  const std::function<float(const Call&)>& expected, const std::string& stream) {
  for (const Call& call : calls()) {
    run_on_two([&](int rank) {
      warm_up(rank, call);
      const auto x = filled(rank);
      torch::ahbm::synchronize();
      come_late(rank);
      for (const auto& work : call.run(rank, x)) EXPECT_TRUE(work->wait());
      if (rank == 0) return;
      expect_all(kernel(x), expected(call) + 1, call, stream);
    });
  }
}

TEST(StreamOrder, AKernelBehindACallSeesItsResult) {
  check_behind([](const torch::Tensor& x) { return x + 1; }, [](const Call& call) { return call.result; },
               "current stream");
}

TEST(StreamOrder, AKernelInAnotherStreamSeesItBehindAnEvent) {
  check_behind(
      [](const torch::Tensor& x) {
        torch::ahbm::Event reached;
        reached.record();
        const Stream side;
        const StreamGuard on(side);
        reached.block(side);
        return x + 1;
      },
      [](const Call& call) { return call.result; }, "another stream behind an event");
}

TEST(StreamOrder, AKernelInAnotherStreamWithoutAnEventSeesWhatWasThereBefore) {
  check_behind(
      [](const torch::Tensor& x) {
        const StreamGuard on{Stream()};
        return x + 1;
      },
      [](const Call&) { return kMine; }, "another stream");
}

TEST(StreamOrder, AKernelBehindACallInAnotherStreamSeesItsResult) {
  for (const Call& call : calls()) {
    run_on_two([&](int rank) {
      warm_up(rank, call);
      const auto x = filled(rank);
      torch::ahbm::synchronize();
      const StreamGuard on{Stream()};
      come_late(rank);
      for (const auto& work : call.run(rank, x)) EXPECT_TRUE(work->wait());
      if (rank == 1) expect_all(x + 1, call.result + 1, call, "current stream");
    });
  }
}

TEST(StreamOrder, WithoutWaitAnAsynchronousCallLeavesTheCurrentStreamAlone) {
  for (const Call& call : calls()) {
    run_on_two([&](int rank) {
      warm_up(rank, call);
      const auto x = filled(rank);
      torch::ahbm::synchronize();
      come_late(rank);
      const Works works = call.run(rank, x);
      if (works.empty() || rank == 0) return;
      expect_all(x + 1, kMine + 1, call, "current stream");
      for (const auto& work : works) work->synchronize();
    });
  }
}

/// What rank 1 receives when rank 0 adds 10 to the tensor in `stream`, or in the current one, behind the call.
void check_sent(const std::function<void(const torch::Tensor& x)>& kernel, float received, const std::string& stream) {
  for (const Call& call : calls()) {
    if (call.result != kTheirs) continue;  // all but the reductions: rank 0 only reads
    run_on_two([&](int rank) {
      warm_up(rank, call);
      const auto x = filled(rank);
      torch::ahbm::synchronize();
      if (rank == 1) sleep(100'000);
      for (const auto& work : call.run(rank, x)) EXPECT_TRUE(work->wait());
      if (rank == 0) return kernel(x);
      expect_all(x, received, call, stream);
    });
  }
}

TEST(StreamOrder, AKernelBehindASendDoesNotChangeWhatIsSent) {
  check_sent([](const torch::Tensor& x) { x.add_(10); }, kTheirs, "current stream");
}

TEST(StreamOrder, AKernelInAnotherStreamBehindAnEventDoesNotEither) {
  check_sent(
      [](const torch::Tensor& x) {
        torch::ahbm::Event reached;
        reached.record();
        const Stream side;
        const StreamGuard on(side);
        reached.block(side);
        x.add_(10);
      },
      kTheirs, "another stream behind an event");
}

TEST(StreamOrder, ACallBeginsBehindTheKernelsBeforeIt) {
  for (const Call& call : calls()) {
    run_on_two([&](int rank) {
      warm_up(rank, call);
      const auto x = torch::zeros({kElements}, one_pe());
      torch::ahbm::synchronize();
      x.add_(rank == 0 ? kTheirs : kMine);
      for (const auto& work : call.run(rank, x)) EXPECT_TRUE(work->wait());
      if (rank == 1) expect_all(x + 1, call.result + 1, call, "current stream");
    });
  }
}

TEST(StreamOrder, BehindABarrierTheKernelsOfAllRanksBeforeItHaveFinished) {
  for (const bool async_op : {false, true}) {
    for (const bool side : {false, true}) {
      torch::ahbm::Event finished;
      run_on_two([&](int rank) {
        dist::barrier();
        const auto x = torch::ones({64}, one_pe()), out = torch::empty_like(x);
        torch::ahbm::synchronize();
        const StreamGuard on{side ? Stream() : torch::ahbm::current_stream()};
        if (rank == 1) {
          torch::launch("busy", busy, x, out, 20);
          finished.record();
        }
        const auto work = dist::barrier({}, async_op);
        if (work) {
          EXPECT_FALSE(work->is_completed());
          work->wait();
        }
        EXPECT_TRUE(finished.query()) << "rank " << rank;
      });
    }
  }
}

}  // namespace
}  // namespace kernbench::testing::stream_order_test
