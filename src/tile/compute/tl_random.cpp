// Random numbers of lanes.
#include <fmt/format.h>

#include <utility>

#include "kernbench/tl.h"
#include "numerics/operations.h"
#include "tile/compute/fuse_as.h"
#include "tile/compute/tile_operands.h"
#include "tile/program/conversion.h"

namespace kernbench::tl {

using tile::OperationInfo;
using tile::Program;
namespace operations = tile::operations;
using Inputs = std::span<const numerics::Value>;

namespace {

/// The first `words` words of each lane, of shape {lanes, words}.
Tile random_words(const OperationInfo& info, std::int64_t seed, const Tile& offset, int words, int rounds,
                  const Where& where) {
  auto& program = Program::current(info.kind, where);
  const auto& state = program.own(offset, info.kind, where);
  tile::check_accepted(program, info, state->dtype(), where);
  if (rounds < 1 || rounds > 16)
    tile::refuse(program, info.kind, fmt::format("{} rounds; valid are 1 to 16", rounds), where);
  const std::int64_t lanes = state->shape().numel();
  return tile::issue_vector_command(program,
                                    {.kind = info.kind,
                                     .cost = info.cost,
                                     .dtype = DType::i32,
                                     .shape = {lanes, words},
                                     .inputs = {state},
                                     .compute =
                                         [=](numerics::Executor& executor, Inputs inputs) {
                                           return numerics::philox(executor, static_cast<std::uint64_t>(seed),
                                                                   inputs[0], words, rounds);
                                         },
                                     .elements = lanes * rounds * operations::kPhiloxRoundOperations},
                                    where);
}

/// An i32 as a number in [0, 1), as Triton makes it.
Tile uniform(const Tile& bits) {
  constexpr float kScale = 4.6566127342e-10F;  // the largest i32 becomes less than 1
  return cast(tl::where(bits < 0, -bits - 1, bits), DType::f32) * kScale;
}

/// Two standard normal numbers of two uniform ones, by Box and Muller.
std::pair<Tile, Tile> normal(const Tile& a, const Tile& b) {
  constexpr float kLeast = 1.0e-7F, kTurn = 6.283185307179586F;
  const Tile angle = b * kTurn, radius = sqrt(log(maximum(a, kLeast)) * -2.0F);
  return {radius * cos(angle), radius * sin(angle)};
}

}  // namespace

Tile randint(std::int64_t seed, const Tile& offset, int rounds, Where where) {
  const Tile words = random_words(operations::kRandint, seed, offset, 1, rounds, where);
  return reshape(words, offset.shape(), where);
}

std::array<Tile, 4> randint4x(std::int64_t seed, const Tile& offset, int rounds, Where where) {
  return tile::fuse_as("randint4x", where, [&] {
    const Tile words = random_words(operations::kRandint4x, seed, offset, 4, rounds, where);
    const auto [even, odd] = split(reshape(words, {words.size(0), 2, 2}, where), where);
    const auto [first, third] = split(even, where);
    const auto [second, fourth] = split(odd, where);
    std::array<Tile, 4> result{first, second, third, fourth};
    for (Tile& tile : result) tile = reshape(tile, offset.shape(), where);
    return result;
  });
}

Tile rand(std::int64_t seed, const Tile& offset, int rounds, Where where) {
  return tile::fuse_as("rand", where, [&] { return uniform(randint(seed, offset, rounds, where)); });
}

std::array<Tile, 4> rand4x(std::int64_t seed, const Tile& offset, int rounds, Where where) {
  return tile::fuse_as("rand4x", where, [&] {
    std::array<Tile, 4> result = randint4x(seed, offset, rounds, where);
    for (Tile& tile : result) tile = uniform(tile);
    return result;
  });
}

Tile randn(std::int64_t seed, const Tile& offset, int rounds, Where where) {
  return tile::fuse_as("randn", where, [&] {
    const std::array<Tile, 4> bits = randint4x(seed, offset, rounds, where);
    return normal(uniform(bits[0]), uniform(bits[1])).first;
  });
}

std::array<Tile, 4> randn4x(std::int64_t seed, const Tile& offset, int rounds, Where where) {
  return tile::fuse_as("randn4x", where, [&] {
    std::array<Tile, 4> result = rand4x(seed, offset, rounds, where);
    for (std::size_t i = 0; i < 4; i += 2) std::tie(result[i], result[i + 1]) = normal(result[i], result[i + 1]);
    return result;
  });
}

}  // namespace kernbench::tl
