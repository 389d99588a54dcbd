#include "trace/timeline_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "kernbench/error.h"

namespace kernbench::trace {
namespace {

// Field numbers, message by message.
namespace field {
constexpr std::uint32_t trace_packet = 1;
// TracePacket
constexpr std::uint32_t timestamp = 8, sequence_id = 10, track_event = 11, interned_data = 12, sequence_flags = 13,
                        track_descriptor = 60;
// TrackDescriptor
constexpr std::uint32_t uuid = 1, track_name = 2, process = 3, parent_uuid = 5, child_ordering = 11,
                        sibling_order_rank = 12;
// ProcessDescriptor
constexpr std::uint32_t pid = 1, process_name = 6;
// TrackEvent
constexpr std::uint32_t annotations = 4, type = 9, name_iid = 10, track_uuid = 11, event_name = 23;
// DebugAnnotation
constexpr std::uint32_t annotation_name_iid = 1, int_value = 4, double_value = 5, string_value = 6,
                        annotation_name = 10, string_value_iid = 17;
// InternedData, and each of its entries
constexpr std::uint32_t event_names = 2, annotation_names = 3, annotation_texts = 29;
constexpr std::uint32_t iid = 1, interned_text = 2;
}  // namespace field

constexpr std::uint64_t kSliceBegin = 1, kSliceEnd = 2, kInstant = 3;  // TrackEvent.Type
constexpr std::uint64_t kStateCleared = 1, kNeedsState = 2;            // TracePacket.SequenceFlags
constexpr std::uint64_t kExplicitOrder = 3;                            // TrackDescriptor.ChildTracksOrdering
constexpr std::size_t kBufferBytes = std::size_t{256} << 10;
constexpr std::size_t kMostInterned = 65'536;

}  // namespace

TimelineWriter::TimelineWriter(std::string path)
    : path_(std::move(path)),
      descriptor_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)),
      event_names_{field::event_names},
      argument_names_{field::annotation_names},
      texts_{field::annotation_texts} {
  if (descriptor_ < 0) throw ConfigurationError(fmt::format("cannot write the trace: {}", std::strerror(errno)), path_);
}

TimelineWriter::~TimelineWriter() {
  write_out();
  ::close(descriptor_);
}

TrackId TimelineWriter::add_process(std::string_view name, std::int32_t number) {
  const TrackId track{++tracks_};
  Message process;
  process.integer(field::pid, number).text(field::process_name, name);
  Message descriptor;
  descriptor.varint(field::uuid, track.value).text(field::track_name, name).message(field::process, process);
  descriptor.varint(field::child_ordering, kExplicitOrder);
  add_descriptor(descriptor);
  return track;
}

TrackId TimelineWriter::add_track(TrackId parent, std::string_view name, std::int32_t rank) {
  const TrackId track{++tracks_};
  Message descriptor;
  descriptor.varint(field::uuid, track.value).text(field::track_name, name);
  descriptor.varint(field::parent_uuid, parent.value).varint(field::child_ordering, kExplicitOrder);
  descriptor.integer(field::sibling_order_rank, rank);
  add_descriptor(descriptor);
  return track;
}

void TimelineWriter::add_descriptor(const Message& descriptor) {
  descriptors_.push_back(descriptor);
  Message packet;
  add_packet(packet.message(field::track_descriptor, descriptor));
}

void TimelineWriter::restart() {
  if (error_ != 0 || ::ftruncate(descriptor_, 0) != 0 || ::lseek(descriptor_, 0, SEEK_SET) != 0) return;
  buffer_.clear();
  new_names_.clear();
  for (Interned* kind : {&event_names_, &argument_names_, &texts_}) kind->numbers.clear();
  first_packet_ = true;
  for (const Message& descriptor : std::exchange(descriptors_, {})) add_descriptor(descriptor);
}

void TimelineWriter::begin(TrackId track, Time time, std::string_view name, const Arguments& arguments) {
  add_event(track, time, kSliceBegin, name, arguments);
}

void TimelineWriter::end(TrackId track, Time time) {
  add_event(track, time, kSliceEnd, {}, {});
}

void TimelineWriter::slice(TrackId track, Time start, Time finish, std::string_view name, const Arguments& arguments) {
  begin(track, start, name, arguments);
  end(track, finish);
}

void TimelineWriter::instant(TrackId track, Time time, std::string_view name, const Arguments& arguments) {
  add_event(track, time, kInstant, name, arguments);
}

void TimelineWriter::add_event(TrackId track, Time time, std::uint64_t type, std::string_view name,
                               const Arguments& arguments) {
  if (error_ != 0 || paused_) return;
  Message event;
  event.varint(field::type, type).varint(field::track_uuid, track.value);
  if (!name.empty()) {
    const std::uint64_t number = intern(event_names_, name);
    number != 0 ? event.varint(field::name_iid, number) : event.text(field::event_name, name);
  }
  for (const Argument& argument : arguments) event.message(field::annotations, annotation(argument));
  Message packet;
  packet.integer(field::timestamp, time.count()).message(field::track_event, event);
  add_packet(std::move(packet));
}

Message TimelineWriter::annotation(const Argument& argument) {
  Message out;
  const std::uint64_t name = intern(argument_names_, argument.name);
  name != 0 ? out.varint(field::annotation_name_iid, name) : out.text(field::annotation_name, argument.name);
  if (const auto* integer = std::get_if<std::int64_t>(&argument.value)) {
    out.integer(field::int_value, *integer);
  } else if (const auto* real = std::get_if<double>(&argument.value)) {
    out.real(field::double_value, *real);
  } else if (const auto* verbatim = std::get_if<Verbatim>(&argument.value)) {
    out.text(field::string_value, verbatim->text);
  } else {
    const std::string_view text = std::get<std::string_view>(argument.value);
    const std::uint64_t number = intern(texts_, text);
    number != 0 ? out.varint(field::string_value_iid, number) : out.text(field::string_value, text);
  }
  return out;
}

std::uint64_t TimelineWriter::intern(Interned& kind, std::string_view text) {
  if (const auto known = kind.numbers.find(text); known != kind.numbers.end()) return known->second;
  if (kind.numbers.size() >= kMostInterned) return 0;
  const std::uint64_t number = kind.numbers.size() + 1;
  kind.numbers.emplace(text, number);
  Message entry;
  entry.varint(field::iid, number).text(field::interned_text, text);
  new_names_.message(kind.field, entry);
  return number;
}

void TimelineWriter::add_packet(Message packet) {
  if (error_ != 0) return;
  packet.varint(field::sequence_id, 1);
  packet.varint(field::sequence_flags, std::exchange(first_packet_, false) ? kStateCleared | kNeedsState : kNeedsState);
  if (!new_names_.empty()) {
    packet.message(field::interned_data, new_names_);
    new_names_.clear();
  }
  Message trace;
  buffer_ += trace.message(field::trace_packet, packet).bytes();
  if (buffer_.size() >= kBufferBytes) write_out();
}

void TimelineWriter::write_out() {
  std::string_view left = buffer_;
  while (!left.empty() && error_ == 0) {
    const ssize_t written = ::write(descriptor_, left.data(), left.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      error_ = errno;
    } else {
      left.remove_prefix(static_cast<std::size_t>(written));
    }
  }
  buffer_.clear();
}

void TimelineWriter::flush() {
  write_out();
  if (error_ == 0) return;
  throw ProgramError("OutputError",
                     fmt::format("cannot write the trace: {}; it ends before the run's end", std::strerror(error_)),
                     path_);
}

}  // namespace kernbench::trace
