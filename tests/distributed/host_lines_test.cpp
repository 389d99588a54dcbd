// Every call of the host API is known by its line in the program, whatever it calls itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <source_location>
#include <sstream>
#include <string>
#include <vector>

#include "spawning.h"

namespace kernbench::testing {
namespace {

namespace dist = torch::distributed;
using torch::Tensor;

void copy_kernel(tl::In x, tl::Tensor out) {
  tl::store(out, {0}, tl::load(x, {0}, {x.numel()}));
}

/// Each call stands on one line with line(), which yields it.
struct Call {
  std::string name;
  std::function<unsigned()> make;
};

unsigned line(std::source_location here = std::source_location::current()) {
  return here.line();
}

/// Expects that the last line which the calling fiber knows of is that of the call.
void check(const std::vector<Call>& calls) {
  for (const Call& call : calls) {
    sim::this_fiber::current()->note_place({});
    const unsigned expected = call.make();
    EXPECT_EQ(sim::this_fiber::current()->place(), "host_lines_test.cpp:" + std::to_string(expected)) << call.name;
    EXPECT_EQ(sim::this_fiber::current()->call().name, nullptr) << call.name << " has ended";
  }
}

Tensor matrix() {
  return torch::ones({8, 8}, one_pe());
}

TEST(HostLines, OfTensorFunctionsOnADevice) {
  simulate(devices(2), [] {
    const Tensor a = matrix(), b = matrix(), host = torch::ones({8, 8});
    const Tensor scalar = torch::ones({}, one_pe()), mask = a > 0;
    Tensor x = matrix();
    std::ostringstream out;
    check({
        {"empty", [&] { return torch::empty({4}, one_pe()), line(); }},
        {"zeros", [&] { return torch::zeros({4}, one_pe()), line(); }},
        {"full", [&] { return torch::full({4}, 2, one_pe()), line(); }},
        {"arange", [&] { return torch::arange(4, one_pe()), line(); }},
        {"randn", [&] { return torch::randn({4}, one_pe()), line(); }},
        {"tensor", [&] { return torch::tensor({1.F, 2.F}, one_pe()), line(); }},
        {"empty_like", [&] { return torch::empty_like(a), line(); }},
        {"zeros_like", [&] { return torch::zeros_like(a), line(); }},
        {"to(device)", [&] { return host.to("ahbm"), line(); }},
        {"to(options)", [&] { return host.to(one_pe()), line(); }},
        {"to(type)", [&] { return a.to(torch::kHalf), line(); }},
        {"to(device, type)", [&] { return host.to(torch::Device("ahbm"), torch::kHalf), line(); }},
        {"to(other)", [&] { return host.to(a), line(); }},
        {"type_as", [&] { return host.type_as(a), line(); }},
        {"cpu", [&] { return a.cpu(), line(); }},
        {"copy_ from the host", [&] { return x.copy_(host), line(); }},
        {"copy_ that waits", [&] { return x.copy_(host, false), line(); }},
        {"copy_ on the device", [&] { return x.copy_(b), line(); }},
        {"fill_", [&] { return x.fill_(3), line(); }},
        {"zero_", [&] { return x.zero_(), line(); }},
        {"clone", [&] { return a.clone(), line(); }},
        {"contiguous", [&] { return a.t().contiguous(), line(); }},
        {"item", [&] { return scalar.item(), line(); }},
        {"item<T>", [&] { return scalar.item<float>(), line(); }},
        {"item_or", [&] { return scalar.item_or(1.F), line(); }},
        {"equal", [&] { return a.equal(b), line(); }},
        {"allclose", [&] { return a.allclose(b), line(); }},
        {"torch::equal", [&] { return torch::equal(a, b), line(); }},
        {"torch::allclose", [&] { return torch::allclose(a, b), line(); }},
        {"printing", [&] { return out << a, line(); }},
        {"check_close", [&] { return check_close("ones", a, host), line(); }},
        {"view", [&] { return a.view({64}), line(); }},
        {"select", [&] { return a.select(0, 1), line(); }},
        {"add", [&] { return a.add(b), line(); }},
        {"add with alpha", [&] { return a.add(b, 2), line(); }},
        {"add_", [&] { return x.add_(1), line(); }},
        {"mul", [&] { return a.mul(2), line(); }},
        {"relu", [&] { return a.relu(), line(); }},
        {"exp_", [&] { return x.exp_(), line(); }},
        {"sum", [&] { return a.sum(), line(); }},
        {"max of a dimension", [&] { return a.max(0), line(); }},
        {"softmax", [&] { return a.softmax(1), line(); }},
        {"where", [&] { return a.where(mask, b), line(); }},
        {"clamp", [&] { return a.clamp(0, 1), line(); }},
        {"index", [&] { return a.index({0, torch::indexing::Slice(0, 2)}), line(); }},
        {"masked_fill", [&] { return a.masked_fill(mask, 1), line(); }},
        {"matmul", [&] { return a.matmul(b), line(); }},
        {"addmm", [&] { return x.addmm(a, b), line(); }},
        {"torch::add", [&] { return torch::add(a, b), line(); }},
        {"torch::relu", [&] { return torch::relu(a), line(); }},
        {"torch::silu", [&] { return torch::silu(a), line(); }},
        {"torch::matmul", [&] { return torch::matmul(a, b), line(); }},
        {"torch::softmax", [&] { return torch::softmax(a, 1), line(); }},
        {"torch::sum", [&] { return torch::sum(a, {0}), line(); }},
        {"torch::max", [&] { return torch::max(a, b), line(); }},
        {"torch::where", [&] { return torch::where(mask, a, b), line(); }},
        {"torch::cat", [&] { return torch::cat({a, b}), line(); }},
        {"torch::stack", [&] { return torch::stack({a, b}), line(); }},
        {"torch::linear", [&] { return torch::linear(a, b), line(); }},
        {"torch::layer_norm", [&] { return torch::layer_norm(a, {8}), line(); }},
        {"functional::gelu", [&] { return torch::nn::functional::gelu(a), line(); }},
        {"functional::softmax", [&] { return torch::nn::functional::softmax(a, 1), line(); }},
        {"ahbm::matmul", [&] { return torch::ahbm::matmul(a, b), line(); }},
    });
  });
}

TEST(HostLines, OfOperators) {
  simulate(devices(1), [] {
    const Tensor a = matrix(), b = matrix(), bits = torch::ones({8}, one_pe(DType::i32));
    Tensor x = matrix();
    check({
        {"a + b", [&] { return a + b, line(); }},
        {"a + 1", [&] { return a + 1, line(); }},
        {"1 + a", [&] { return 1 + a, line(); }},
        {"a - b", [&] { return a - b, line(); }},
        {"1 - a", [&] { return 1 - a, line(); }},
        {"a * 2.5", [&] { return a * 2.5, line(); }},
        {"1 / a", [&] { return 1 / a, line(); }},
        {"-a", [&] { return -a, line(); }},
        {"~bits", [&] { return ~bits, line(); }},
        {"bits & 1", [&] { return bits & 1, line(); }},
        {"a < b", [&] { return static_cast<void>(a < b), line(); }},
        {"a == b", [&] { return static_cast<void>(a == b), line(); }},
        {"a += b", [&] { return x += b, line(); }},
        {"a -= 1", [&] { return x -= 1, line(); }},
        {"a *= b", [&] { return x *= b, line(); }},
        {"a[0] = 1", [&] { return x[0] = 1, line(); }},
    });
  });
}

TEST(HostLines, OfLaunchesStreamsAndEvents) {
  simulate(devices(2), [] {
    const Tensor x = torch::ones({8}, one_pe());
    Tensor out = torch::zeros({8}, one_pe());
    const auto lambda = [](tl::In in, tl::Tensor to) { copy_kernel(in, to); };
    const torch::LaunchOptions options{.pes = {{CubeId{0}, PeId{0}}}};
    const std::string name = "copy";
    torch::ahbm::Stream stream, other;
    torch::ahbm::Event event;
    check({
        {"launch", [&] { return torch::launch("copy", copy_kernel, x, out), line(); }},
        {"launch, std::string", [&] { return torch::launch(name, copy_kernel, x, out), line(); }},
        {"launch of a lambda", [&] { return torch::launch("copy", lambda, x, out), line(); }},
        {"launch with options", [&] { return torch::launch(options, "copy", copy_kernel, x, out), line(); }},
        {"launch with braces", [&] { return torch::launch({}, "copy", lambda, x, out), line(); }},
        {"set_device", [&] { return torch::ahbm::set_device(0), line(); }},
        {"synchronize", [&] { return torch::ahbm::synchronize(), line(); }},
        {"accelerator::synchronize", [&] { return torch::accelerator::synchronize(), line(); }},
        {"Stream", [&] { return torch::ahbm::Stream(), line(); }},
        {"Stream::synchronize", [&] { return stream.synchronize(), line(); }},
        {"Stream::query", [&] { return stream.query(), line(); }},
        {"Event::record", [&] { return event.record(), line(); }},
        {"Event::record on", [&] { return event.record(other), line(); }},
        {"Event::block", [&] { return event.block(stream), line(); }},
        {"Event::wait", [&] { return event.wait(), line(); }},
        {"Event::query", [&] { return event.query(), line(); }},
        {"Event::synchronize", [&] { return event.synchronize(), line(); }},
        {"Stream::wait_event", [&] { return stream.wait_event(event), line(); }},
        {"Stream::wait_stream", [&] { return stream.wait_stream(other), line(); }},
        {"Stream::record_event", [&] { return stream.record_event(), line(); }},
        {"set_stream", [&] { return torch::ahbm::set_stream(stream), line(); }},
        {"StreamGuard", [&] { return torch::ahbm::StreamGuard(other), line(); }},
        {"DeviceGuard", [&] { return torch::ahbm::DeviceGuard(1), line(); }},
    });
  });
}

void call_all(int rank) {
  const int peer = 1 - rank;
  torch::ahbm::set_device(rank);
  const Tensor x = torch::ones({64}, one_pe());
  dist::ProcessGroup group;
  dist::WorkRef work;
  check({
      {"init_process_group", [&] { return dist::init_process_group("ahbm"), line(); }},
      {"new_group", [&] { return group = dist::new_group({0, 1}), line(); }},
      {"monitored_barrier", [&] { return dist::monitored_barrier(), line(); }},
      {"barrier", [&] { return dist::barrier(), line(); }},
      {"all_reduce", [&] { return dist::all_reduce(x), line(); }},
      {"broadcast", [&] { return dist::broadcast(x, 0), line(); }},
      {"all_reduce, async", [&] { return work = dist::all_reduce(x, dist::ReduceOp::SUM, {}, true), line(); }},
      {"Work::wait", [&] { return work->wait(), line(); }},
      {"Work::is_completed", [&] { return work->is_completed(), line(); }},
      {"Work::synchronize", [&] { return work->synchronize(), line(); }},
      {"send and recv", [&] { return rank == 0 ? dist::send(x, 1) : void(dist::recv(x, 0)), line(); }},
      {"isend, irecv", [&] { return work = rank == 0 ? dist::isend(x, 1) : dist::irecv(x, 0), line(); }},
  });
  const dist::P2POp both[] = {{dist::P2POp::isend, x, peer}, {dist::P2POp::irecv, x.clone(), peer}};
  check({
      {"batch_isend_irecv", [&] { return dist::batch_isend_irecv({both[0], both[1]}), line(); }},
      {"destroy_process_group", [&] { return dist::destroy_process_group(), line(); }},
  });
}

TEST(HostLines, OfCommunicationAndSpawn) {
  simulate(devices(2), [] {
    mp::ProcessContext ranks(nullptr);
    check({
        {"spawn", [&] { return mp::spawn(call_all, {}, {.nprocs = 2}), line(); }},
        {"start_processes", [&] { return mp::start_processes(call_all, {}, {.nprocs = 2}), line(); }},
        {"spawn, joined later", [&] { return ranks = mp::spawn([](int) { sleep(10); }, {}, {.join = false}), line(); }},
        {"join", [&] { return ranks.join(), line(); }},
    });
  });
}

TEST(HostLines, AFunctionThatIsPassedOnHasNone) {
  simulate(devices(1), [] {
    const std::function<Tensor(const Tensor&)> function = torch::relu;
    const auto chosen = function ? torch::tanh : torch::relu;
    const Tensor x = matrix();
    std::vector<Tensor> all{x, x};
    sim::this_fiber::current()->note_place({});
    (void)function(x);
    std::transform(all.begin(), all.end(), all.begin(), torch::sigmoid);
    EXPECT_EQ(sim::this_fiber::current()->place(), "") << "no line of the standard library";
    (void)chosen(x);
    EXPECT_EQ(sim::this_fiber::current()->place(), "host_lines_test.cpp:" + std::to_string(line() - 1));
  });
}

}  // namespace
}  // namespace kernbench::testing
