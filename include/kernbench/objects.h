// Collectives of host objects: torch.distributed's all_gather_object and its kin. An object is its bytes; a program
// writes and reads its own, as pickle does in Python.
//
// The bytes are real whether or not the values of tensors are computed (--no-data), and what they cost is what it costs
// in PyTorch: sizes and bytes go to the device, through collectives of tensors, and back. Every rank of the group calls
// them, and they return when the objects are there; of send_object_list and recv_object_list two ranks do.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernbench/distributed.h"

namespace kernbench::torch::distributed {

/// object_list[r] := the object of rank r. ValueError unless the list has an entry for each rank.
void all_gather_object(std::vector<std::string>& object_list, const std::string& object, const ProcessGroup& group = {},
                       Where where = Where::current());
/// The root's (*object_gather_list)[r] := the object of rank r. Others give no list.
void gather_object(const std::string& object, std::vector<std::string>* object_gather_list = nullptr,
                   std::optional<int> dst = {}, const ProcessGroup& group = {}, std::optional<int> group_dst = {},
                   Where where = Where::current());
/// object_list := that of the root, with as many objects on all ranks.
void broadcast_object_list(std::vector<std::string>& object_list, std::optional<int> src = {},
                           const ProcessGroup& group = {}, std::optional<int> group_src = {},
                           Where where = Where::current());
/// scatter_object_output_list[0] := scatter_object_input_list[r] of the root on rank r. Others' input list does not
/// matter. ValueError for an output list without an entry.
void scatter_object_list(std::vector<std::string>& scatter_object_output_list,
                         const std::vector<std::string>& scatter_object_input_list = {}, std::optional<int> src = {},
                         const ProcessGroup& group = {}, std::optional<int> group_src = {},
                         Where where = Where::current());

/// Sends the objects to a rank, which receives as many. Like isend it does not wait for it.
void send_object_list(const std::vector<std::string>& object_list, std::optional<int> dst = {},
                      const ProcessGroup& group = {}, std::optional<int> group_dst = {},
                      Where where = Where::current());
/// object_list := that of a rank's send, without `src` that of the rank that has called it first. Returns the rank, and
/// -1 for a rank that is not a member.
int recv_object_list(std::vector<std::string>& object_list, std::optional<int> src = {}, const ProcessGroup& group = {},
                     std::optional<int> group_src = {}, Where where = Where::current());

}  // namespace kernbench::torch::distributed
