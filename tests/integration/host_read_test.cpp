// The host-read barrier: whatever reads device values on the host begins when what produces them has completed, to the
// picosecond, and waits for nothing else. Every entry point against every kind of producer, beside unrelated work.
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <ostream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "host_copy_law.h"
#include "kernbench/error.h"
#include "programs.h"
#include "runtime/context.h"
#include "support/all_cases.h"
#include "tensor/device_backend.h"

namespace kernbench::host_read_test {

namespace {

using tensor::HostRead;
using testing::copy_to_device;
using testing::copy_to_host;
using testing::copy_to_peer;
using testing::kOverhead;
using testing::one_pe;
using testing::ps;
using testing::tiny;
using torch::Tensor;
using torch::ahbm::Stream;
using torch::ahbm::StreamGuard;

constexpr std::int64_t kElements = 256;  // of f32: one chunk of 1 KiB in one HBM channel
constexpr float kValue = 3;
const torch::LaunchOptions kFirst{.pes = {{CubeId{0}, PeId{0}}}}, kSecond{.pes = {{CubeId{0}, PeId{1}}}};

Time now() {
  return runtime::current_context("now").simulation.scheduler().now();
}

// ---- entry points --------------------------------------------------------------------------------------------------

/// One way to read `x`, whose elements are all kValue. Answers whether it saw them, which may need a read of its own
/// later.
struct Entry {
  HostRead read;
  const char* name;
  std::function<std::function<bool()>(const Tensor& x)> call;
  std::int64_t bytes = 0;     // that it reads; 0: all of x
  Time after = Time::zero();  // that it takes beyond the read
};

Tensor expected_of(const Tensor& x) {
  return torch::full(x.sizes(), kValue);
}

std::function<bool()> answer(bool right) {
  return [right] { return right; };
}

const std::vector<Entry>& entries() {
  static const std::vector<Entry> all{
      {HostRead::item, "item", [](const Tensor& x) { return answer(x[7].item<float>() == kValue); }, 4},
      {HostRead::cpu, "cpu", [](const Tensor& x) { return answer(x.cpu().equal(expected_of(x))); }},
      {HostRead::to, "to",
       [](const Tensor& x) {
         return answer(x.to(torch::Device("cpu"), torch::kDouble).equal(expected_of(x).to(torch::kDouble)));
       }},
      {HostRead::copy_, "copy_to_the_host",
       [](const Tensor& x) {
         auto host = torch::zeros(x.sizes());
         host.copy_(x);
         return answer(host.equal(expected_of(x)));
       }},
      {HostRead::print, "print",
       [](const Tensor& x) {
         std::ostringstream device, host;
         device << x;
         host << expected_of(x);
         // The last line names the device.
         const auto values = [](const std::string& text) { return text.substr(0, text.rfind('[')); };
         return answer(values(device.str()) == values(host.str()));
       }},
      {HostRead::equal, "equal", [](const Tensor& x) { return answer(torch::equal(x, expected_of(x))); }},
      {HostRead::allclose, "allclose", [](const Tensor& x) { return answer(torch::allclose(x, expected_of(x))); }},
      {HostRead::check, "check_close", [](const Tensor& x) { return answer(check_close("x", x, expected_of(x))); }},
      {HostRead::save, "save_npy", [](const Tensor& x) {
         std::ostringstream device, host;
         torch::save_npy(device, x);
         torch::save_npy(host, expected_of(x));
         return answer(device.str() == host.str());
       }}};
  return all;
}

// ---- producers -----------------------------------------------------------------------------------------------------

/// What makes the elements of x kValue, perhaps from `there`, which has them on another device. It is complete `then`
/// after the end of its last launch, or after the launch overhead of its one call.
struct Producer {
  const char* name;
  std::function<Tensor(const Tensor& x, const Tensor& there)> produce;  // what is to be read
  const char* last_launch;
  std::int64_t bytes = 4 * kElements;  // of what is to be read
  Time then = Time::zero();
};

void set(tl::Tensor x, float value, std::int64_t delay) {
  tl::delay(delay);
  tl::store(x, {0}, tl::full({x.numel()}, value, DType::f32));
}
void add(tl::Tensor x, float value) {
  tl::store(x, {0}, tl::load(x, {0}, {x.numel()}) + value);
}
/// Writes `out` at its end only.
void long_work(tl::In x, tl::Tensor out) {
  tl::delay(200'000);
  tl::store(out, {0}, tl::load(x, {0}, {x.numel()}));
}

void set_late(const Tensor& x) {
  torch::launch(kFirst, "set", set, x, kValue, std::int64_t{10'000});
}

const std::vector<Producer>& producers() {
  static const std::vector<Producer> all{
      {"launch", [](const Tensor& x, const Tensor&) { return set_late(x), x; }, "set#0"},
      {"copy_to_device", [](const Tensor& x, const Tensor&) { return x.copy_(torch::full({kElements}, kValue)), x; },
       "", 4 * kElements, copy_to_device(4 * kElements)},
      {"copy_from_another_device", [](const Tensor& x, const Tensor& there) { return x.copy_(there), x; }, "",
       4 * kElements, copy_to_peer(4 * kElements)},
      {"copy_of_what_another_device_makes",
       [](const Tensor& x, const Tensor& there) {
         set_late(there);
         x.copy_(there);
         return x;
       },
       "set#0", 4 * kElements, copy_to_peer(4 * kElements)},
      {"copy_from_another_device_into_a_view",
       [](const Tensor& x, const Tensor& there) {
         x.copy_(there);
         const auto view = x.narrow(0, 64, 128);
         set_late(there);
         view.copy_(there.narrow(0, 0, 128));
         return view;
       },
       "set#0", 4 * 128, copy_to_peer(4 * 128)},
      {"chain_of_launches",
       [](const Tensor& x, const Tensor&) {
         torch::launch(kFirst, "set", set, x, 0.0F, std::int64_t{10'000});
         torch::launch(kFirst, "add", add, x, 1.0F);
         torch::launch(kFirst, "add", add, x, 2.0F);
         return x;
       },
       "add#1"},
      {"launch_in_another_stream",
       [](const Tensor& x, const Tensor&) {
         const StreamGuard guard{Stream()};
         set_late(x);
         return x;
       },
       "set#0"},
      {"launches_in_two_streams",
       [](const Tensor& x, const Tensor&) {
         set_late(x);
         Stream other;
         other.wait_stream(torch::ahbm::current_stream());
         const StreamGuard guard(other);
         torch::launch(kFirst, "add", add, x, 0.0F);
         return x;
       },
       "add#0"},
      {"view_of_the_storage", [](const Tensor& x, const Tensor&) { return set_late(x), x.narrow(0, 64, 128); }, "set#0",
       4 * 128},
      {"fill", [](const Tensor& x, const Tensor&) { return x.fill_(kValue), x; }, "fill#0"},
      {"fill_of_a_view",
       [](const Tensor& x, const Tensor&) {
         set_late(x);
         x.narrow(0, 200, 56).fill_(kValue);
         return x;
       },
       "fill#0"},
      {"copy_within_the_device",
       [](const Tensor& x, const Tensor&) {
         auto source = torch::empty({kElements}, one_pe());
         set_late(source);
         x.copy_(source);
         return x;
       },
       "copy#0"},
      {"function_of_tensors",
       [](const Tensor& x, const Tensor&) {
         set_late(x);
         return x + 0.0;
       },
       "add#0"}};
  return all;
}

// ---- unrelated work ------------------------------------------------------------------------------------------------

enum class Unrelated : std::uint8_t { none, same_stream, other_stream, reader, other_device };

constexpr Unrelated kUnrelated[] = {Unrelated::none, Unrelated::same_stream, Unrelated::other_stream, Unrelated::reader,
                                    Unrelated::other_device};

/// Starts long work on the other PE in this stream, or in one of its own: on other tensors, or one that reads `x`.
void start(const Tensor& x, const Tensor& other, const Tensor& out, bool own_stream) {
  std::optional<StreamGuard> guard;
  if (own_stream) guard.emplace(Stream());
  torch::launch(kSecond, "long", long_work, x.defined() ? x : other, out);
}

struct Outcome {
  bool right = false, threw = false;
  Time issued, called, returned, producer_end, unrelated_end;
};

Outcome run(const Entry& entry, const Producer& producer, Unrelated unrelated, SimulateOptions options) {
  options.overrides.emplace_back("system.sips.count=2");
  Outcome outcome;
  const RunResult result = simulate(options, [&] {
    auto x = torch::empty({kElements}, one_pe().name("x"));
    auto other = torch::empty({kElements}, one_pe()), out = torch::empty({kElements}, one_pe());
    torch::launch(kFirst, "prepare", set, other, 1.0F, std::int64_t{0});
    torch::launch(kFirst, "prepare", set, x, -1.0F, std::int64_t{0});
    const auto on_second = one_pe().device("ahbm:1");
    const auto there = torch::empty({kElements}, on_second);
    const auto far = torch::empty({kElements}, on_second), far_out = torch::empty({kElements}, on_second);
    torch::launch(kFirst, "prepare", set, there, kValue, std::int64_t{0});
    torch::launch(kFirst, "prepare", set, far, 1.0F, std::int64_t{0});
    torch::ahbm::synchronize();
    torch::ahbm::synchronize(1);
    if (unrelated == Unrelated::other_stream) start({}, other, out, true);
    outcome.issued = now();
    const Tensor produced = producer.produce(x, there);
    if (unrelated == Unrelated::same_stream) start({}, other, out, false);
    if (unrelated == Unrelated::reader) start(x, other, out, false);
    if (unrelated == Unrelated::other_device) start({}, far, far_out, false);
    outcome.called = now();
    std::function<bool()> seen;
    try {
      seen = entry.call(produced);
    } catch (const ProgramError&) {
      outcome.threw = true;
    }
    outcome.returned = now();
    if (seen && data_enabled()) outcome.right = seen();
  });
  for (const auto& launch : result.launches) {
    if (launch.name == producer.last_launch) outcome.producer_end = launch.end + producer.then;
    if (launch.name == "long#0") outcome.unrelated_end = launch.end;
  }
  if (*producer.last_launch == '\0') {
    outcome.producer_end = outcome.issued + ps(kOverhead) + producer.then;
  }
  return outcome;
}

struct Case {
  std::size_t entry, producer;
};

void PrintTo(const Case& what, std::ostream* out) {
  *out << entries()[what.entry].name << " after " << producers()[what.producer].name;
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (std::size_t e = 0; e < entries().size(); ++e)
    for (std::size_t p = 0; p < producers().size(); ++p) all.push_back({e, p});
  return all;
}

class HostReads : public ::testing::TestWithParam<Case> {};

TEST_P(HostReads, BeginWhenTheProducerHasCompletedAndWaitForNothingElse) {
  const Entry& entry = entries()[GetParam().entry];
  const Producer& producer = producers()[GetParam().producer];
  SimulateOptions exact = tiny(), dataless = tiny();
  exact.exact_events = true;
  dataless.data = false;
  std::size_t turn = GetParam().entry + GetParam().producer;
  for (const auto& options : {tiny(), exact, dataless}) {
    for (const Unrelated unrelated : kUnrelated) {
      if (turn++ % one_case_in(1, 4) != 0) continue;
      SCOPED_TRACE("unrelated work " + std::to_string(static_cast<int>(unrelated)) + (options.data ? "" : " no data"));
      const Outcome outcome = run(entry, producer, unrelated, options);
      const Time began = std::max(outcome.called, outcome.producer_end);
      const Time read = ps(kOverhead) + copy_to_host(entry.bytes != 0 ? entry.bytes : producer.bytes);
      ASSERT_GT(outcome.producer_end, outcome.issued);
      EXPECT_EQ(outcome.returned, began + read + (outcome.threw ? Time::zero() : entry.after));
      if (options.data) {
        EXPECT_TRUE(outcome.right);
      }
      if (unrelated != Unrelated::none) {
        EXPECT_GT(outcome.unrelated_end, outcome.returned);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Matrix, HostReads, ::testing::ValuesIn(cases()), [](const auto& tested) {
  return std::string(entries()[tested.param.entry].name) + "_after_" + producers()[tested.param.producer].name;
});

TEST(HostReadList, EveryEntryOfTheClosedListIsInTheMatrix) {
  std::set<std::string> tested;
  for (const Entry& entry : entries()) tested.insert(tensor::name(entry.read));
  std::size_t listed = 0;
  while (std::string(tensor::name(static_cast<HostRead>(listed))) != "?") ++listed;
  EXPECT_EQ(tested.size(), listed);
}

TEST(HostReadList, AReadOfWhatIsFinishedBeginsAtTheCall) {
  for (const Entry& entry : entries()) {
    SimulateOptions options = tiny({"system.sips.count=2"});
    simulate(options, [&] {
      const auto x = torch::full({kElements}, kValue, one_pe());
      torch::ahbm::synchronize();
      const Time called = now();
      entry.call(x);
      const Time read = copy_to_host(entry.bytes != 0 ? entry.bytes : 4 * kElements);
      EXPECT_EQ(now() - called, ps(kOverhead) + read + entry.after) << entry.name;
    });
  }
}

TEST(HostReadList, TwoDeviceOperandsAreReadOneAfterTheOther) {
  simulate(tiny(), [&] {
    const auto x = torch::full({kElements}, kValue, one_pe()), y = torch::full({kElements}, kValue, one_pe());
    torch::ahbm::synchronize();
    for (const bool close : {false, true}) {
      const Time called = now();
      EXPECT_TRUE(close ? torch::allclose(x, y) : torch::equal(x, y));
      const Time one = ps(kOverhead) + copy_to_host(4 * kElements);
      EXPECT_EQ(now() - called, one + one);
    }
  });
}

}  // namespace
}  // namespace kernbench::host_read_test
