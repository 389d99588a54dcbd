// Reductions given by name: every collective that reduces takes it, and refuses what is none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "kernbench/kernbench.h"
#include "kernbench/partials.h"
#include "kernbench/premul_sum.h"
#include "kernbench/subgroups.h"
#include "ranks.h"

namespace kernbench::testing {
namespace {

namespace dist = torch::distributed;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using torch::Tensor;
using Op = dist::ReduceOpOrName;

/// A collective with a reduction, of 2 ranks; yields what it wrote.
struct Reducing {
  const char* name;
  std::function<Tensor(const Tensor& mine, Op op)> call;  // mine: four elements
};

std::vector<Reducing> reducing() {
  const auto half = [](const Tensor& x) { return torch::zeros({2}, x.options()); };
  const auto halves = [](const Tensor& x) { return std::vector<Tensor>{x.narrow(0, 0, 2), x.narrow(0, 2, 2)}; };
  return {{"all_reduce",
           [](const Tensor& x, Op op) {
             dist::all_reduce(x, op);
             return x;
           }},
          {"reduce",
           [](const Tensor& x, Op op) {
             dist::reduce(x, 0, op);
             return x;
           }},
          {"reduce_scatter_tensor",
           [=](const Tensor& x, Op op) {
             Tensor out = half(x);
             dist::reduce_scatter_tensor(out, x, op);
             return out;
           }},
          {"reduce_scatter",
           [=](const Tensor& x, Op op) {
             Tensor out = half(x);
             dist::reduce_scatter(out, halves(x), op);
             return out;
           }},
          {"_reduce_scatter_base",
           [=](const Tensor& x, Op op) {
             Tensor out = half(x);
             dist::_reduce_scatter_base(out, x, op);
             return out;
           }},
          {"all_reduce_coalesced",
           [](const Tensor& x, Op op) {
             dist::all_reduce_coalesced({x}, op);
             return x;
           }},
          {"reduce_scatter_tensor_coalesced",
           [=](const Tensor& x, Op op) {
             Tensor out = half(x);
             dist::reduce_scatter_tensor_coalesced({out}, {x}, op);
             return out;
           }},
          {"all_reduce_partials", [](const Tensor& x, Op op) {
             torch::ahbm::all_reduce_partials(x, op);
             return x;
           }}};
}

Tensor operand(int rank, DType dtype) {
  return (torch::arange(4, torch::kInt) + 5 * rank + 2).to(torch::dtype(dtype).device("ahbm"));
}

TEST(ReduceOpNames, StandForTheReductionInEveryCollective) {
  const struct {
    const char* name;
    dist::ReduceOp op;
    DType dtype;
  } names[] = {{"sum", dist::ReduceOp::SUM, DType::f32},         {"avg", dist::ReduceOp::AVG, DType::f32},
               {"Product", dist::ReduceOp::PRODUCT, DType::i32}, {"MIN", dist::ReduceOp::MIN, DType::i32},
               {"max", dist::ReduceOp::MAX, DType::f32},         {"band", dist::ReduceOp::BAND, DType::i32},
               {"bor", dist::ReduceOp::BOR, DType::i32},         {"bxor", dist::ReduceOp::BXOR, DType::i32}};
  const auto outcome = run_ranks(machine_of(2), 2, [&](int rank) {
    dist::init_process_group("ahbm", rank, 2);
    for (const auto& [name, op, dtype] : names) {
      for (const Reducing& collective : reducing()) {
        const Tensor by_name = collective.call(operand(rank, dtype), name).cpu();
        EXPECT_TRUE(torch::equal(by_name, collective.call(operand(rank, dtype), op).cpu()))
            << collective.name << ", " << name << ", rank " << rank;
      }
    }
    const Tensor sum = operand(rank, DType::f32);
    dist::all_reduce(sum, "sum");
    EXPECT_EQ(sum[0].item<float>(), 2 + 7);
    dist::all_reduce(sum, std::string("max"), {}, /*async_op=*/true)->wait();
    dist::all_reduce(sum, std::string_view("MIN"));
    EXPECT_EQ(sum[3].item<float>(), 5 + 10);
  });
  EXPECT_THAT(outcome.errors, Each(""));
}

TEST(ReduceOpNames, ThatAreNoneAreRefusedWithThoseThatThereAre) {
  for (const char* wrong : {"", "sums", "mean", "premul_sum"}) {
    const auto outcome = run_ranks(machine_of(2), 2, [&](int rank) {
      dist::init_process_group("ahbm", rank, 2);
      for (const Reducing& collective : reducing()) {
        try {
          collective.call(operand(rank, DType::f32), wrong);
          ADD_FAILURE() << collective.name << " takes \"" << wrong << "\"";
        } catch (const ValueError& error) {
          EXPECT_THAT(std::string(error.what()), AllOf(HasSubstr("Invalid ReduceOp: \"" + std::string(wrong) + "\""),
                                                       HasSubstr("SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR and BXOR")))
              << collective.name;
        }
      }
      const Tensor x = operand(rank, DType::f32);
      dist::all_reduce(x, "sum");  // nobody has been left behind
      EXPECT_EQ(x[0].item<float>(), 2 + 7);
    });
    EXPECT_THAT(outcome.errors, Each(""));
  }
}

}  // namespace
}  // namespace kernbench::testing
