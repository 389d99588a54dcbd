// Physical quantities as types. Every interface of KernBench takes and returns these, never bare numbers.
#pragma once

#include <compare>
#include <cstdint>

namespace kernbench {

/// A point in simulated time or a duration: a whole number of picoseconds.
class Time {
 public:
  constexpr Time() = default;
  static constexpr Time picoseconds(std::int64_t count) { return Time(count); }
  static constexpr Time nanoseconds(std::int64_t count) { return Time(count * 1'000); }
  static constexpr Time microseconds(std::int64_t count) { return Time(count * 1'000'000); }
  static constexpr Time milliseconds(std::int64_t count) { return Time(count * 1'000'000'000); }
  static constexpr Time seconds(std::int64_t count) { return Time(count * 1'000'000'000'000); }
  static constexpr Time zero() { return Time(0); }
  static constexpr Time max() { return Time(INT64_MAX); }
  /// The latest time that a simulation may reach, 4611686 s or 53 days: the sum of two such times is a Time, too.
  static constexpr Time limit() { return Time(INT64_MAX / 2); }

  constexpr std::int64_t count() const { return picoseconds_; }
  constexpr double in_seconds() const { return static_cast<double>(picoseconds_) * 1e-12; }

  constexpr auto operator<=>(const Time&) const = default;
  constexpr Time& operator+=(Time other) {
    picoseconds_ += other.picoseconds_;
    return *this;
  }
  constexpr Time& operator-=(Time other) {
    picoseconds_ -= other.picoseconds_;
    return *this;
  }
  friend constexpr Time operator+(Time a, Time b) { return Time(a.picoseconds_ + b.picoseconds_); }
  friend constexpr Time operator-(Time a, Time b) { return Time(a.picoseconds_ - b.picoseconds_); }
  friend constexpr Time operator*(Time a, std::int64_t n) { return Time(a.picoseconds_ * n); }
  friend constexpr Time operator*(std::int64_t n, Time a) { return a * n; }

 private:
  explicit constexpr Time(std::int64_t picoseconds) : picoseconds_(picoseconds) {}
  std::int64_t picoseconds_ = 0;
};

/// An amount of data in bytes.
class Bytes {
 public:
  constexpr Bytes() = default;
  explicit constexpr Bytes(std::int64_t count) : count_(count) {}
  constexpr std::int64_t count() const { return count_; }
  constexpr auto operator<=>(const Bytes&) const = default;
  constexpr Bytes& operator+=(Bytes other) {
    count_ += other.count_;
    return *this;
  }
  constexpr Bytes& operator-=(Bytes other) {
    count_ -= other.count_;
    return *this;
  }
  friend constexpr Bytes operator+(Bytes a, Bytes b) { return Bytes(a.count_ + b.count_); }
  friend constexpr Bytes operator-(Bytes a, Bytes b) { return Bytes(a.count_ - b.count_); }
  friend constexpr Bytes operator*(Bytes a, std::int64_t n) { return Bytes(a.count_ * n); }

 private:
  std::int64_t count_ = 0;
};

/// A data rate in bytes per second (1 GB/s is 10^9 B/s).
class Bandwidth {
 public:
  constexpr Bandwidth() = default;
  static constexpr Bandwidth bytes_per_second(std::int64_t count) { return Bandwidth(count); }
  static constexpr Bandwidth gigabytes_per_second(std::int64_t count) { return Bandwidth(count * 1'000'000'000); }
  constexpr std::int64_t count() const { return bytes_per_second_; }
  constexpr auto operator<=>(const Bandwidth&) const = default;

 private:
  explicit constexpr Bandwidth(std::int64_t count) : bytes_per_second_(count) {}
  std::int64_t bytes_per_second_ = 0;
};

/// A clock rate in hertz.
class Frequency {
 public:
  constexpr Frequency() = default;
  static constexpr Frequency hertz(std::int64_t count) { return Frequency(count); }
  static constexpr Frequency megahertz(std::int64_t count) { return Frequency(count * 1'000'000); }
  static constexpr Frequency gigahertz(std::int64_t count) { return Frequency(count * 1'000'000'000); }
  constexpr std::int64_t count() const { return hertz_; }
  constexpr auto operator<=>(const Frequency&) const = default;

 private:
  explicit constexpr Frequency(std::int64_t count) : hertz_(count) {}
  std::int64_t hertz_ = 0;
};

__extension__ using uint128 = unsigned __int128;

/// `picoseconds`, but no more than Time::limit().
constexpr Time limited_time(uint128 picoseconds) {
  constexpr auto kLimit = static_cast<uint128>(Time::limit().count());
  return Time::picoseconds(static_cast<std::int64_t>(picoseconds < kLimit ? picoseconds : kLimit));
}

/// The time to move `amount` at `rate`, rounded up to a whole picosecond; Time::limit() if it is longer. Requires a
/// positive rate.
constexpr Time transfer_time(Bytes amount, Bandwidth rate) {
  const uint128 numerator = static_cast<uint128>(amount.count()) * 1'000'000'000'000u;
  const auto divisor = static_cast<uint128>(rate.count());
  return limited_time((numerator + divisor - 1) / divisor);
}

/// A clock whose edges come from the cycle index, so that no rounded period accumulates:
/// edge(n) = ceil(n / frequency), cycle 0 at time 0.
class Clock {
 public:
  explicit constexpr Clock(Frequency frequency) : hertz_(static_cast<std::uint64_t>(frequency.count())) {}

  /// The time of edge `cycle`; Time::limit() if it is later.
  constexpr Time edge(std::int64_t cycle) const {
    const uint128 numerator = static_cast<uint128>(cycle) * kPicosecondsPerSecond;
    return limited_time((numerator + hertz_ - 1) / hertz_);
  }
  /// The first cycle whose edge is at or after `time`.
  constexpr std::int64_t cycle_at_or_after(Time time) const {
    const uint128 product = static_cast<uint128>(time.count()) * hertz_;
    // edge(c) >= t  <=>  c * P / hz > t - 1  <=>  c > (t - 1) * hz / P
    if (time.count() <= 0) return 0;
    return static_cast<std::int64_t>((product - hertz_) / kPicosecondsPerSecond) + 1;
  }
  /// The time `cycles` edges after the first edge at or after `start`.
  constexpr Time after(Time start, std::int64_t cycles) const { return edge(cycle_at_or_after(start) + cycles); }

 private:
  static constexpr std::uint64_t kPicosecondsPerSecond = 1'000'000'000'000u;
  std::uint64_t hertz_;
};

}  // namespace kernbench
