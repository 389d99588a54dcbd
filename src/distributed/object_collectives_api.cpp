// Collectives of host objects.
//
// As in PyTorch, sizes go first and then the bytes, padded to the longest: each a copy to the device, a collective and
// a copy back. The bytes that a rank gets are those of the device where values are computed; else those that the others
// have given to the group's ObjectExchange, which a finished collective proves to be there.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "distributed/argument_checks.h"
#include "distributed/group.h"
#include "distributed/object_sends.h"
#include "kernbench/error.h"
#include "kernbench/objects.h"
#include "kernbench/streams.h"
#include "kernbench/torch.h"
#include "runtime/simulation.h"
#include "tensor/host_call.h"

namespace kernbench::torch::distributed {

using namespace kernbench::distributed;

namespace {

using Strings = std::vector<std::string>;
using Sizes = std::vector<std::int64_t>;

Sizes sizes_of_all(const Strings& objects) {
  Sizes sizes;
  for (const auto& each : objects) sizes.push_back(std::ssize(each));
  return sizes;
}

std::string joined(const Strings& objects) {
  std::string all;
  for (const auto& each : objects) all += each;
  return all;
}

Tensor host_sizes(const Sizes& sizes) {
  const auto tensor = torch::empty({static_cast<std::int64_t>(sizes.size())}, torch::kLong);
  std::ranges::copy(sizes, tensor.data_ptr<std::int64_t>());
  return tensor;
}

/// The bytes, and zeros up to `length`.
Tensor host_bytes(const std::string& bytes, std::int64_t length) {
  const auto tensor = torch::zeros({length}, torch::kByte);
  std::ranges::copy(bytes, tensor.data_ptr<std::uint8_t>());
  return tensor;
}
std::string text_of(const Tensor& host, std::int64_t begin, std::int64_t length) {
  const auto* const data = host.data_ptr<std::uint8_t>() + begin;
  return {data, data + length};
}

/// One call of a member: what it gives, until it has what it gets.
class ObjectCall {
 public:
  ObjectCall(GroupHandle& handle, ProcessGroup of, Strings objects)
      : group(std::move(of)), handle_(handle), number_(handle.object_collectives++) {
    handle.group->objects().give(number_, handle.member, std::move(objects));
  }
  ~ObjectCall() { handle_.group->objects().leave(number_); }
  ObjectCall(const ObjectCall&) = delete;
  ObjectCall& operator=(const ObjectCall&) = delete;

  int size() const { return handle_.group->size(); }
  int member() const { return handle_.member; }
  /// Of a member with which a collective of this call has finished.
  const Strings& of(int member) const { return handle_.group->objects().of(number_, member); }
  Sizes sizes_of(int member) const { return sizes_of_all(of(member)); }

  const ProcessGroup group;

 private:
  GroupHandle& handle_;
  std::uint64_t number_;
};

Tensor on_device(const Tensor& host) {
  return host.to("ahbm");
}

/// The size of each member's first object, known on all of them.
Sizes gathered_sizes(const ObjectCall& call) {
  const auto all = torch::empty({call.size()}, torch::dtype(torch::kLong).device("ahbm"));
  all_gather_into_tensor(all, on_device(host_sizes({call.sizes_of(call.member()).front()})), call.group);
  // The copy back costs its time; what it waits for are all members' calls.
  torch::ahbm::synchronize();
  Sizes sizes;
  for (int member = 0; member < call.size(); ++member) sizes.push_back(call.sizes_of(member).front());
  const auto host = all.cpu_or(host_sizes(sizes));
  std::copy_n(host.data_ptr<std::int64_t>(), sizes.size(), sizes.begin());
  return sizes;
}

/// Each member's bytes from rows of `length` on the device.
Strings rows_of(const ObjectCall& call, const Tensor& device, const Sizes& sizes, std::int64_t length) {
  std::string assumed;
  for (int member = 0; member < call.size(); ++member) {
    assumed += call.of(member).front();
    assumed.resize(static_cast<std::size_t>((member + 1) * length));
  }
  const auto host = device.cpu_or(host_bytes(assumed, std::ssize(assumed)));
  Strings objects;
  for (int member = 0; member < call.size(); ++member)
    objects.push_back(text_of(host, member * length, sizes[static_cast<std::size_t>(member)]));
  return objects;
}

}  // namespace

void all_gather_object(std::vector<std::string>& object_list, const std::string& object, const ProcessGroup& group,
                       Where where) {
  constexpr const char* kCall = "all_gather_object";
  const tensor::HostCall here(kCall, where);
  GroupHandle* handle = member_handle(group, kCall);
  if (handle == nullptr) return;
  const int ranks = handle->group->size();
  if (object_list.size() != static_cast<std::size_t>(ranks)) {
    throw ValueError(
        fmt::format("{}: Incorrect object_list size {}. The size should be {}, same as size of the process "
                    "group",
                    kCall, object_list.size(), ranks));
  }
  const ObjectCall call(*handle, group, {object});
  const Sizes sizes = gathered_sizes(call);
  const std::int64_t longest = std::ranges::max(sizes);
  const auto rows = torch::empty({ranks * longest}, torch::dtype(torch::kByte).device("ahbm"));
  all_gather_into_tensor(rows, on_device(host_bytes(object, longest)), group);
  object_list = rows_of(call, rows, sizes, longest);
}

void gather_object(const std::string& object, std::vector<std::string>* object_gather_list, std::optional<int> dst,
                   const ProcessGroup& group, std::optional<int> group_dst, Where where) {
  constexpr const char* kCall = "gather_object";
  const tensor::HostCall here(kCall, where);
  GroupHandle* handle = member_handle(group, kCall);
  if (handle == nullptr) return;
  const int root = checked_root(kCall, *handle, dst, group_dst, "dst");
  const bool is_root = root == handle->member;
  if (is_root && object_gather_list == nullptr) {
    throw ValueError(fmt::format("{}: Argument ``object_gather_list`` must be specified on destination rank.", kCall));
  }
  if (!is_root && object_gather_list != nullptr) {
    throw ValueError(
        fmt::format("{}: Argument ``object_gather_list`` must NOT be specified on non-destination ranks.", kCall));
  }
  const ObjectCall call(*handle, group, {object});
  const Sizes sizes = gathered_sizes(call);
  const std::int64_t longest = std::ranges::max(sizes);
  const auto rows = torch::empty({is_root ? call.size() * longest : 0}, torch::dtype(torch::kByte).device("ahbm"));
  std::vector<Tensor> list;
  for (int member = 0; is_root && member < call.size(); ++member)
    list.push_back(rows.narrow(0, member * longest, longest));
  gather(on_device(host_bytes(object, longest)), list, {}, group, false, root);
  if (is_root) *object_gather_list = rows_of(call, rows, sizes, longest);
}

void broadcast_object_list(std::vector<std::string>& object_list, std::optional<int> src, const ProcessGroup& group,
                           std::optional<int> group_src, Where where) {
  constexpr const char* kCall = "broadcast_object_list";
  const tensor::HostCall here(kCall, where);
  GroupHandle* handle = member_handle(group, kCall);
  if (handle == nullptr) return;
  const int root = checked_root(kCall, *handle, src, group_src, "src");
  const ObjectCall call(*handle, group, object_list);
  const auto sizes_there = on_device(host_sizes(call.sizes_of(call.member())));
  broadcast(sizes_there, {}, group, false, root);
  torch::ahbm::synchronize();
  if (object_list.empty()) return;
  const auto sizes = sizes_there.cpu_or(host_sizes(call.sizes_of(root)));
  const auto* const size = sizes.data_ptr<std::int64_t>();
  const std::string all = joined(call.of(root));
  const std::int64_t length = std::ssize(all);
  const auto bytes = on_device(host_bytes(root == call.member() ? all : std::string(), length));
  broadcast(bytes, {}, group, false, root);
  const auto host = bytes.cpu_or(host_bytes(all, length));
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < object_list.size(); ++i) {
    object_list[i] = text_of(host, begin, size[i]);
    begin += size[i];
  }
}

void scatter_object_list(std::vector<std::string>& scatter_object_output_list,
                         const std::vector<std::string>& scatter_object_input_list, std::optional<int> src,
                         const ProcessGroup& group, std::optional<int> group_src, Where where) {
  constexpr const char* kCall = "scatter_object_list";
  const tensor::HostCall here(kCall, where);
  GroupHandle* handle = member_handle(group, kCall);
  if (handle == nullptr) return;
  if (scatter_object_output_list.empty()) {
    throw ValueError(
        fmt::format("{}: Expected argument scatter_object_output_list to be a list of size at least 1.", kCall));
  }
  const int root = checked_root(kCall, *handle, src, group_src, "src"), ranks = handle->group->size();
  const bool is_root = root == handle->member;
  if (is_root && scatter_object_input_list.size() != static_cast<std::size_t>(ranks)) {
    throw ValueError(
        fmt::format("{}: Incorrect scatter_object_input_list size {}. The size should be {}, same as size "
                    "of the process group",
                    kCall, scatter_object_input_list.size(), ranks));
  }
  const ObjectCall call(*handle, group, is_root ? scatter_object_input_list : Strings());
  // The longest size, then that of each, then the bytes.
  const auto longest_there = on_device(host_sizes({is_root ? std::ranges::max(call.sizes_of(root)) : 0}));
  broadcast(longest_there, {}, group, false, root);
  torch::ahbm::synchronize();
  const Sizes sizes = call.sizes_of(root);
  const std::int64_t longest = longest_there.cpu_or(host_sizes({std::ranges::max(sizes)})).data_ptr<std::int64_t>()[0];
  std::vector<Tensor> size_list, byte_list;
  for (int member = 0; is_root && member < ranks; ++member) {
    size_list.push_back(on_device(host_sizes({sizes[static_cast<std::size_t>(member)]})));
    byte_list.push_back(on_device(host_bytes(scatter_object_input_list[static_cast<std::size_t>(member)], longest)));
  }
  const auto size = torch::empty({1}, torch::dtype(torch::kLong).device("ahbm"));
  const auto bytes = torch::empty({longest}, torch::dtype(torch::kByte).device("ahbm"));
  scatter(size, size_list, {}, group, false, root);
  scatter(bytes, byte_list, {}, group, false, root);
  const auto mine = static_cast<std::size_t>(call.member());
  const std::int64_t length = size.cpu_or(host_sizes({sizes[mine]})).data_ptr<std::int64_t>()[0];
  const auto host = bytes.cpu_or(host_bytes(call.of(root)[mine], longest));
  scatter_object_output_list.front() = text_of(host, 0, length);
}

void send_object_list(const std::vector<std::string>& object_list, std::optional<int> dst, const ProcessGroup& group,
                      std::optional<int> group_dst, Where where) {
  constexpr const char* kCall = "send_object_list";
  const tensor::HostCall here(kCall, where);
  const Peer peer{dst, group_dst};
  const auto sizes =
      send_with_objects(kCall, on_device(host_sizes(sizes_of_all(object_list))), object_list, peer, group);
  if (!sizes || object_list.empty()) return;
  const std::string all = joined(object_list);
  send_with_objects(kCall, on_device(host_bytes(all, std::ssize(all))), {}, peer, group);
}

int recv_object_list(std::vector<std::string>& object_list, std::optional<int> src, const ProcessGroup& group,
                     std::optional<int> group_src, Where where) {
  constexpr const char* kCall = "recv_object_list";
  const tensor::HostCall here(kCall, where);
  const auto sizes_there = on_device(host_sizes(Sizes(object_list.size())));
  const auto received = receive_with_objects(kCall, sizes_there, {src, group_src}, group);
  if (!received) return -1;
  if (object_list.empty()) return received->rank;
  const auto sizes = sizes_there.cpu_or(host_sizes(sizes_of_all(received->objects)));
  const std::string all = joined(received->objects);
  const auto bytes_there = on_device(host_bytes({}, std::ssize(all)));
  receive_with_objects(kCall, bytes_there, {received->rank, {}}, group);
  const auto bytes = bytes_there.cpu_or(host_bytes(all, std::ssize(all)));
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < object_list.size(); ++i) {
    const std::int64_t size = sizes.data_ptr<std::int64_t>()[i];
    object_list[i] = text_of(bytes, begin, size);
    begin += size;
  }
  return received->rank;
}

}  // namespace kernbench::torch::distributed
