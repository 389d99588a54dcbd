#include "programs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "distributed/agreement/fingerprint.h"

namespace kernbench::testing::gloo {

Tensor values(int rank, std::int64_t n, torch::ScalarType dtype) {
  std::vector<double> numbers;
  for (std::int64_t i = 0; i < n; ++i) numbers.push_back(static_cast<double>((rank * 7 + i) % 5));
  return torch::tensor(numbers, torch::dtype(torch::kDouble)).to(dtype).to("ahbm");
}

void Rank::attempt(const std::function<void()>& call) {
  try {
    call();
    say("ok");
  } catch (const ProgramError&) {
    say("throws");
  }
}

void Rank::show_one(const Tensor& tensor) {
  const Tensor numbers = tensor.cpu().to(torch::kDouble).contiguous();
  std::string line = fmt::format("{} {}:", distributed::torch_name(tensor.scalar_type()),
                                 fmt::join(tensor.sizes().begin(), tensor.sizes().end(), "x"));
  for (std::int64_t i = 0; i < numbers.numel(); ++i) {
    const double value = numbers.data_ptr<double>()[i];
    line += value == std::floor(value) ? fmt::format(" {}", static_cast<std::int64_t>(value))
                                       : fmt::format(" {:.13a}", value);
  }
  lines_.push_back(line);
}

void finish(const dist::WorkRef& work) {
  work->wait();
  work->synchronize();
}

void join_world(const Rank& me, int number) {
  dist::init_process_group("ahbm", me.rank, me.world, {.init_method = "world " + std::to_string(number)});
}

std::vector<Program> programs() {
  std::vector<Program> all;
  for (const auto& part : {collective_programs(), block_programs(), group_programs(), transfer_programs(),
                           lifecycle_programs(), object_programs(), hanging_programs()}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

}  // namespace kernbench::testing::gloo
