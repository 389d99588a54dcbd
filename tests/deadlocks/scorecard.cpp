#include "scorecard.h"

#include <optional>

#include "kernbench/kernbench.h"

namespace kernbench::deadlocks_test {
namespace {

namespace dist = torch::distributed;
namespace mp = torch::multiprocessing;

torch::Tensor ones(std::int64_t n, DType dtype = DType::f32) {
  return torch::ones({n}, torch::dtype(dtype).device("ahbm").placement({.num_cubes = 1, .num_pes = 1}));
}

/// One rank on each device, in one process group.
std::function<void()> ranks(std::function<void(int rank)> worker) {
  return [worker = std::move(worker)] {
    const int n = kScorecardDevices;
    mp::spawn(
        [&](int rank) {
          torch::ahbm::set_device(rank);
          dist::init_process_group("ahbm", rank, n);
          worker(rank);
        },
        {}, {.nprocs = n});
  };
}

/// A kernel on the PEs of device 0, with channels in a ring of so many slots of 1 KiB, and a signal word each.
std::function<void()> ring_kernel(std::int32_t slots, void (*kernel)()) {
  return [=] {
    torch::LaunchOptions options;
    for (int pe = 0; pe < 2; ++pe) options.pes.emplace_back(CubeId{0}, PeId{pe});
    options.queues.topology = QueueTopology::ring_1d;
    options.queues.parameters.n_slots = slots;
    options.queues.parameters.slot_size = Bytes(1024);
    options.queues.window = WindowOptions{.signals = 1};
    torch::launch(options, "ring", kernel);
    torch::ahbm::synchronize();
  };
}

void mismatches(std::vector<SeededBug>& all) {
  all.push_back({"size",
                 "tensors of different sizes in one collective",
                 "SpawnException",
                 {"Tensor shapes: [64] vs [65]", "Culprit rank 1", "SIZE_OR_SYNTAX_MISMATCH", "SequenceNumber=1"},
                 ranks([](int rank) { dist::all_reduce(ones(rank == 1 ? 65 : 64)); })});
  all.push_back({"dtype",
                 "tensors of different types in one collective",
                 "SpawnException",
                 {"Tensor dtypes: Float vs Half", "Culprit rank 1", "COLLECTIVE_DTYPE_MISMATCH"},
                 ranks([](int rank) { dist::all_reduce(ones(64, rank == 1 ? DType::f16 : DType::f32)); })});
  all.push_back({"order",
                 "collectives in another order on one rank",
                 "SpawnException",
                 {"OpType=ALLREDUCE", "OpType=BROADCAST", "Culprit rank 2", "COLLECTIVE_TYPE_MISMATCH"},
                 ranks([](int rank) {
                   const auto a = ones(64), b = ones(64);
                   if (rank == 2) dist::broadcast(b, 0);
                   dist::all_reduce(a);
                   if (rank != 2) dist::broadcast(b, 0);
                 })});
  all.push_back({"group",
                 "one rank calls a collective on another group",
                 "DeadlockError",
                 {"rank 0", "rank 1", "group 1", "the default group", "[cycle]"},
                 ranks([](int rank) {
                   const auto pair = dist::new_group({0, 1});
                   const auto x = ones(64);
                   if (rank == 0) dist::all_reduce(x, dist::ReduceOp::SUM, pair);
                   if (rank == 1) dist::all_reduce(x);
                   torch::ahbm::synchronize();
                 })});
  all.push_back(
      {"new_group",
       "ranks that make different groups",
       "SpawnException",
       {"ranks {0, 1} gave the ranks {0, 1} at", "rank 2 gave the ranks {0, 1, 2} at", "Culprit rank 2"},
       ranks([](int rank) { dist::new_group(rank == 2 ? std::vector<int>{0, 1, 2} : std::vector<int>{0, 1}); })});
  all.push_back(
      {"transfer",
       "a receive that does not fit its send",
       "SpawnException",
       {"transfer from rank 0 to rank 1 (tag 5)", "rank 0 sends TensorShape=[64]", "rank 1 receives TensorShape=[32]"},
       ranks([](int rank) {
         if (rank == 0) dist::send(ones(64), 1, {}, 5);
         if (rank == 1) dist::recv(ones(32), 0, {}, 5);
       })});
  all.push_back({"message",
                 "a message between PEs that does not fit its receive",
                 "MessageMismatchError",
                 {"expects f32 [64]", "is i32 [64]", "sip0.cube0.pe0", "sip0.cube0.pe1"},
                 ring_kernel(4, [] {
                   if (tl::member_index() == 0) tl::send(tl::arange(0, 64), tl::ring_next());
                   if (tl::member_index() == 1) tl::recv(DType::f32, {64}, tl::ring_previous());
                 })});
}

void missing_parties(std::vector<SeededBug>& all) {
  all.push_back({"missing_collective",
                 "a rank that leaves out a collective",
                 "DeadlockError",
                 {"rank 2 has ended without calling ALLREDUCE (sequence number 1)", "ranks {0, 1} wait"},
                 ranks([](int rank) {
                   const auto x = ones(64);
                   if (rank != 2) dist::all_reduce(x);
                   torch::ahbm::synchronize();
                 })});
  all.push_back(
      {"early_return",
       "a rank that returns early",
       "DeadlockError",
       {"deadlock at ", "rank 1 has ended without calling ALLREDUCE (sequence number 2)", "ranks {0, 2} wait"},
       ranks([](int rank) {
         const auto x = ones(64);
         dist::all_reduce(x);
         if (rank == 1) return;
         dist::all_reduce(x);
         x.cpu();
       })});
  all.push_back({"unmatched_collective",
                 "an asynchronous collective that a rank never calls, and nobody waits for",
                 "UnmatchedCallError",
                 {"ALLREDUCE (sequence number 1) of the default group: called by ranks {0, 1}, never by ranks {2}"},
                 ranks([](int rank) {
                   if (rank != 2) dist::all_reduce(ones(64), dist::ReduceOp::SUM, {}, true);
                 })});
  all.push_back({"unmatched_send",
                 "an asynchronous send that nobody receives or waits for",
                 "UnmatchedCallError",
                 {"transfer from rank 0 to rank 1 (tag 5) in the default group: sent, never received"},
                 ranks([](int rank) {
                   const auto x = ones(64);
                   dist::all_reduce(x);
                   if (rank == 0) dist::isend(x, 1, {}, 5);
                 })});
  all.push_back({"monitored",
                 "a rank that does not come to a monitored barrier",
                 "SpawnException",
                 {"Ranks 2 failed to pass monitoredBarrier in 5 ms"},
                 ranks([](int rank) {
                   if (rank != 2) dist::monitored_barrier({}, Time::milliseconds(5));
                 })});
  all.push_back({"throws",
                 "a rank that throws while the others wait for it",
                 "SpawnException",
                 {"Process 1 terminated with the following error", "no more samples", "ranks {0, 2} ("},
                 ranks([](int rank) {
                   const auto x = ones(64);
                   if (rank == 1) throw ValueError("no more samples");
                   dist::all_reduce(x);
                   x.cpu();
                 })});
  all.push_back({"receiver_gone",
                 "a program that sends to one that is over",
                 "DeadlockError",
                 {"a credit of sip0.cube0.pe1.ipcq.receive0: nobody left"},
                 ring_kernel(1, [] {
                   if (tl::member_index() == 0) tl::send(tl::zeros({1024}, DType::f32), tl::ring_next());
                 })});
  all.push_back({"unreceived",
                 "a message that nobody receives",
                 "UnreceivedMessageError",
                 {"to sip0.cube0.pe1 with tag 0", "in kernel ring#0 on sip0.cube0.pe0"},
                 ring_kernel(1, [] {
                   if (tl::member_index() == 0) tl::send(tl::zeros({8}, DType::f32), tl::ring_next());
                 })});
}

void cycles(std::vector<SeededBug>& all) {
  all.push_back({"ring_of_ranks",
                 "every rank of a ring receives before it sends",
                 "DeadlockError",
                 {"ranks {0, 1, 2}", "cycle: "},
                 ranks([](int rank) {
                   const int n = kScorecardDevices;
                   const auto x = ones(64), y = ones(64);
                   dist::recv(y, (rank + n - 1) % n);
                   dist::send(x, (rank + 1) % n);
                   torch::ahbm::synchronize();
                 })});
  all.push_back({"ring_of_programs",
                 "every program of a ring receives before it sends",
                 "DeadlockError",
                 {"a message with tag 0 of sip0.cube0.pe0", "a message with tag 0 of sip0.cube0.pe1", "cycle: "},
                 ring_kernel(4, [] {
                   const tl::Tile got = tl::recv(DType::f32, {64}, tl::ring_previous());
                   tl::send(got, tl::ring_next());
                 })});
  all.push_back({"signal",
                 "a program that waits for a signal that nobody sends",
                 "DeadlockError",
                 {"waits for signal 0 of sip0.cube0.pe0 (it is 0;", "waits until it is >= 1)",
                  "needs a signal of sip0.cube0.pe1, whose program has ended"},
                 ring_kernel(4, [] {
                   if (tl::member_index() == 0) tl::wait_until(0, tl::Comparison::ge, 1);
                 })});
  all.push_back({"credits",
                 "messages larger than the slots of a ring in which all send first",
                 "DeadlockError",
                 {"a credit of sip0.cube0.pe0.ipcq.receive", "a credit of sip0.cube0.pe1.ipcq.receive", "cycle: "},
                 ring_kernel(1, [] {
                   tl::send(tl::zeros({512}, DType::f32), tl::ring_next());
                   tl::recv(DType::f32, {512}, tl::ring_previous());
                 })});
}

void others(std::vector<SeededBug>& all) {
  all.push_back(
      {"poll_kernel", "a kernel that polls memory that nobody writes", "LivelockError", {"sip0.cube0.pe0 spin#0"}, [] {
         const auto flag = torch::zeros_like(ones(1));
         torch::launch(
             "spin",
             [](tl::In a) {
               while (tl::item<float>(tl::load(a, {0}, {1})) == 0) {
               }
             },
             flag);
         torch::ahbm::synchronize();
       }});
  all.push_back({"poll_host",
                 "a rank that polls a collective that never ends",
                 "LivelockError",
                 {"rank 0", "rank 1 has ended without calling send to rank 0"},
                 ranks([](int rank) {
                   const auto x = ones(64);
                   dist::all_reduce(x);
                   if (rank > 0) return;
                   const auto work = dist::irecv(x, 1);
                   while (!work->is_completed()) {
                   }
                 })});
  all.push_back({"poll_item",
                 "a rank that reads a flag for ever that nobody will set",
                 "LivelockError",
                 {"rank 0", "it reads tensor flag by item", "ranks {1, 2} wait for BARRIER"},
                 ranks([](int rank) {
                   if (rank > 0) {
                     dist::barrier();
                     return;
                   }
                   const auto flag = torch::zeros({1}, torch::dtype(DType::i32).device("ahbm").name("flag"));
                   while (flag.item<int>() == 0) {
                   }
                   dist::barrier();
                 })});
  all.push_back({"use_after_free",
                 "a kernel that uses a tensor that has been freed",
                 "OutOfBoundsError",
                 {"touches tensor \"x\", which was freed", "sip0.cube0.pe0"},
                 [] {
                   std::optional<tl::Tensor> kept;
                   auto x = torch::zeros({64}, torch::dtype(DType::f32).device("ahbm").name("x"));
                   torch::launch("keep", [&](tl::Tensor t) { kept = t; }, x);
                   torch::ahbm::synchronize();
                   x = {};
                   const auto y = torch::zeros({64}, torch::dtype(DType::f32).device("ahbm").name("y"));
                   torch::launch("late", [&](tl::Tensor) { tl::load(*kept, {0}, {8}); }, y);
                   torch::ahbm::synchronize();
                 }});
  all.push_back({"use_after_destroy",
                 "a collective on a group that has been destroyed",
                 "SpawnException",
                 {"Invalid process group specified: it has been destroyed", "Process 0"},
                 ranks([](int) {
                   const auto pair = dist::new_group({0, 1, 2});
                   dist::destroy_process_group(pair);
                   dist::all_reduce(ones(64), dist::ReduceOp::SUM, pair);
                 })});
}

std::vector<SeededBug> all_bugs() {
  std::vector<SeededBug> all;
  mismatches(all);
  missing_parties(all);
  cycles(all);
  others(all);
  return all;
}

}  // namespace

const std::vector<SeededBug>& seeded_bugs() {
  static const std::vector<SeededBug> all = all_bugs();
  return all;
}

}  // namespace kernbench::deadlocks_test
