#include "base/name.h"

#include <algorithm>

namespace kernbench {
namespace {

constexpr std::string_view kPossessive = "'s ";

/// What belongs to a slot besides its value.
constexpr std::string_view prefix_of(SlotKind kind) {
  switch (kind) {
    case SlotKind::rank:
      return "rank ";
    case SlotKind::operation:
      return "#";
    case SlotKind::part:
    case SlotKind::path:
      break;
  }
  return {};
}

}  // namespace

void Name::append_slot(SlotKind kind, std::string_view before, std::int64_t number) {
  text_ += before;
  const std::size_t begin = text_.size();
  text_.append(prefix_of(kind)).append(std::to_string(number));
  slots_.push_back({kind, begin, text_.size(), number});
}

void Name::append_pe(PeCoordinate pe) {
  append_slot(SlotKind::part, "sip", pe.sip.value);
  append_slot(SlotKind::part, ".cube", pe.cube.value);
  append_slot(SlotKind::part, ".pe", pe.pe.value);
  lead_ = Lead::pe;
  lead_end_ = text_.size();
}

Name Name::slot(SlotKind kind, std::int64_t number) {
  Name name;
  name.append_slot(kind, "", number);
  return name;
}

Name Name::rank(std::string_view path) {
  Name name;
  name.text_.append(prefix_of(SlotKind::rank)).append(path);
  name.slots_.push_back({SlotKind::rank, 0, name.text_.size()});
  return name;
}

Name Name::path(std::string_view path) {
  Name name(path);
  name.slots_.push_back({SlotKind::path, 0, path.size()});
  return name;
}

Name Name::program(PeCoordinate pe, const Name& what) {
  Name name;
  name.slots_.reserve(3 + what.slots_.size());
  name.append_pe(pe);
  const std::size_t end = name.lead_end_;
  (name += " ") += what;
  name.lead_ = Lead::pe;
  name.lead_end_ = end;
  return name;
}

Name Name::owned(const Name& owner, const Name& what) {
  Name name = owner + kPossessive + what;
  name.lead_ = Lead::owner;
  name.lead_end_ = owner.text_.size();
  return name;
}

std::string_view Name::value(const Slot& slot) const {
  const std::size_t begin = slot.begin + prefix_of(slot.kind).size();
  return std::string_view(text_).substr(begin, slot.end - begin);
}

Name Name::seen_by(const Name& owner) const {
  if (lead_ != Lead::owner || std::string_view(text_).substr(0, lead_end_) != owner.text_) return *this;
  return "its " + part(lead_end_ + kPossessive.size(), text_.size());
}

Name Name::part(std::size_t begin, std::size_t end) const {
  Name part(std::string_view(text_).substr(begin, end - begin));
  for (const Slot& slot : slots_) {
    if (slot.begin < begin || slot.end > end) continue;
    part.slots_.push_back({slot.kind, slot.begin - begin, slot.end - begin, slot.number});
  }
  return part;
}

// What is put behind a PE is no program on it, unless program() says so.
Name& Name::operator+=(const Name& more) {
  if (more.empty()) return *this;
  const std::size_t before = text_.size();
  if (before == 0) {
    lead_ = more.lead_;
    lead_end_ = more.lead_end_;
  } else if (lead_ == Lead::pe) {
    lead_ = Lead::none;
  }
  text_ += more.text_;
  for (const Slot& slot : more.slots_) {
    slots_.push_back({slot.kind, before + slot.begin, before + slot.end, slot.number});
  }
  return *this;
}

Name to_name(SipId sip) {
  return "sip" + Name::slot(SlotKind::part, sip.value);
}

Name to_name(CubeCoordinate cube) {
  return named("sip{}.cube{}", Name::slot(SlotKind::part, cube.sip.value), Name::slot(SlotKind::part, cube.cube.value));
}

Name to_name(PeCoordinate pe) {
  Name name;
  name.slots_.reserve(3);
  name.append_pe(pe);
  return name;
}

Name join(const std::vector<Name>& names, std::string_view separator) {
  Name all;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) all += separator;
    all += names[i];
  }
  return all;
}

Name detail::fill(std::string_view pattern, std::initializer_list<Name> names) {
  Name all;
  for (const Name& name : names) {
    const std::size_t hole = pattern.find("{}");
    all += pattern.substr(0, hole);
    all += name;
    pattern.remove_prefix(hole + 2);
  }
  all += pattern;
  return all;
}

}  // namespace kernbench
