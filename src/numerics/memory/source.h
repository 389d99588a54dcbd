// Causes of invalid lanes: recorded where a lane becomes invalid, handed on with it, named in errors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <source_location>
#include <string>
#include <tuple>
#include <unordered_map>

namespace kernbench::numerics {

/// Why an operation made a lane invalid.
enum class Cause : std::uint8_t {
  given,              // it was told that the lane is
  never_written,      // it read memory that nobody had written
  outside,            // no piece of memory covers the lane, and there is no `other`
  masked,             // the mask is false there, and there is no `other`
  masked_or_outside,  // one of the two
  masked_atomic,      // the mask is false there: there is no old value
  divide_by_zero,     // of integers
  remainder_by_zero,  // of integers
  shift_count,        // negative, or not below the width of the type
  no_lanes,           // the index of the largest of no lanes
  no_such_lane,       // an index that is outside of the axis
  no_such_bin,        // a number that is none of the bins
};

/// Names the bytes of ranges of memory, for errors. It may be asked for long after they are gone.
class PlaceNames {
 public:
  virtual ~PlaceNames() = default;
  /// Of byte number `offset` of one of the ranges.
  virtual std::string name(std::size_t range, std::int64_t offset) const = 0;
};

/// A byte of a range of memory; without names nothing is known of it.
struct NamedPlace {
  std::shared_ptr<const PlaceNames> names = {};
  std::size_t range = 0;
  std::int64_t offset = 0;
  bool operator==(const NamedPlace&) const = default;
};

/// An operation that made lanes invalid. This layer hands it on and does nothing else with it. The texts must outlive
/// the executor; they are told apart by their addresses.
struct Source {
  Cause cause = Cause::given;
  const char* operation = nullptr;  // "idiv"; null: none that has a name
  const char* work = nullptr;       // "gemm#2"; null: none
  std::source_location where;       // line 0: not known
  NamedPlace unwritten = {};        // never_written: the first byte that the operation met, if it is kept

  bool operator==(const Source& other) const {
    return cause == other.cause && operation == other.operation && work == other.work &&
           where.file_name() == other.where.file_name() && where.line() == other.where.line() &&
           unwritten == other.unwritten;
  }
};

/// A source as lanes hold it. The numbers depend on the order in which tasks ran; what they stand for does not.
using SourceId = std::uint32_t;
inline constexpr SourceId kValid = 0;  // of a lane that is valid

/// The first of two that is not valid: the source of a lane that depends on both.
constexpr SourceId first_invalid(SourceId a, SourceId b) {
  return a != kValid ? a : b;
}

/// The sources of the invalid lanes of one executor's values.
class SourceTable {
 public:
  /// So many accesses of one operation of one line keep places that nobody had written, in all work of a run. Others
  /// would take memory for each access. Submission counts, valid or not, since it is in simulated order: which accesses
  /// keep them does not depend on threads.
  static constexpr std::int64_t kNamedReads = 4096;

  /// The source of the work that is submitted next, but for its cause. For the simulation thread.
  const Source& current() const { return current_; }
  /// Counts an access of that work; whether it is one that keeps its place. For the simulation thread.
  bool count_read();

  /// On any thread. Equal sources have equal numbers.
  SourceId id_of(const Source& source);
  /// On any thread. REQUIRES: `id` is from id_of.
  Source at(SourceId id) const;

 private:
  friend class SourceScope;
  struct Hash {
    std::size_t operator()(const Source& source) const;
  };
  using Line = std::tuple<const char*, const char*, std::uint_least32_t>;  // operation, file, line
  struct LineHash {
    std::size_t operator()(const Line& line) const;
  };
  Source current_;
  std::unordered_map<Line, std::int64_t, LineHash> reads_;
  mutable std::mutex mutex_;
  std::deque<Source> sources_;
  std::unordered_map<Source, SourceId, Hash> ids_;
};

/// While it lives, work that is submitted has this source.
class SourceScope {
 public:
  SourceScope(SourceTable& table, const Source& source) : table_(table), before_(table.current_) {
    table.current_ = source;
  }
  ~SourceScope() { table_.current_ = before_; }
  SourceScope(const SourceScope&) = delete;
  SourceScope& operator=(const SourceScope&) = delete;

 private:
  SourceTable& table_;
  Source before_;
};

/// The source of the work that is being submitted, as its task captures it. For one thread at a time.
class OwnSource {
 public:
  explicit OwnSource(SourceTable& table) : table_(&table), source_(table.current()) {}
  /// Of work that reads memory.
  static OwnSource of_read(SourceTable& table) {
    OwnSource own(table);
    own.keeps_place_ = table.count_read();
    return own;
  }
  /// For the lanes that the task makes invalid for this reason.
  SourceId id(Cause cause) const {
    if (id_ != kValid && source_.cause == cause) return id_;
    source_.cause = cause;
    return id_ = table_->id_of(source_);
  }
  /// For the lanes that the task reads from memory that nobody has written: all have the first place that it meets.
  /// `place` makes it, when it is needed.
  template <class Place>
  SourceId never_written(Place&& place) const {
    if (unwritten_ != kValid) return unwritten_;
    Source source = source_;
    source.cause = Cause::never_written;
    if (keeps_place_) source.unwritten = place();
    return unwritten_ = table_->id_of(source);
  }

 private:
  SourceTable* table_;
  mutable Source source_;
  mutable SourceId id_ = kValid;  // of the last cause asked for
  mutable SourceId unwritten_ = kValid;
  bool keeps_place_ = false;
};

}  // namespace kernbench::numerics
