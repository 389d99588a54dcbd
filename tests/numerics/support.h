// Random tiles and their elements as doubles.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <random>
#include <vector>

#include "numerics/conversion.h"
#include "numerics/operations.h"
#include "numerics/value.h"

namespace kernbench::numerics::test {

using Random = std::mt19937_64;

inline std::int64_t integer(Random& random, std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(random);
}

/// A value whose elements are the given numbers, converted.
inline Value tile(Executor& executor, DType dtype, const Shape& shape, const std::vector<double>& numbers,
                  const std::vector<std::uint8_t>& validity = {}) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(shape.numel() * item_size(dtype)));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    store_element(dtype, bytes.data() + static_cast<std::int64_t>(i) * item_size(dtype), numbers[i]);
  }
  return from_bytes(executor, dtype, shape, bytes, validity);
}

inline std::vector<double> numbers(Executor& executor, const Value& value) {
  const TileView elements = view(executor, value);
  std::vector<double> result;
  for (std::int64_t i = 0; i < value.numel(); ++i) result.push_back(elements.element(i).as_double());
  return result;
}

inline std::vector<std::byte> bytes(Executor& executor, const Value& value) {
  const TileView elements = view(executor, value);
  return {elements.bytes.begin(), elements.bytes.end()};
}

/// One byte for each lane.
inline std::vector<std::uint8_t> validity(Executor& executor, const Value& value) {
  const TileView elements = view(executor, value);
  std::vector<std::uint8_t> result;
  for (std::int64_t i = 0; i < value.numel(); ++i) result.push_back(elements.valid(i));
  return result;
}

inline Shape random_shape(Random& random, std::size_t maximum_rank = 4, std::int64_t maximum_extent = 6) {
  Shape shape;
  for (std::int64_t rank = integer(random, 0, static_cast<std::int64_t>(maximum_rank)); rank > 0; --rank) {
    shape.push_back(integer(random, 1, maximum_extent));
  }
  return shape;
}

/// A shape that broadcasts to `shape`.
inline Shape random_broadcast_source(Random& random, const Shape& shape) {
  Shape result;
  for (std::size_t i = static_cast<std::size_t>(integer(random, 0, static_cast<std::int64_t>(shape.rank())));
       i < shape.rank(); ++i) {
    result.push_back(integer(random, 0, 2) == 0 ? 1 : shape[i]);
  }
  return result;
}

/// Numbers that every type but boolean holds exactly.
inline std::vector<double> random_numbers(Random& random, std::int64_t count, int low = -100, int high = 100) {
  std::vector<double> result;
  for (std::int64_t i = 0; i < count; ++i) result.push_back(static_cast<double>(integer(random, low, high)));
  return result;
}

inline std::vector<std::uint8_t> random_mask(Random& random, std::int64_t count) {
  std::vector<std::uint8_t> result;
  for (std::int64_t i = 0; i < count; ++i) result.push_back(integer(random, 0, 4) != 0);
  return result;
}

/// The lane of an operand of shape `source` that lane `lane` of `shape` comes from: numpy's rule, written plainly.
inline std::size_t source_lane(const Shape& shape, const Shape& source, std::int64_t lane) {
  std::int64_t result = 0, stride = 1;
  for (std::size_t i = 0; i < shape.rank(); ++i) {
    const std::int64_t extent = shape[shape.rank() - 1 - i];
    const std::int64_t index = lane % extent;
    lane /= extent;
    if (i >= source.rank()) continue;
    const std::int64_t source_extent = source[source.rank() - 1 - i];
    result += (source_extent == 1 ? 0 : index) * stride;
    stride *= source_extent;
  }
  return static_cast<std::size_t>(result);
}

/// `number` rounded to an element type and back.
inline double rounded(DType dtype, double number) {
  std::byte element[8];
  store_element(dtype, element, number);
  return load_element(dtype, element).as_double();
}

}  // namespace kernbench::numerics::test
