#include "fake_context.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "addressing/locate.h"
#include "kernbench/error.h"
#include "tensor/host_call.h"

namespace kernbench::tensor {

namespace {

FakeContext* current = nullptr;

topology::Topology machine() {
  topology::Topology topology;
  topology.system.sips = 2;
  topology.sip.cubes = {2, 1};
  topology.cube.pes = {2, 1};
  topology.cube.hbm.capacity = Bytes(2 << 20);
  topology.pe.mmu.page = Bytes(4096);
  return topology;
}

class FakeStorage final : public DeviceStorage {
 public:
  explicit FakeStorage(std::shared_ptr<const DeviceAllocation> allocation) : allocation_(std::move(allocation)) {}
  const std::shared_ptr<const addressing::TensorDescriptor>& descriptor() const override {
    return allocation_->descriptor();
  }

 private:
  std::shared_ptr<const DeviceAllocation> allocation_;
};

}  // namespace

FakeDevices::FakeDevices() : memory_(std::make_unique<DeviceMemory>(machine(), addresses_)) {}

std::shared_ptr<DeviceStorage> FakeDevices::allocate(std::string name, std::span<const std::int64_t> sizes, DType dtype,
                                                     int device_index, const DPPolicy& policy) {
  if (name.empty()) name = "tensor#" + std::to_string(next_name_++);
  return std::make_shared<FakeStorage>(memory_->allocate(SipId{device_index}, std::move(name), dtype, sizes, policy));
}

std::byte* FakeDevices::bytes(PeCoordinate slice, std::uint64_t address) {
  auto& contents = slices_[slice];
  contents.resize(static_cast<std::size_t>(memory_->slice_capacity().count()), std::byte{0xAA});
  return contents.data() + address;
}

void FakeDevices::write_box(const addressing::TensorDescriptor& tensor, const DeviceBox& box,
                            const HostBytes& content) {
  for (const auto& piece : addressing::locate_all_copies(tensor, box.offset, box.shape)) {
    for (std::int64_t row = 0; row < piece.rows; ++row) {
      const auto at = addresses_.translate(piece.slice, piece.va + static_cast<std::uint64_t>(row * piece.stride),
                                           Bytes(piece.row_bytes));
      std::memcpy(bytes(at.slice, at.address), content.data() + piece.box_offset + row * piece.box_stride,
                  static_cast<std::size_t>(piece.row_bytes));
    }
  }
}

void FakeDevices::initialise(const std::shared_ptr<DeviceStorage>& storage, const ElementSource& source) {
  ++initialisations;
  if (!data) return;
  const auto& tensor = *storage->descriptor();
  HostBytes content(tensor.numel() * item_size(tensor.dtype));
  source(0, tensor.numel(), content.data());
  write_box(tensor, {.offset = std::vector<std::int64_t>(tensor.shape.size(), 0), .shape = tensor.shape}, content);
}

void FakeDevices::fill(const std::shared_ptr<DeviceStorage>& storage, std::span<const DeviceBox> boxes,
                       std::span<const std::byte> element) {
  ++fills;
  for (const DeviceBox& box : boxes) {
    HostBytes content(box.numel() * static_cast<std::int64_t>(element.size()));
    for (std::int64_t i = 0; i < box.numel(); ++i)
      std::ranges::copy(element, content.data() + i * static_cast<std::int64_t>(element.size()));
    write_box(*storage->descriptor(), box, content);
  }
}

void FakeDevices::write(const std::shared_ptr<DeviceStorage>& storage, std::span<const DeviceBox> boxes,
                        std::vector<HostBytes> contents) {
  ++writes;
  if (boxes.size() != contents.size()) throw std::logic_error("each box needs its contents");
  if (!data) {
    if (std::ranges::any_of(contents, [](const HostBytes& content) { return !content.empty(); }))
      throw std::logic_error("bytes were gathered that nobody needs");
    return;
  }
  for (std::size_t i = 0; i < boxes.size(); ++i) write_box(*storage->descriptor(), boxes[i], contents[i]);
}

std::optional<std::vector<HostBytes>> FakeDevices::try_read(const std::shared_ptr<DeviceStorage>& storage,
                                                            std::span<const DeviceBox> boxes, HostRead why) {
  reads.push_back(why);
  elements_read.push_back(0);
  std::vector<HostBytes> contents;
  for (const DeviceBox& box : boxes) {
    elements_read.back() += box.numel();
    HostBytes& content = contents.emplace_back(box.numel() * item_size(storage->descriptor()->dtype));
    for (const auto& piece : addressing::locate_box(*storage->descriptor(), box.offset, box.shape)) {
      for (std::int64_t row = 0; row < piece.rows; ++row) {
        const auto at = addresses_.translate(piece.slice, piece.va + static_cast<std::uint64_t>(row * piece.stride),
                                             Bytes(piece.row_bytes));
        std::memcpy(content.data() + piece.box_offset + row * piece.box_stride, bytes(at.slice, at.address),
                    static_cast<std::size_t>(piece.row_bytes));
      }
    }
  }
  if (!data) return std::nullopt;
  return contents;
}

FakeContext::FakeContext() {
  current = this;
}
FakeContext::~FakeContext() {
  current = nullptr;
}

// No fiber is in any call.
HostCall::HostCall(const char* /*name*/, const Where& /*where*/) {}
HostCall::~HostCall() = default;

void require_host_context(const char* call) {
  if (current == nullptr) throw ProgramError("ProgramError", std::string(call) + " outside of kernbench::simulate");
}
DeviceBackend& current_backend(const char* call) {
  require_host_context(call);
  return current->devices;
}
Generator& current_generator() {
  return current->generator;
}

}  // namespace kernbench::tensor
