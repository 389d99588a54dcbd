// Device meshes: the ranks as an array with a group along each line.
#include "kernbench/device_mesh.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "kernbench/kernbench.h"
#include "ranks.h"

namespace kernbench::testing::device_mesh {
namespace {

namespace dist = torch::distributed;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Optional;

std::vector<std::string> errors_of(int ranks, const std::function<void(int rank)>& body) {
  const auto outcome = run_ranks(machine_of(ranks), ranks, [&](int rank) {
    dist::init_process_group("ahbm", rank, ranks);
    body(rank);
  });
  EXPECT_EQ(outcome.run.status, RunStatus::ok) << outcome.error.message;
  return outcome.errors;
}

/// The sum over the group of each rank's number plus 1.
float sum_over(const dist::ProcessGroup& group, int rank) {
  const auto x = torch::full({4}, rank + 1.0).to("ahbm");
  dist::all_reduce(x, dist::ReduceOp::SUM, group);
  return x[0].item<float>();
}

TEST(DeviceMesh, HasAGroupAlongEachLine) {
  const auto errors = errors_of(8, [](int rank) {
    const auto mesh = dist::init_device_mesh("ahbm", {2, 4}, {"dp", "tp"});
    EXPECT_EQ(mesh.ndim(), 2);
    EXPECT_EQ(mesh.size(), 8);
    EXPECT_EQ(mesh.size("tp"), 4);
    EXPECT_EQ(mesh.size(0), 2);
    EXPECT_THAT(mesh.shape(), ElementsAre(2, 4));
    EXPECT_THAT(mesh.mesh(), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
    EXPECT_EQ(mesh.get_rank(), rank);
    EXPECT_THAT(mesh.get_coordinate(), Optional(ElementsAre(rank / 4, rank % 4)));
    EXPECT_EQ(mesh.get_local_rank("tp"), rank % 4);
    EXPECT_EQ(mesh.get_local_rank(-2), rank / 4);
    EXPECT_EQ(mesh.get_all_groups().size(), 2U);
    const int row = rank / 4 * 4;
    EXPECT_THAT(dist::get_process_group_ranks(mesh.get_group("tp")), ElementsAre(row, row + 1, row + 2, row + 3));
    EXPECT_EQ(sum_over(mesh.get_group("dp"), rank), static_cast<float>(2 * (rank % 4) + 6));
    EXPECT_EQ(sum_over(mesh.get_group(1), rank), static_cast<float>(4 * row + 10));
  });
  EXPECT_THAT(errors, Each(""));
}

TEST(DeviceMesh, OfOneDimensionIsTheDefaultGroup) {
  const auto errors = errors_of(3, [](int rank) {
    const auto mesh = dist::init_device_mesh("ahbm", {3});
    EXPECT_THAT(mesh.mesh_dim_names(), IsEmpty());
    EXPECT_EQ(mesh.get_local_rank(), rank);
    EXPECT_EQ(mesh.get_group().state(), nullptr);
    EXPECT_EQ(sum_over(mesh.get_group(), rank), 6.0F);
  });
  EXPECT_THAT(errors, Each(""));
}

TEST(DeviceMesh, PartsUseTheGroupsOfTheWhole) {
  const auto errors = errors_of(8, [](int rank) {
    const auto mesh = dist::init_device_mesh("ahbm", {2, 2, 2}, {"dp", "cp", "tp"});
    const auto tp = mesh["tp"];
    EXPECT_EQ(tp.ndim(), 1);
    EXPECT_THAT(tp.mesh(), ElementsAre(rank / 2 * 2, rank / 2 * 2 + 1));
    EXPECT_EQ(tp.get_group().state(), mesh.get_group("tp").state());
    EXPECT_EQ(tp.get_local_rank(), rank % 2);
    const auto outer = mesh[{"dp", "tp"}];
    EXPECT_THAT(outer.mesh_dim_names(), ElementsAre("dp", "tp"));
    const int first = rank / 2 % 2 * 2;
    EXPECT_THAT(outer.mesh(), ElementsAre(first, first + 1, first + 4, first + 5));
    EXPECT_THAT(outer.get_coordinate(), Optional(ElementsAre(rank / 4, rank % 2)));
    EXPECT_EQ(outer["dp"].get_group().state(), mesh.get_group(0).state());
  });
  EXPECT_THAT(errors, Each(""));
}

TEST(DeviceMesh, DimensionsBecomeOne) {
  const auto errors = errors_of(8, [](int rank) {
    const auto mesh = dist::init_device_mesh("ahbm", {2, 2, 2}, {"dp", "cp", "tp"});
    const auto flat = mesh[{"dp", "tp"}]._flatten("all_but_cp");
    const int first = rank / 2 % 2 * 2;
    EXPECT_THAT(flat.mesh(), ElementsAre(first, first + 1, first + 4, first + 5));
    EXPECT_THAT(flat.shape(), ElementsAre(4));
    EXPECT_EQ(flat.get_local_rank(), rank / 4 * 2 + rank % 2);
    EXPECT_EQ(sum_over(flat.get_group(), rank), static_cast<float>(4 * first + 14));
    EXPECT_EQ(mesh["all_but_cp"].get_group().state(), flat.get_group().state());
    const auto whole = mesh._flatten();
    EXPECT_THAT(whole.mesh_dim_names(), ElementsAre("dp_cp_tp"));
    EXPECT_EQ(sum_over(whole.get_group(), rank), 36.0F);
  });
  EXPECT_THAT(errors, Each(""));
}

TEST(DeviceMesh, OfFewerRanksLeavesTheOthersOut) {
  const auto errors = errors_of(5, [](int rank) {
    const auto mesh = dist::init_device_mesh("ahbm", {2, 2}, {"a", "b"});
    if (rank < 4) {
      EXPECT_EQ(sum_over(mesh.get_group("b"), rank), rank < 2 ? 3.0F : 7.0F);
      return;
    }
    EXPECT_EQ(mesh.get_coordinate(), std::nullopt);
    EXPECT_THAT(mesh["b"].mesh(), IsEmpty());
    EXPECT_EQ(dist::get_rank(mesh.get_group("b")), -1);
    mesh.get_local_rank("a");
  });
  EXPECT_THAT(errors,
              ElementsAre("", "", "", "", HasSubstr("RuntimeError: DeviceMesh::get_local_rank: rank 4 is not")));
}

TEST(DeviceMesh, MakesTheDefaultGroupOfASpawn) {
  const RunResult run = simulate(machine_of(2), [] {
    torch::multiprocessing::spawn(
        [](int rank) { EXPECT_EQ(sum_over(dist::init_device_mesh("ahbm", {2}).get_group(), rank), 3.0F); },
        std::tuple<>(), {.nprocs = 2});
  });
  EXPECT_EQ(run.status, RunStatus::ok);
}

TEST(DeviceMesh, WhatDoesNotFitIsRefused) {
  const auto error = [](const std::function<void()>& call) { return errors_of(4, [&](int) { call(); }).front(); };
  const auto mesh = [] { return dist::init_device_mesh("ahbm", {2, 2}, {"dp", "tp"}); };
  EXPECT_THAT(error([] { dist::init_device_mesh("cuda", {4}); }), HasSubstr("of type \"ahbm\", not \"cuda\""));
  EXPECT_THAT(error([] { dist::init_device_mesh("ahbm", {}); }), HasSubstr("at least one dimension"));
  EXPECT_THAT(error([] { dist::init_device_mesh("ahbm", {2, 0}); }), HasSubstr("must be positive, found 2 x 0"));
  EXPECT_THAT(
      error([] { dist::init_device_mesh("ahbm", {100000, 100000, 100000}); }),
      HasSubstr("Mesh should not be bigger than default world size 4, but found 100000 x 100000 x 100000 ranks!"));
  EXPECT_THAT(error([] { dist::init_device_mesh("ahbm", {2, 2}, {"a"}); }),
              HasSubstr("Found len(mesh_dim_names): 1 and len(mesh_shape): 2"));
  EXPECT_THAT(error([] { dist::init_device_mesh("ahbm", {2, 2}, {"a", "a"}); }),
              HasSubstr("Each mesh_dim_name must be unique. Found repeated mesh_dim_name in mesh_dim_names (a, a)"));
  EXPECT_THAT(error([&] { mesh().get_group(); }), HasSubstr("Found the DeviceMesh have 2 dimensions."));
  EXPECT_THAT(
      error([&] { mesh().get_group("pp"); }),
      HasSubstr("KeyError: DeviceMesh::get_group: Mesh dimension 'pp' does not exist. Available mesh dimensions "
                "are: (dp, tp)"));
  EXPECT_THAT(error([&] { mesh().size(2); }), HasSubstr("Mesh dimension '2' does not exist."));
  EXPECT_THAT(error([&] { mesh()[{"tp", "dp"}].ndim(); }), HasSubstr("in the order of the mesh, (dp, tp)"));
  EXPECT_THAT(error([] { dist::init_device_mesh("ahbm", {2, 2})["tp"].ndim(); }),
              HasSubstr("Cannot slice a DeviceMesh without mesh_dim_names!"));
  EXPECT_THAT(error([&] { mesh()._flatten("dp"); }),
              HasSubstr("dp already exists for submesh of the DeviceMesh of 2 x 2"));
}

}  // namespace
}  // namespace kernbench::testing::device_mesh
