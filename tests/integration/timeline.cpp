#include "timeline.h"

#include <algorithm>
#include <optional>
#include <string_view>

namespace kernbench::test {
namespace {

struct Field {
  std::uint32_t number = 0;
  std::uint64_t value = 0;  // of a number
  std::string_view bytes;   // of a text or message
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : left_(bytes) {}

  /// The next field; nothing at the end, or when what is left is no field (then broken()).
  std::optional<Field> next() {
    if (left_.empty() || broken_) return std::nullopt;
    const std::uint64_t tag = varint();
    Field field{static_cast<std::uint32_t>(tag >> 3), 0, {}};
    switch (tag & 7) {
      case 0:
        field.value = varint();
        break;
      case 1:
        field.bytes = take(8);
        break;
      case 2:
        field.bytes = take(varint());
        break;
      default:
        broken_ = true;
    }
    if (broken_) return std::nullopt;
    return field;
  }
  bool broken() const { return broken_; }

 private:
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const std::string_view byte = take(1);
      if (byte.empty()) return 0;
      value |= static_cast<std::uint64_t>(static_cast<unsigned char>(byte[0]) & 0x7f) << shift;
      if ((static_cast<unsigned char>(byte[0]) & 0x80) == 0) return value;
    }
    broken_ = true;
    return 0;
  }
  std::string_view take(std::uint64_t count) {
    if (count > left_.size()) {
      broken_ = true;
      return {};
    }
    const std::string_view taken = left_.substr(0, count);
    left_.remove_prefix(count);
    return taken;
  }

  std::string_view left_;
  bool broken_ = false;
};

class Decoder {
 public:
  Timeline decode(const std::string& bytes) {
    Reader trace(bytes);
    while (const auto field = trace.next()) {
      if (field->number == 1) packet(field->bytes);
    }
    if (trace.broken()) problem("the file is cut");
    for (auto& [id, track] : out_.tracks) track.path = path_of(id);
    return std::move(out_);
  }

 private:
  void problem(const std::string& text) { out_.problems.push_back(text); }

  void packet(std::string_view bytes) {
    std::uint64_t time = 0;
    std::string_view event, descriptor;
    bool timed = false, sequence = false;
    Reader reader(bytes);
    while (const auto field = reader.next()) {
      if (field->number == 8) time = field->value, timed = true;
      if (field->number == 10) sequence = field->value == 1;
      if (field->number == 11) event = field->bytes;
      if (field->number == 12) interned(field->bytes);
      if (field->number == 60) descriptor = field->bytes;
    }
    if (reader.broken() || !sequence) problem("a packet is broken or of no sequence");
    if (!descriptor.empty()) track(descriptor);
    if (!event.empty() && !timed) problem("an event has no time");
    if (!event.empty()) track_event(event, Time::picoseconds(static_cast<std::int64_t>(time)));
  }

  void interned(std::string_view bytes) {
    Reader reader(bytes);
    while (const auto field = reader.next()) {
      std::uint64_t number = 0;
      std::string text;
      Reader entry(field->bytes);
      while (const auto part = entry.next()) {
        if (part->number == 1) number = part->value;
        if (part->number == 2) text = part->bytes;
      }
      if (!interned_[field->number].emplace(number, text).second) problem("a number is interned twice: " + text);
      if (field->number == 2) out_.interned.push_back(text);
    }
  }

  std::string lookup(std::uint32_t kind, std::uint64_t number) {
    const auto found = interned_[kind].find(number);
    if (found != interned_[kind].end()) return found->second;
    problem("the interned text " + std::to_string(number) + " is missing");
    return "";
  }

  void track(std::string_view bytes) {
    std::uint64_t id = 0;
    TimelineTrack track;
    Reader reader(bytes);
    while (const auto field = reader.next()) {
      if (field->number == 1) id = field->value;
      if (field->number == 2) track.name = field->bytes;
      if (field->number == 3) track.process = true;
      if (field->number == 5) track.parent = field->value;
      if (field->number == 12) track.rank = static_cast<std::int64_t>(field->value);
    }
    if (!track.process && !out_.tracks.contains(track.parent)) problem("track " + track.name + " has no parent");
    if (!out_.tracks.emplace(id, track).second) problem("track " + track.name + " is described twice");
  }

  void track_event(std::string_view bytes, Time time) {
    TimelineEvent event;
    event.time = time;
    Reader reader(bytes);
    while (const auto field = reader.next()) {
      if (field->number == 9) event.type = static_cast<TimelineEvent::Type>(field->value);
      if (field->number == 11) event.track = field->value;
      if (field->number == 10) event.name = lookup(2, field->value);
      if (field->number == 23) event.name = field->bytes, ++out_.names_in_full;
      if (field->number == 4) argument(field->bytes, event);
    }
    if (!out_.tracks.contains(event.track)) problem("event " + event.name + " is on no track");
    out_.events.push_back(event);
  }

  void argument(std::string_view bytes, TimelineEvent& event) {
    std::string name, value;
    Reader reader(bytes);
    while (const auto field = reader.next()) {
      if (field->number == 1) name = lookup(3, field->value);
      if (field->number == 10) name = field->bytes;
      if (field->number == 4) value = std::to_string(static_cast<std::int64_t>(field->value));
      if (field->number == 6) value = field->bytes;
      if (field->number == 17) value = lookup(29, field->value);
    }
    if (!event.arguments.emplace(name, value).second) problem("argument " + name + " comes twice");
  }

  std::string path_of(std::uint64_t id) const {
    const TimelineTrack& track = out_.tracks.at(id);
    if (track.process) return track.name == "host" ? "" : track.name;
    const std::string above = path_of(track.parent);
    return above.empty() ? track.name : above + "." + track.name;
  }

  Timeline out_;
  std::map<std::uint32_t, std::map<std::uint64_t, std::string>> interned_;
};

}  // namespace

Timeline decode_timeline(const std::string& bytes) {
  return Decoder().decode(bytes);
}

std::map<std::string, std::vector<Slice>> Timeline::slices() {
  std::map<std::uint64_t, std::vector<TimelineEvent>> by_track;
  for (const TimelineEvent& event : events) by_track[event.track].push_back(event);
  std::map<std::string, std::vector<Slice>> out;
  for (auto& [id, all] : by_track) {
    const std::string& path = tracks[id].path;
    // As a viewer does: by time, and at one time in the order of the file.
    std::ranges::stable_sort(all, {}, &TimelineEvent::time);
    std::vector<std::size_t> open;
    for (const TimelineEvent& event : all) {
      if (event.type == TimelineEvent::Type::begin) {
        open.push_back(out[path].size());
        out[path].push_back({event.time, event.time, event.name, event.arguments, open.size() - 1});
      } else if (event.type == TimelineEvent::Type::end && open.empty()) {
        problems.push_back("a slice on " + path + " ends that has not begun");
      } else if (event.type == TimelineEvent::Type::end) {
        out[path][open.back()].end = event.time;
        open.pop_back();
      }
    }
    if (!open.empty()) problems.push_back("a slice on " + path + " does not end");
  }
  return out;
}

std::vector<TimelineEvent> Timeline::instants() const {
  std::vector<TimelineEvent> out;
  std::ranges::copy_if(events, std::back_inserter(out),
                       [](const TimelineEvent& event) { return event.type == TimelineEvent::Type::instant; });
  return out;
}

Time covered(std::vector<Slice> slices) {
  std::ranges::sort(slices, {}, &Slice::start);
  Time total, until;
  for (const Slice& slice : slices) {
    if (slice.end <= until) continue;
    total += slice.end - std::max(slice.start, until);
    until = slice.end;
  }
  return total;
}

}  // namespace kernbench::test
