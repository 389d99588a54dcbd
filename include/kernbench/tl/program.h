// The identity of a kernel instance, reading values back, assertions, and help for debugging a kernel.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "kernbench/tl/types.h"

namespace kernbench::tl {

// ---- identity --------------------------------------------------------------------------------------------------

/// This instance's index in the launch's grid along `axis`; without one along axis 0, counting PEs cube by cube.
std::int64_t program_id(int axis = 0, Where where = Where::current());
/// Number of instances of the launch along `axis`.
std::int64_t num_programs(int axis = 0, Where where = Where::current());
/// Where this instance runs.
std::int64_t device_id(Where where = Where::current());
std::int64_t cube_id(Where where = Where::current());
std::int64_t pe_id(Where where = Where::current());
/// How many there are: SIPs of the system, cubes of a SIP, PEs of a cube.
std::int64_t num_devices(Where where = Where::current());
std::int64_t num_cubes(Where where = Where::current());
std::int64_t num_pes(Where where = Where::current());

// ---- what it uses ----------------------------------------------------------------------------------------------

/// The loads, stores and atomics of this instance that follow take the first `count` DMA queues of the PE in turn, or
/// all where there are fewer; 0: all, as at its start. Of fewer queues fewer operations are under way at a time, and
/// the first of them has more of the bandwidth.
void use_dma_queues(std::int32_t count, Where where = Where::current());

// ---- reading a value back --------------------------------------------------------------------------------------

namespace detail {
double item_as_double(const Tile& x, std::optional<double> assumed, const Where& where);
std::int64_t item_as_integer(const Tile& x, std::optional<std::int64_t> assumed, const Where& where);
}  // namespace detail

/// The value of a one-element tile; suspends until it has been computed. An error under --no-data, unless the tile is
/// known (docs/tile-language.md).
template <class T = float>
T item(const Tile& x, Where where = Where::current()) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(detail::item_as_integer(x, std::nullopt, where));
  else
    return static_cast<T>(detail::item_as_double(x, std::nullopt, where));
}
/// Like item, but yields `assumed` where item is an error because of --no-data.
template <class T>
T item_or(const Tile& x, T assumed, Where where = Where::current()) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(detail::item_as_integer(x, static_cast<std::int64_t>(assumed), where));
  else
    return static_cast<T>(detail::item_as_double(x, static_cast<double>(assumed), where));
}

/// Fails the program when a lane of `condition` is false or invalid; the check is made when the values are known and
/// costs no simulated time beyond its operands'.
void device_assert(const Tile& condition, std::string_view message, Where where = Where::current());
/// Fails the program at once when `condition` is false.
void device_assert(bool condition, std::string_view message, Where where = Where::current());

// ---- help for the author ---------------------------------------------------------------------------------------

/// Prints `prefix`, where the instance runs, and the tiles' values once they are known, in simulated order, to standard
/// output. Costs no simulated time. Under --no-data shapes and types only.
void device_print(std::string_view prefix, std::initializer_list<Tile> tiles = {}, Where where = Where::current());
inline void device_print(std::string_view prefix, const Tile& tile, Where where = Where::current()) {
  device_print(prefix, {tile}, where);
}

/// States a fact on which the kernel relies: a false one is a ProgramError ("AssumptionError") at this line.
void assume(bool fact, Where where = Where::current());

/// Names the instant at which the program gets here, in traces and in the operation log. Costs no simulated time.
void waypoint(std::string_view name, Where where = Where::current());

/// Keeps the program's control processor busy for so many cycles of pe.clock. For shaking out races.
void delay(std::int64_t cycles, Where where = Where::current());

/// The whole numbers from `begin` to before `end`: `for (auto i : tl::range(0, n, block))`. `step` may be negative, not
/// 0.
class Range {
 public:
  class Iterator {
   public:
    Iterator(std::int64_t value, std::int64_t step, std::int64_t left) : value_(value), step_(step), left_(left) {}
    std::int64_t operator*() const { return value_; }
    Iterator& operator++() { return value_ += step_, --left_, *this; }
    bool operator!=(const Iterator& other) const { return left_ != other.left_; }

   private:
    std::int64_t value_, step_, left_;
  };
  Range(std::int64_t begin, std::int64_t end, std::int64_t step);
  Iterator begin() const { return {begin_, step_, count_}; }
  Iterator end() const { return {begin_, step_, 0}; }
  std::int64_t size() const { return count_; }

 private:
  std::int64_t begin_, step_, count_;
};
inline Range range(std::int64_t end) {
  return {0, end, 1};
}
inline Range range(std::int64_t begin, std::int64_t end, std::int64_t step = 1) {
  return {begin, end, step};
}

/// Calls body(std::integral_constant<int, I>{}) for I from kBegin to before kEnd: a loop that is unrolled and whose
/// index is a constant.
template <int kBegin, int kEnd, class Body>
constexpr void static_range(Body&& body) {
  [&]<int... kOffset>(std::integer_sequence<int, kOffset...>) {
    (body(std::integral_constant<int, kBegin + kOffset>{}), ...);
  }(std::make_integer_sequence<int, (kEnd > kBegin ? kEnd - kBegin : 0)>{});
}

/// ceil(a / b) for b > 0.
constexpr std::int64_t cdiv(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

}  // namespace kernbench::tl
