// The place in a kernel where an exception escaped that does not name one itself.
#pragma once

#include <exception>
#include <string>
#include <utility>
#include <vector>

namespace kernbench::tile {

/// The exceptions that have escaped programs, by identity: a user's exception travels as it is, and its place beside
/// it.
class FailurePlaces {
 public:
  void note(std::exception_ptr error, std::string place) { noted_.emplace_back(std::move(error), std::move(place)); }
  /// "kernel gemm#0 on sip0.cube0.pe0 (program 0), at or after bench.cpp:41"; empty for an error that is not noted.
  std::string find(const std::exception_ptr& error) const {
    for (const auto& [noted, place] : noted_) {
      if (noted == error) return place;
    }
    return {};
  }

 private:
  std::vector<std::pair<std::exception_ptr, std::string>> noted_;
};

}  // namespace kernbench::tile
