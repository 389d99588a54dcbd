#include "cli/build_id.h"

#include <elf.h>
#include <fmt/format.h>
#include <link.h>

#include <cstddef>
#include <cstring>
#include <string_view>

namespace kernbench::cli {
namespace {

constexpr std::size_t aligned(std::size_t size) {
  return (size + 3) / 4 * 4;
}

// The build id among the notes of a segment; empty when it is not there.
std::string_view id_among(std::string_view notes) {
  while (notes.size() >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes.data(), sizeof(note));
    const std::size_t name = sizeof(note), id = name + aligned(note.n_namesz), end = id + aligned(note.n_descsz);
    if (end > notes.size()) return {};
    if (note.n_type == NT_GNU_BUILD_ID && notes.substr(name).starts_with(ELF_NOTE_GNU)) {
      return notes.substr(id, note.n_descsz);
    }
    notes.remove_prefix(end);
  }
  return {};
}

// Called for each object of the process; the first is the program itself.
int take_id(dl_phdr_info* object, std::size_t, void* out) {
  for (std::size_t i = 0; i < object->dlpi_phnum; ++i) {
    const auto& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the loader gives addresses as integers
    const auto* begin = reinterpret_cast<const char*>(object->dlpi_addr + segment.p_vaddr);
    for (const char byte : id_among({begin, segment.p_memsz})) {
      *static_cast<std::string*>(out) += fmt::format("{:02x}", static_cast<unsigned char>(byte));
    }
  }
  return 1;
}

}  // namespace

std::string build_id() {
  std::string id;
  ::dl_iterate_phdr(take_id, &id);
  return id;
}

}  // namespace kernbench::cli
