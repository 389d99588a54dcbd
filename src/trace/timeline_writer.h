// A timeline in Perfetto's format, written as it comes. See README.md.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "kernbench/units.h"
#include "trace/protobuf.h"

namespace kernbench::trace {

/// Names a track of one timeline.
struct TrackId {
  std::uint64_t value = 0;
  constexpr auto operator<=>(const TrackId&) const = default;
};

/// A text that is written out where it stands, for texts that hardly recur. A plain text is interned.
struct Verbatim {
  std::string_view text;
};

/// What is shown with an event: "bytes", 4096.
struct Argument {
  std::string_view name;
  std::variant<std::int64_t, double, std::string_view, Verbatim> value;
};
using Arguments = std::vector<Argument>;

class TimelineWriter {
 public:
  /// Opens `path`. ConfigurationError when it cannot be opened.
  explicit TimelineWriter(std::string path);
  ~TimelineWriter();
  TimelineWriter(const TimelineWriter&) = delete;
  TimelineWriter& operator=(const TimelineWriter&) = delete;

  /// A track of the outermost level, with a number that orders it.
  TrackId add_process(std::string_view name, std::int32_t number);
  /// A track within another; siblings are shown in the order of their ranks.
  TrackId add_track(TrackId parent, std::string_view name, std::int32_t rank);

  /// A slice begins and ends. On one track slices must nest in the order in which the calls come.
  void begin(TrackId track, Time time, std::string_view name, const Arguments& arguments = {});
  void end(TrackId track, Time time);
  /// Both at once.
  void slice(TrackId track, Time start, Time finish, std::string_view name, const Arguments& arguments = {});
  void instant(TrackId track, Time time, std::string_view name, const Arguments& arguments = {});

  /// Leaves events out until resume().
  void pause() { paused_ = true; }
  void resume() { paused_ = false; }
  /// Begins the file anew: all events so far are forgotten, tracks stay. Has no effect on a file that cannot be cut
  /// short, such as a pipe.
  void restart();

  /// Writes what is left. ProgramError ("OutputError") when the file could not take everything, now or before.
  void flush();

 private:
  /// The numbers that stand for texts of one kind.
  struct Interned {
    std::uint32_t field;  // of InternedData
    std::map<std::string, std::uint64_t, std::less<>> numbers = {};
  };
  /// The number of `text`, which goes into the next packet when it is new; 0 when there are too many.
  std::uint64_t intern(Interned& kind, std::string_view text);
  void add_descriptor(const Message& descriptor);
  void add_event(TrackId track, Time time, std::uint64_t type, std::string_view name, const Arguments& arguments);
  Message annotation(const Argument& argument);
  void add_packet(Message packet);
  void write_out();

  std::string path_;
  int descriptor_ = -1;
  int error_ = 0;  // the first errno of a failed write; nothing is written after it
  std::string buffer_;
  std::uint64_t tracks_ = 0;
  std::vector<Message> descriptors_;  // of the tracks
  bool first_packet_ = true, paused_ = false;
  Interned event_names_, argument_names_, texts_;
  Message new_names_;  // interned since the last packet
};

}  // namespace kernbench::trace
