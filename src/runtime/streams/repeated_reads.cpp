#include "runtime/streams/repeated_reads.h"

namespace kernbench::runtime {

namespace {

// More than a program reads a value that it knows: a product of matrices, computed by items, reads each as often as
// the matrix is wide.
constexpr std::uint32_t kReadsOfOne = 1'000;
// A loop that reads more things than these is not found; it must not cost memory either.
constexpr std::size_t kMostReads = 4'096;

}  // namespace

bool RepeatedReads::note(const std::string& tensor, std::span<const tensor::DeviceBox> boxes) {
  Read read{tensor, {}};
  for (const tensor::DeviceBox& box : boxes) {
    read.second.insert(read.second.end(), box.offset.begin(), box.offset.end());
    read.second.insert(read.second.end(), box.shape.begin(), box.shape.end());
  }
  if (counts_.size() >= kMostReads && !counts_.contains(read)) counts_.clear();
  return ++counts_[std::move(read)] > kReadsOfOne;
}

}  // namespace kernbench::runtime
