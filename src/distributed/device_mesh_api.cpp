// init_device_mesh, and the parts of a mesh.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "kernbench/device_mesh.h"
#include "kernbench/error.h"
#include "kernbench/streams.h"
#include "tensor/host_call.h"

namespace kernbench::distributed {

using Ranks = std::vector<int>;
using Dimensions = std::vector<std::size_t>;

/// The whole mesh. Its ranks are 0, 1, …, the last dimension running fastest.
struct WholeMesh {
  std::vector<int> shape;
  std::vector<std::string> names;  // empty, or one for each dimension
  std::vector<torch::distributed::ProcessGroup> groups = {};
  /// What _flatten() has made one.
  struct Flattened {
    Dimensions dimensions;
    torch::distributed::ProcessGroup group;
  };
  std::map<std::string, Flattened> flattened = {};  // by its name
};

/// A mesh as one rank sees it: the whole one, some of its dimensions, or several made one.
struct MeshState {
  std::shared_ptr<WholeMesh> whole;
  Dimensions dimensions;  // of the whole mesh; of several made one all of them
  std::vector<int> shape;
  std::vector<std::string> names;
  Ranks ranks;
  std::optional<std::vector<int>> coordinate;
  std::vector<torch::distributed::ProcessGroup> groups;
};

namespace {

int product(const std::vector<int>& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), 1, std::multiplies<>());
}

std::vector<int> coordinate_of(int rank, const std::vector<int>& shape) {
  std::vector<int> coordinate(shape.size());
  for (std::size_t i = shape.size(); i-- > 0; rank /= shape[i]) coordinate[i] = rank % shape[i];
  return coordinate;
}

/// Which of the sets of ranks that differ in these dimensions only a rank is in: its place in the other ones.
std::size_t set_of(int rank, const std::vector<int>& shape, const Dimensions& dimensions) {
  std::size_t set = 0, sets = 1;
  for (std::size_t i = shape.size(); i-- > 0; rank /= shape[i]) {
    if (std::ranges::find(dimensions, i) != dimensions.end()) continue;
    set += sets * static_cast<std::size_t>(rank % shape[i]);
    sets *= static_cast<std::size_t>(shape[i]);
  }
  return set;
}

/// These sets, each in the order of its ranks.
std::vector<Ranks> sets_along(const std::vector<int>& shape, const Dimensions& dimensions) {
  const int ranks = product(shape);
  std::vector<Ranks> sets(set_of(ranks - 1, shape, dimensions) + 1);
  for (int rank = 0; rank < ranks; ++rank) sets[set_of(rank, shape, dimensions)].push_back(rank);
  return sets;
}

std::string text_of(const std::vector<std::string>& names) {
  return fmt::format("({})", fmt::join(names, ", "));
}

std::string text_of(const torch::distributed::DeviceMesh::Dimension& dimension) {
  return dimension.number() ? std::to_string(*dimension.number()) : dimension.name();
}

/// The number of a dimension of this mesh; without one, of the only one.
std::size_t index_of(const char* call, const MeshState& mesh,
                     const std::optional<torch::distributed::DeviceMesh::Dimension>& dimension) {
  const int ndim = static_cast<int>(mesh.shape.size());
  if (!dimension) {
    if (ndim == 1) return 0;
    throw ProgramError(
        "RuntimeError",
        fmt::format("{}: Found the DeviceMesh have {} dimensions. Optional kwarg `mesh_dim` needs to be specified when "
                    "device_mesh.ndim > 1",
                    call, ndim));
  }
  if (const auto& number = dimension->number()) {
    if (*number >= -ndim && *number < ndim) return static_cast<std::size_t>(*number < 0 ? *number + ndim : *number);
  } else if (const auto found = std::ranges::find(mesh.names, dimension->name()); found != mesh.names.end()) {
    return static_cast<std::size_t>(found - mesh.names.begin());
  }
  throw ProgramError(
      "KeyError",
      fmt::format("{}: Mesh dimension '{}' does not exist. Available mesh dimensions are: {}", call,
                  text_of(*dimension), mesh.names.empty() ? fmt::format("0 to {}", ndim - 1) : text_of(mesh.names)));
}

}  // namespace

}  // namespace kernbench::distributed

namespace kernbench::torch::distributed {

using namespace kernbench::distributed;

namespace {

/// Groups of these sets of ranks: that of the caller, or another one, of which it is no member.
ProcessGroup group_among(const std::vector<Ranks>& sets, int world_size, Where where) {
  // Of all ranks there is a group.
  if (sets.size() == 1 && std::ssize(sets.front()) == world_size) return {};
  ProcessGroup mine;
  for (const Ranks& ranks : sets) {
    const auto made = new_group(ranks, {}, where);
    if (mine.state() == nullptr || get_rank(made) >= 0) mine = made;
  }
  return mine;
}

/// Some dimensions of the whole mesh as the calling rank sees them.
std::shared_ptr<MeshState> part_of(const std::shared_ptr<WholeMesh>& whole, const Dimensions& dimensions) {
  auto part = std::make_shared<MeshState>();
  const int rank = get_rank();
  part->whole = whole;
  part->dimensions = dimensions;
  const bool member = rank < product(whole->shape);
  if (member) part->ranks = sets_along(whole->shape, dimensions)[set_of(rank, whole->shape, dimensions)];
  const auto place = coordinate_of(rank, whole->shape);
  if (member) part->coordinate.emplace();
  for (const std::size_t dimension : dimensions) {
    part->shape.push_back(whole->shape[dimension]);
    if (!whole->names.empty()) part->names.push_back(whole->names[dimension]);
    if (member) part->coordinate->push_back(place[dimension]);
    part->groups.push_back(whole->groups[dimension]);
  }
  return part;
}

/// Likewise, made one.
DeviceMesh flat_mesh(const std::shared_ptr<WholeMesh>& whole, const std::string& name) {
  const WholeMesh::Flattened& made = whole->flattened.at(name);
  const auto flat = part_of(whole, made.dimensions);
  const auto position = std::ranges::find(flat->ranks, get_rank()) - flat->ranks.begin();
  if (flat->coordinate) flat->coordinate = {static_cast<int>(position)};
  flat->shape = {product(flat->shape)};
  flat->names = {name};
  flat->groups = {made.group};
  return DeviceMesh(flat);
}

void check_shape(const std::vector<int>& shape, const std::vector<std::string>& names) {
  constexpr const char* kCall = "init_device_mesh";
  if (shape.empty()) throw ValueError(fmt::format("{}: mesh_shape must have at least one dimension", kCall));
  for (const int size : shape)
    if (size <= 0)
      throw ValueError(
          fmt::format("{}: sizes of mesh_shape must be positive, found {}", kCall, fmt::join(shape, " x ")));
  if (names.empty()) return;
  if (std::set<std::string>(names.begin(), names.end()).size() != names.size()) {
    throw ValueError(
        fmt::format("{}: Each mesh_dim_name must be unique. Found repeated mesh_dim_name in mesh_dim_names {}", kCall,
                    text_of(names)));
  }
  if (names.size() != shape.size()) {
    throw ValueError(
        fmt::format("{}: mesh_shape and mesh_dim_names should have same length! Found len(mesh_dim_names): {} and "
                    "len(mesh_shape): {}",
                    kCall, names.size(), shape.size()));
  }
}

/// Ranks of a mesh; more than `most` are as good as one more.
std::int64_t ranks_of(const std::vector<int>& shape, std::int64_t most) {
  std::int64_t ranks = 1;
  for (const int size : shape) ranks = std::min(ranks * size, most + 1);
  return ranks;
}

}  // namespace

DeviceMesh init_device_mesh(std::string_view device_type, const std::vector<int>& mesh_shape,
                            const std::vector<std::string>& mesh_dim_names, Where where) {
  constexpr const char* kCall = "init_device_mesh";
  const tensor::HostCall here(kCall, where);
  if (device_type != "ahbm")
    throw ValueError(
        fmt::format("{}: the devices of this machine are of type \"ahbm\", not \"{}\"", kCall, device_type));
  check_shape(mesh_shape, mesh_dim_names);
  const bool is_first = !is_initialized();
  if (is_first) init_process_group({}, -1, -1, {}, where);
  const int world = get_world_size();
  if (is_first && world <= torch::ahbm::device_count()) torch::ahbm::set_device(get_rank());
  if (ranks_of(mesh_shape, world) > world) {
    throw ValueError(fmt::format("{}: Mesh should not be bigger than default world size {}, but found {} ranks!", kCall,
                                 world, fmt::join(mesh_shape, " x ")));
  }
  const auto whole = std::make_shared<WholeMesh>(WholeMesh{mesh_shape, mesh_dim_names});
  Dimensions all(mesh_shape.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  for (const std::size_t dimension : all)
    whole->groups.push_back(group_among(sets_along(mesh_shape, {dimension}), world, where));
  return DeviceMesh(part_of(whole, all));
}

int DeviceMesh::ndim() const {
  return static_cast<int>(state_->shape.size());
}
const std::vector<int>& DeviceMesh::shape() const {
  return state_->shape;
}
const std::vector<std::string>& DeviceMesh::mesh_dim_names() const {
  return state_->names;
}
const std::vector<int>& DeviceMesh::mesh() const {
  return state_->ranks;
}
int DeviceMesh::size() const {
  return product(state_->shape);
}
int DeviceMesh::size(const Dimension& mesh_dim, Where where) const {
  const tensor::HostCall here("DeviceMesh::size", where);
  return state_->shape[index_of("DeviceMesh::size", *state_, mesh_dim)];
}
int DeviceMesh::get_rank(Where where) const {
  return torch::distributed::get_rank({}, where);
}

int DeviceMesh::get_local_rank(const std::optional<Dimension>& mesh_dim, Where where) const {
  constexpr const char* kCall = "DeviceMesh::get_local_rank";
  const tensor::HostCall here(kCall, where);
  const std::size_t dimension = index_of(kCall, *state_, mesh_dim);
  if (state_->coordinate) return (*state_->coordinate)[dimension];
  throw ProgramError("RuntimeError", fmt::format("{}: rank {} is not in the mesh of {}", kCall, get_rank(where),
                                                 fmt::join(state_->whole->shape, " x ")));
}

const std::optional<std::vector<int>>& DeviceMesh::get_coordinate() const {
  return state_->coordinate;
}

ProcessGroup DeviceMesh::get_group(const std::optional<Dimension>& mesh_dim, Where where) const {
  const tensor::HostCall here("DeviceMesh::get_group", where);
  return state_->groups[index_of("DeviceMesh::get_group", *state_, mesh_dim)];
}
std::vector<ProcessGroup> DeviceMesh::get_all_groups(Where where) const {
  const tensor::HostCall here("DeviceMesh::get_all_groups", where);
  return state_->groups;
}

DeviceMesh DeviceMesh::operator[](const Names& mesh_dim_names) const {
  constexpr const char* kCall = "DeviceMesh::operator[]";
  const tensor::HostCall here(kCall, mesh_dim_names.where());
  const auto& names = mesh_dim_names.list();
  if (state_->names.empty())
    throw ProgramError("RuntimeError", fmt::format("{}: Cannot slice a DeviceMesh without mesh_dim_names!", kCall));
  if (names.empty()) throw ProgramError("KeyError", fmt::format("{}: no mesh_dim_names are given", kCall));
  if (names == state_->names) return *this;
  if (names.size() == 1 && state_->whole->flattened.contains(names.front()))
    return flat_mesh(state_->whole, names.front());
  std::vector<std::size_t> indices;
  for (const std::string& name : names) indices.push_back(index_of(kCall, *state_, Dimension(name)));
  if (std::ranges::adjacent_find(indices, std::greater_equal<>()) != indices.end()) {
    throw ProgramError(
        "KeyError", fmt::format("{}: Invalid mesh_dim_names {} specified: they should be in the order of the mesh, {}",
                                kCall, text_of(names), text_of(state_->names)));
  }
  Dimensions dimensions;
  for (const std::size_t index : indices) dimensions.push_back(state_->dimensions[index]);
  return DeviceMesh(part_of(state_->whole, dimensions));
}

DeviceMesh DeviceMesh::_flatten(const std::string& mesh_dim_name, Where where) const {
  constexpr const char* kCall = "DeviceMesh::_flatten";
  const tensor::HostCall here(kCall, where);
  if (state_->names.empty())
    throw ProgramError("RuntimeError", fmt::format("{}: Cannot flatten a DeviceMesh without mesh_dim_names!", kCall));
  const std::string name = mesh_dim_name.empty() ? fmt::format("{}", fmt::join(state_->names, "_")) : mesh_dim_name;
  WholeMesh& whole = *state_->whole;
  if (ndim() == 1 && state_->names.front() == name) return *this;
  const auto made = whole.flattened.find(name);
  const bool same = made != whole.flattened.end() && made->second.dimensions == state_->dimensions;
  if ((made != whole.flattened.end() && !same) || std::ranges::find(whole.names, name) != whole.names.end()) {
    throw ProgramError("RuntimeError", fmt::format("{}: {} already exists for submesh of the DeviceMesh of {}. Please "
                                                   "specify another valid mesh_dim_name",
                                                   kCall, name, fmt::join(whole.shape, " x ")));
  }
  if (!same) {
    const auto sets = sets_along(whole.shape, state_->dimensions);
    whole.flattened[name] = {state_->dimensions, group_among(sets, get_world_size(), where)};
  }
  return flat_mesh(state_->whole, name);
}

}  // namespace kernbench::torch::distributed
