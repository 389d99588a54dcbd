// Texts that explanations show again and again, each made once.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/part.h"

namespace kernbench::tile {

/// The order of two texts, found at once where they are the same one.
inline std::strong_ordering order_of_texts(std::string_view a, std::string_view b) {
  if (a.data() == b.data() && a.size() == b.size()) return std::strong_ordering::equal;
  return a <=> b;
}

/// "sip*.cube*.pe*.dma.queue*", made once for all runs.
std::string_view text_of(PartKind kind);

/// The texts live as long as the store.
class TextStore {
 public:
  /// "gemm.cpp:41"; empty for an empty file. The file's name is known by its address.
  std::string_view place(const char* file, std::uint32_t line);
  /// "sip0.cube2.pe5.dma.queue1"; empty where the part is not known.
  std::string_view part(const PartId& part);

 private:
  struct Place {
    const char* file = "";
    std::uint32_t line = 0;
    bool operator==(const Place&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Place& place) const;
    std::size_t operator()(const PartId& part) const;
  };
  std::unordered_map<Place, std::string, Hash> places_;
  std::unordered_map<PartId, std::string, Hash> parts_;
};

}  // namespace kernbench::tile
