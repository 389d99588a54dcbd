#include "tile/explain/text_store.h"

#include <array>

#include "tile/explain/activity.h"

namespace kernbench::tile {
namespace {

std::size_t mixed(std::size_t seed, std::size_t value) {
  return (seed ^ value) * 0x9e3779b97f4a7c15ULL;
}

std::size_t folded(std::size_t hash) {
  return hash ^ (hash >> 32);
}

}  // namespace

std::string_view text_of(PartKind kind) {
  static const auto texts = [] {
    std::array<std::string, kPartKindCount> all;
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = to_text(static_cast<PartKind>(i));
    return all;
  }();
  return texts[static_cast<std::size_t>(kind)];
}

std::size_t TextStore::Hash::operator()(const Place& place) const {
  return folded(mixed(reinterpret_cast<std::uintptr_t>(place.file), place.line));
}

std::size_t TextStore::Hash::operator()(const PartId& part) const {
  const auto number = [](auto id) { return static_cast<std::uint32_t>(id); };
  const std::size_t sip_and_kind = (std::size_t{number(part.at.sip.value)} << 8) | number(part.kind);
  const std::size_t within = (std::size_t{number(part.at.cube.value)} << 32) | number(part.at.pe.value);
  return folded(mixed(mixed(mixed(0, sip_and_kind), within), number(part.index)));
}

std::string_view TextStore::place(const char* file, std::uint32_t line) {
  if (*file == '\0') return {};
  std::string& text = places_[{file, line}];
  if (text.empty()) text = tile::place(file, line);
  return text;
}

std::string_view TextStore::part(const PartId& part) {
  if (!part.known()) return {};
  std::string& text = parts_[part];
  if (text.empty()) text = to_text(part);
  return text;
}

}  // namespace kernbench::tile
