#include "base/part.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace kernbench {
namespace {

struct Form {
  PartScope scope;
  std::string_view local;  // the number in place of '*'
};

/// By PartKind.
constexpr std::array<Form, kPartKindCount> kForms{{
    {PartScope::machine, ""},
    {PartScope::machine, "host.to_sip*"},
    {PartScope::machine, "switch.to_sip*"},
    {PartScope::sip, "io.to_sip*"},
    {PartScope::sip, "io.to_switch"},
    {PartScope::sip, "io.to_host"},
    {PartScope::sip, "io.to_mesh"},
    {PartScope::sip, "io.from_mesh"},
    {PartScope::sip, "io.row*.to_mesh"},
    {PartScope::sip, "io.row*.from_mesh"},
    {PartScope::cube, "m_cpu.inject"},
    {PartScope::cube, "m_cpu.eject"},
    {PartScope::cube, "sram.out"},
    {PartScope::cube, "sram.in"},
    {PartScope::pe, "sram.out"},
    {PartScope::pe, "sram.in"},
    {PartScope::pe, "inject"},
    {PartScope::pe, "eject"},
    {PartScope::pe, "hbm.out"},
    {PartScope::pe, "hbm.in"},
    {PartScope::pe, "router.east"},
    {PartScope::pe, "router.west"},
    {PartScope::pe, "router.north"},
    {PartScope::pe, "router.south"},
    {PartScope::pe, "hbm.channel*"},
    {PartScope::pe, "tcm.dma"},
    {PartScope::cube, "sram"},
    {PartScope::pe, "dma.queue*"},
    {PartScope::pe, "gemm"},
    {PartScope::pe, "vector"},
    {PartScope::pe, "ipcq.send*"},
    {PartScope::pe, "ipcq.receive*"},
    {PartScope::pe, "ipcq.window"},
    {PartScope::sip, "io.cpu"},
    {PartScope::sip, "io.counter"},
    {PartScope::cube, "m_cpu"},
    {PartScope::cube, "m_cpu.counter"},
    {PartScope::pe, "control"},
    {PartScope::pe, "control.context*"},
}};

const Form& form_of(PartKind kind) {
  return kForms[static_cast<std::size_t>(kind)];
}

constexpr std::string_view kPrefix = "sip*.cube*.pe*.";

/// That of all parts of a scope.
std::string_view prefix_of(PartScope scope) {
  constexpr std::array<std::size_t, 4> kLengths{0, 5, 11, kPrefix.size()};
  return kPrefix.substr(0, kLengths[static_cast<std::size_t>(scope)]);
}

/// Takes what `pattern` stands for from the front of `name`.
bool take(std::string_view pattern, std::string_view& name) {
  for (const char expected : pattern) {
    if (name.empty()) return false;
    if (expected != '*') {
      if (name.front() != expected) return false;
      name.remove_prefix(1);
    } else if (name.front() == '*') {
      name.remove_prefix(1);
    } else {
      const std::size_t length = std::min(name.find_first_not_of("0123456789"), name.size());
      if (length == 0) return false;
      name.remove_prefix(length);
    }
  }
  return true;
}

std::string prefix_text(const PartId& part) {
  switch (scope_of(part.kind)) {
    case PartScope::machine:
      break;
    case PartScope::sip:
      return to_text(part.at.sip) + ".";
    case PartScope::cube:
      return to_text(CubeCoordinate{part.at.sip, part.at.cube}) + ".";
    case PartScope::pe:
      return to_text(part.at) + ".";
  }
  return {};
}

/// Of what the part belongs to; empty for the machine.
Name owner_name(const PartId& part) {
  switch (scope_of(part.kind)) {
    case PartScope::machine:
      break;
    case PartScope::sip:
      return to_name(part.at.sip);
    case PartScope::cube:
      return to_name(CubeCoordinate{part.at.sip, part.at.cube});
    case PartScope::pe:
      return to_name(part.at);
  }
  return {};
}

}  // namespace

PartScope scope_of(PartKind kind) {
  return form_of(kind).scope;
}

std::string local_name(const PartId& part) {
  std::string name(form_of(part.kind).local);
  if (const std::size_t star = name.find('*'); star != std::string::npos) {
    name.replace(star, 1, std::to_string(part.index));
  }
  return name;
}

std::string_view local_name(PartKind kind) {
  return form_of(kind).local;
}

std::string to_text(const PartId& part) {
  return prefix_text(part) + local_name(part);
}

Name to_name(const PartId& part) {
  Name name = owner_name(part);
  if (!name.empty()) name += ".";
  const std::string_view local = form_of(part.kind).local;
  const std::size_t star = local.find('*');
  if (star == std::string_view::npos) return name + local;
  return name + local.substr(0, star) + Name::slot(SlotKind::part, part.index) + local.substr(star + 1);
}

std::string to_text(PartKind kind) {
  const Form& form = form_of(kind);
  return std::string(prefix_of(form.scope)) + std::string(form.local);
}

std::optional<PartKind> part_kind(std::string_view name) {
  // The longest prefix that fits: no part of a SIP has a name that begins like a cube.
  PartScope scope = PartScope::machine;
  std::string_view local = name;
  for (const PartScope next : {PartScope::sip, PartScope::cube, PartScope::pe}) {
    std::string_view rest = name;
    if (!take(prefix_of(next), rest)) break;
    scope = next;
    local = rest;
  }
  for (std::size_t kind = 1; kind < kForms.size(); ++kind) {
    std::string_view rest = local;
    if (kForms[kind].scope == scope && take(kForms[kind].local, rest) && rest.empty()) {
      return static_cast<PartKind>(kind);
    }
  }
  return std::nullopt;
}

}  // namespace kernbench
