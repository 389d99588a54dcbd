// torch.distributed's device meshes: the ranks as an array of several named dimensions, and a group along each. Not
// part of kernbench/kernbench.h.
#pragma once

#include <concepts>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernbench/distributed.h"

namespace kernbench::distributed {
struct MeshState;
}

namespace kernbench::torch::distributed {

/// A mesh as the calling rank sees it: of a mesh of some dimensions, and of a part of it, those ranks that differ from
/// the calling one in its dimensions only. Copies are the same mesh.
class DeviceMesh {
 public:
  /// Which dimension: its number or its name.
  class Dimension {
   public:
    Dimension(int number) : number_(number) {}  // NOLINT(google-explicit-constructor)
    template <std::convertible_to<std::string_view> Text>
    Dimension(const Text& name) : name_(std::string_view(name)) {}  // NOLINT(google-explicit-constructor)
    const std::optional<int>& number() const { return number_; }
    const std::string& name() const { return name_; }

   private:
    std::optional<int> number_ = {};
    std::string name_ = {};
  };

  /// Names of dimensions, and the line that gives them.
  class Names {
   public:
    template <std::convertible_to<std::string_view> Text>
    Names(const Text& name, Where where = Where::current())  // NOLINT(google-explicit-constructor)
        : list_{std::string(std::string_view(name))}, where_(where) {}
    Names(std::initializer_list<std::string_view> names, Where where = Where::current())
        : list_(names.begin(), names.end()), where_(where) {}
    const std::vector<std::string>& list() const { return list_; }
    const Where& where() const { return where_; }

   private:
    std::vector<std::string> list_;
    Where where_;
  };

  int ndim() const;
  /// Sizes of the dimensions.
  const std::vector<int>& shape() const;
  /// Empty, if they have none.
  const std::vector<std::string>& mesh_dim_names() const;
  /// Global ranks, the last dimension running fastest. Of a part: those of the calling rank's; none, if that is not in
  /// the mesh.
  const std::vector<int>& mesh() const;

  /// Ranks of the mesh, or along one of its dimensions.
  int size() const;
  int size(const Dimension& mesh_dim, Where where = Where::current()) const;
  /// Of the calling rank in the default group.
  int get_rank(Where where = Where::current()) const;
  /// Of the calling rank along a dimension; without one, of a mesh that has only one. ProgramError for another one, and
  /// for a rank that is not in the mesh.
  int get_local_rank(const std::optional<Dimension>& mesh_dim = {}, Where where = Where::current()) const;
  /// Nothing for a rank that is not in the mesh.
  const std::optional<std::vector<int>>& get_coordinate() const;
  /// The group of the ranks that differ from the calling one in this dimension only; without one, of a mesh that has
  /// only one. A rank that is not in the mesh gets a group of which it is no member.
  ProcessGroup get_group(const std::optional<Dimension>& mesh_dim = {}, Where where = Where::current()) const;
  /// One for each dimension.
  std::vector<ProcessGroup> get_all_groups(Where where = Where::current()) const;

  /// The part of these dimensions, mesh["tp"] or mesh[{"dp", "tp"}]; nothing is communicated. ProgramError ("KeyError")
  /// for a name that is not there, and for another order than the mesh's. A name that _flatten() has given is one, too.
  DeviceMesh operator[](const Names& mesh_dim_names) const;
  /// One dimension in place of all of these, with a group of its own; without a name that of all of them, "dp_cp".
  /// Every rank of the default group calls it.
  DeviceMesh _flatten(const std::string& mesh_dim_name = {}, Where where = Where::current()) const;

  /// For the library's own use.
  explicit DeviceMesh(std::shared_ptr<const kernbench::distributed::MeshState> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<const kernbench::distributed::MeshState> state_;
};

/// A mesh of the ranks 0, 1, … in rows of the last dimension, with a group along each line of it. Every rank of the
/// default group calls it, with the same arguments; a rank of spawn() that has no default group makes it, and
/// takes the device of its number, as in PyTorch. ValueError for a type other than "ahbm", for sizes that are not above
/// 0 or are more than ranks, and for names that are repeated or not as many as the dimensions.
DeviceMesh init_device_mesh(std::string_view device_type, const std::vector<int>& mesh_shape,
                            const std::vector<std::string>& mesh_dim_names = {}, Where where = Where::current());

}  // namespace kernbench::torch::distributed
