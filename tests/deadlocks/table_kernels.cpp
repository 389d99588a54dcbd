#include "table.h"

namespace kernbench::deadlocks_test {
namespace {

/// A kernel on the first PEs of cube 0 of device 0, with channels in a ring of so many slots of 1 KiB, and a window.
std::function<void()> ring(int pes, std::int32_t slots, void (*kernel)()) {
  return [=] {
    torch::LaunchOptions options;
    for (int pe = 0; pe < pes; ++pe) options.pes.emplace_back(CubeId{0}, PeId{pe});
    options.queues.topology = QueueTopology::ring_1d;
    options.queues.parameters.n_slots = slots;
    options.queues.parameters.slot_size = Bytes(1024);
    options.queues.window = WindowOptions{.bytes = Bytes(1024), .signals = 2};
    torch::launch(options, "ring", kernel);
    torch::ahbm::synchronize();
  };
}

/// The same on all PEs of the device.
std::function<void()> everywhere(void (*kernel)()) {
  return [=] {
    torch::LaunchOptions options;
    for (int cube = 0; cube < 16; ++cube) {
      for (int pe = 0; pe < 8; ++pe) options.pes.emplace_back(CubeId{cube}, PeId{pe});
    }
    options.queues.topology = QueueTopology::ring_1d;
    options.queues.parameters.n_slots = 1;
    options.queues.parameters.slot_size = Bytes(1024);
    options.queues.window = WindowOptions{.signals = 1};
    torch::launch(options, "wide", kernel);
    torch::ahbm::synchronize();
  };
}

tl::Tile tile(std::int64_t elements) {
  return tl::zeros({elements}, DType::f32);
}

void receive_first() {
  const tl::Tile got = tl::recv(DType::f32, {64}, tl::ring_previous());
  tl::send(got, tl::ring_next());
}

/// Two launches on one PE, each with 3 of its 4 MiB of TCM, or waiting for them.
void tcm_of_two_launches() {
  torch::LaunchOptions options;
  options.pes.emplace_back(CubeId{0}, PeId{0});
  options.pes.emplace_back(CubeId{0}, PeId{1});
  options.queues.topology = QueueTopology::ring_1d;
  for (int launch = 0; launch < 2; ++launch) {
    torch::ahbm::StreamGuard guard{torch::ahbm::Stream()};
    torch::launch(options, launch == 0 ? "first" : "second", launch == 0 ? +[] {
      const tl::Buffer half = tl::alloc({3 << 18}, DType::f32);
      if (tl::member_index() == 1) tl::delay(20'000);
      const tl::Buffer more = tl::alloc({1 << 17}, DType::f32);
    } : +[] {
      if (tl::member_index() == 0) tl::delay(2'000);
      const tl::Buffer half = tl::alloc({3 << 18}, DType::f32);
      tl::recv(DType::f32, {16}, tl::ring_next());
    });
  }
  torch::ahbm::synchronize();
}

/// Of two launches on two PEs each holds the TCM of one PE and waits there for its other program, which waits for TCM.
void tcm_against_messages() {
  torch::LaunchOptions options;
  options.pes.emplace_back(CubeId{0}, PeId{0});
  options.pes.emplace_back(CubeId{0}, PeId{1});
  options.queues.topology = QueueTopology::ring_1d;
  options.queues.window = WindowOptions{.signals = 1};
  for (int launch = 0; launch < 2; ++launch) {
    torch::ahbm::StreamGuard guard{torch::ahbm::Stream()};
    torch::launch(options, launch == 0 ? "signals" : "sends", launch == 0 ? +[] {
      if (tl::member_index() == 1) tl::delay(20'000);
      const tl::Buffer most = tl::alloc({3 << 18}, DType::f32);
      if (tl::member_index() == 0) tl::wait_until(0, tl::Comparison::ge, 1);
      if (tl::member_index() == 1) tl::signal(tl::member(0), 0, 1);
    } : +[] {
      if (tl::member_index() == 0) tl::delay(20'000);
      const tl::Buffer most = tl::alloc({3 << 18}, DType::f32);
      if (tl::member_index() == 1) tl::recv(DType::f32, {16}, tl::member(0));
      if (tl::member_index() == 0) tl::send(tile(16), tl::member(1));
    });
  }
  torch::ahbm::synchronize();
}

/// The sender signals behind more messages than there are slots; the receiver waits for the signal first.
void slots_against_a_signal() {
  if (tl::member_index() == 0) {
    for (int message = 0; message < 3; ++message) tl::send(tile(64), tl::member(1));
    tl::signal(tl::member(1), 0, 1);
  } else {
    tl::wait_until(0, tl::Comparison::ge, 1);
    for (int message = 0; message < 3; ++message) tl::recv(DType::f32, {64}, tl::member(0));
  }
}

}  // namespace

std::vector<StuckProgram> stuck_kernels() {
  return {
      {"RingThatReceivesFirst", kTwoSips, ring(3, 4, receive_first),
       "cycle: sip0.cube0.pe0 ring#0 -> recv#0 (table_kernels.cpp:~) on sip0.cube0.pe0.ipcq.receive0 -> sip0.cube0.pe2 "
       "ring#0 (a message with tag 0 of sip0.cube0.pe2) -> recv#0 (table_kernels.cpp:~) on "
       "sip0.cube0.pe2.ipcq.receive0 -> sip0.cube0.pe1 ring#0 (a message with tag 0 of sip0.cube0.pe1) -> recv#0 "
       "(table_kernels.cpp:~) on sip0.cube0.pe1.ipcq.receive0 -> sip0.cube0.pe0 ring#0 (a message with tag 0 of "
       "sip0.cube0.pe0)"},
      {"RingOf128ThatReceivesFirst", kTwoSips, everywhere(receive_first),
       "cycle: sip0.cube0.pe0 wide#0 -> recv#0 (table_kernels.cpp:~) on sip0.cube0.pe0.ipcq.receive0 -> "
       "sip0.cube15.pe7 wide#0 (a message with tag 0 of sip0.cube15.pe7) -> recv#0 (table_kernels.cpp:~) on "
       "sip0.cube15.pe7.ipcq.receive0 -> sip0.cube15.pe6 wide#0 (a message with tag 0 of sip0.cube15.pe6) -> recv#0 "
       "(table_kernels.cpp:~) on sip0.cube15.pe6.ipcq.receive0 -> sip0.cube15.pe5 wide#0 (a message with tag 0 of "
       "sip0.cube15.pe5) -> recv#0 (table_kernels.cpp:~) on sip0.cube15.pe5.ipcq.receive0 -> sip0.cube15.pe4 wide#0 (a "
       "message with tag 0 of sip0.cube15.pe4) -> recv#0 (table_kernels.cpp:~) on sip0.cube15.pe4.ipcq.receive0 -> … "
       "(246 more) -> sip0.cube0.pe0 wide#0 (a message with tag 0 of sip0.cube0.pe0)"},
      {"AllSendFirst", kTwoSips,
       ring(3, 1,
            [] {
              tl::send(tile(512), tl::ring_next());
              tl::recv(DType::f32, {512}, tl::ring_previous());
            }),
       "cycle: sip0.cube0.pe0 ring#0 -> send#1 (table_kernels.cpp:~) on sip0.cube0.pe0.ipcq.send0 -> sip0.cube0.pe1 "
       "ring#0 (a credit of sip0.cube0.pe1.ipcq.receive0) -> send#1 (table_kernels.cpp:~) on sip0.cube0.pe1.ipcq.send0 "
       "-> sip0.cube0.pe2 ring#0 (a credit of sip0.cube0.pe2.ipcq.receive0) -> send#1 (table_kernels.cpp:~) on "
       "sip0.cube0.pe2.ipcq.send0 -> sip0.cube0.pe0 ring#0 (a credit of sip0.cube0.pe0.ipcq.receive0)"},
      {"AnotherTag", kTwoSips,
       ring(2, 4,
            [] {
              if (tl::member_index() == 0) tl::send(tile(16), tl::member(1), 5);
              if (tl::member_index() == 1) tl::recv(DType::f32, {16}, tl::member(0), 6);
            }),
       "sip0.cube0.pe0 has no program left that could send a message with tag 6 to sip0.cube0.pe1; one with tag 5 lies "
       "there, for which sip0.cube0.pe1 ring#0 waits: recv#0 (table_kernels.cpp:~) on sip0.cube0.pe1.ipcq.receive0"},
      {"AnotherPeer", kTwoSips,
       ring(4, 4,
            [] {
              if (tl::member_index() == 0) tl::send(tile(16), tl::ring_next());
              if (tl::member_index() == 1) tl::recv(DType::f32, {16}, tl::ring_next());
            }),
       "sip0.cube0.pe2 has no program left that could send a message with tag 0 to sip0.cube0.pe1, for which "
       "sip0.cube0.pe1 ring#0 waits: recv#0 (table_kernels.cpp:~) on sip0.cube0.pe1.ipcq.receive1"},
      {"ReceiverHasEnded", kTwoSips,
       ring(2, 1,
            [] {
              if (tl::member_index() == 0) tl::send(tile(1024), tl::ring_next());
            }),
       "sip0.cube0.pe1 has no program left that could receive from sip0.cube0.pe0 (a credit of "
       "sip0.cube0.pe1.ipcq.receive0), for which sip0.cube0.pe0 ring#0 waits: send#1 (table_kernels.cpp:~) on "
       "sip0.cube0.pe0.ipcq.send0"},
      {"OneMessageTooFew", kTwoSips, everywhere([] {
         const bool last = tl::member_index() == 127;
         for (int step = 0; step < (last ? 1 : 2); ++step) tl::wait(tl::isend(tile(16), tl::ring_next()));
         for (int step = 0; step < 2; ++step) tl::recv(DType::f32, {16}, tl::ring_previous());
       }),
       "sip0.cube15.pe7 has no program left that could send a message with tag 0 to sip0.cube0.pe0, for which "
       "sip0.cube0.pe0 wide#0 waits: recv#5 (table_kernels.cpp:~) on sip0.cube0.pe0.ipcq.receive0"},
      {"SignalThatNobodySends", kTwoSips,
       ring(2, 4,
            [] {
              if (tl::member_index() == 0) tl::wait_until(0, tl::Comparison::ge, 1);
            }),
       "sip0.cube0.pe1 has ended without such a signal, for which sip0.cube0.pe0 ring#0 waits: signal 0 of "
       "sip0.cube0.pe0 (it is 0; tl::wait_until at table_kernels.cpp:~ waits until it is >= 1)"},
      {"SignalOfAnotherValue", kTwoSips,
       ring(2, 4,
            [] {
              if (tl::member_index() == 0) tl::wait_until(0, tl::Comparison::eq, 2);
              if (tl::member_index() == 1) tl::signal(tl::member(0), 0, 3, tl::SignalOperation::set);
            }),
       "sip0.cube0.pe1 has ended without such a signal, for which sip0.cube0.pe0 ring#0 waits: signal 0 of "
       "sip0.cube0.pe0 (it is 3; tl::wait_until at table_kernels.cpp:~ waits until it is == 2)"},
      {"SignalToAnotherWord", kTwoSips,
       ring(2, 4,
            [] {
              if (tl::member_index() == 0) tl::put_signal(tl::window(tl::member(1)), tile(16), 1, 1);
              if (tl::member_index() == 1) tl::wait_until(0, tl::Comparison::ge, 1);
            }),
       "sip0.cube0.pe0 has ended without such a signal, for which sip0.cube0.pe1 ring#0 waits: signal 0 of "
       "sip0.cube0.pe1 (it is 0; tl::wait_until at table_kernels.cpp:~ waits until it is >= 1)"},
      {"AllWaitForASignal", kTwoSips, everywhere([] { tl::wait_until(0, tl::Comparison::ge, 1); }),
       "128 programs of wide#0 (sip0.cube*.pe*) wait: signal 0 of sip0.cube*.pe* (it is 0; tl::wait_until at "
       "table_kernels.cpp:~ waits until it is >= 1); everyone who could provide it waits, too"},
      {"KernelBarrier", kTwoSips, everywhere([] {
         if (tl::member_index() != 37) tl::barrier();
       }),
       "sip0.cube4.pe5 has ended without this tl::barrier, for which 127 programs of wide#0 (sip0.cube*.pe*) wait: "
       "barrier 0 of all members (at table_kernels.cpp:~, 128 members)"},
      {"KernelBarrierAgainstRecv", kTwoSips,
       ring(2, 4,
            [] {
              if (tl::member_index() == 0) tl::barrier();
              if (tl::member_index() == 1) tl::recv(DType::f32, {16}, tl::member(0));
              if (tl::member_index() == 1) tl::barrier();
              if (tl::member_index() == 0) tl::send(tile(16), tl::member(1));
            }),
       "cycle: sip0.cube0.pe0 ring#0 -> barrier 0 of all members (at table_kernels.cpp:~, 2 members) -> sip0.cube0.pe1 "
       "ring#0 (tl::barrier on sip0.cube0.pe1) -> recv#0 (table_kernels.cpp:~) on sip0.cube0.pe1.ipcq.receive0 -> "
       "sip0.cube0.pe0 ring#0 (a message with tag 0 of sip0.cube0.pe0)"},
      {"SlotsAgainstASignal", kTwoSips, ring(2, 2, slots_against_a_signal),
       "cycle: sip0.cube0.pe0 ring#0 -> send#5 (table_kernels.cpp:~) on sip0.cube0.pe0.ipcq.send0 -> sip0.cube0.pe1 "
       "ring#0 (a credit of sip0.cube0.pe1.ipcq.receive0) -> signal 0 of sip0.cube0.pe1 (it is 0; tl::wait_until at "
       "table_kernels.cpp:~ waits until it is >= 1) -> sip0.cube0.pe0 ring#0 (a signal of sip0.cube0.pe0)"},
      {"TcmAgainstMessages", kTwoSips, tcm_against_messages,
       "sip0.cube0.pe0 signals#0 waits: signal 0 of sip0.cube0.pe0 (it is 0; tl::wait_until at table_kernels.cpp:~ "
       "waits "
       "until it is >= 1); everyone who could provide it waits, too: sip0.cube0.pe1 signals#0 waits for "
       "sip0.cube0.pe1.tcm (~ wanted, ~ free); sip0.cube0.pe0 sends#0 waits for sip0.cube0.pe0.tcm (~ wanted, ~ free); "
       "sip0.cube0.pe1 sends#0 waits for recv#0 (table_kernels.cpp:~) on sip0.cube0.pe1.ipcq.receive2"},
      {"TcmOfTwoLaunches", kTwoSips, tcm_of_two_launches,
       "sip0.cube0.pe1 first#0 and sip0.cube0.pe1 second#0 wait: sip0.cube0.pe1.tcm (~ wanted, ~ of ~ free); everyone "
       "who could provide it waits, too"},
  };
}

}  // namespace kernbench::deadlocks_test
