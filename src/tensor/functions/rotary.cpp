// Rotary embeddings of kernbench/torch/transformer.h.
#include <fmt/format.h>

#include <cmath>
#include <numbers>
#include <span>
#include <vector>

#include "kernbench/torch/factories.h"
#include "kernbench/torch/operations.h"
#include "kernbench/torch/transformer.h"
#include "tensor/functions/dispatch.h"
#include "tensor/functions/rows.h"
#include "tensor/host_call.h"

namespace kernbench::torch::ahbm {

using tensor::ComputePlace;

namespace {

/// Positions are numbers of f32 in the kernel.
constexpr std::int64_t kMostPositions = std::int64_t{1} << 24;

/// What checks of a call have found out.
struct RotaryCall {
  const char* name;
  const Tensor& x;
  const Tensor& frequencies;
  const RotaryOptions& options;
  bool backward;
  ComputePlace place = {};
  std::size_t token = 0;

  std::int64_t tokens() const { return x.size(static_cast<std::int64_t>(token)); }
  bool batched() const { return options.positions.defined() && options.positions.dim() == 2; }
};

void check_tensors(const RotaryCall& call) {
  const Tensor &x = call.x, &frequencies = call.frequencies;
  tensor::check_floats(call.name, x);
  if (x.dim() < 2)
    tensor::fail(call.name, fmt::format("x must be [..., tokens, size], but is {}", tensor::describe(x)));
  if (frequencies.dim() != 2 || frequencies.size(0) != 2 || frequencies.scalar_type() != kFloat) {
    tensor::fail(call.name, fmt::format("the frequencies must be those that rotary_frequencies makes, [2, dim / 2] "
                                        "Float, but are {}",
                                        tensor::describe(frequencies)));
  }
  if (2 * frequencies.size(1) > x.size(-1)) {
    tensor::fail(call.name, fmt::format("the frequencies turn {} elements, but the last dimension of {} has fewer",
                                        2 * frequencies.size(1), tensor::describe(x)));
  }
}

std::size_t token_dimension(const RotaryCall& call) {
  const std::int64_t rank = call.x.dim(), given = call.options.token_dim;
  const std::int64_t token = given < 0 ? given + rank : given;
  if (token >= 0 && token < rank - 1) return static_cast<std::size_t>(token);
  tensor::fail(call.name, fmt::format("token_dim is {}, but must be one of the first {} dimensions of {}", given,
                                      rank - 1, tensor::describe(call.x)));
}

void check_positions(const RotaryCall& call) {
  const Tensor& positions = call.options.positions;
  if (!positions.defined()) {
    const std::int64_t end = call.options.offset + call.tokens();
    if (call.options.offset < 0 || end > kMostPositions) {
      tensor::fail(call.name, fmt::format("positions {} to {} are not within [0, {})", call.options.offset, end - 1,
                                          kMostPositions));
    }
    return;
  }
  if (positions.scalar_type() != kLong && positions.scalar_type() != kInt)
    tensor::fail_type(call.name, positions.scalar_type(), "the positions must be Int or Long");
  const bool one = positions.dim() == 1, two = positions.dim() == 2 && call.token > 0;
  const bool fits = (one || two) && positions.size(-1) == call.tokens() && (one || positions.size(0) == call.x.size(0));
  if (!fits || call.options.offset != 0) {
    tensor::fail(call.name, fmt::format("positions must be [tokens] or [batch, tokens], without an offset, but are {} "
                                        "for {} and an offset of {}",
                                        tensor::describe(positions), tensor::describe(call.x), call.options.offset));
  }
}

RotaryCall checked(RotaryCall call) {
  if (call.options.positions.defined())
    call.place = tensor::place_of(call.name, {call.x, call.frequencies, call.options.positions});
  else
    call.place = tensor::place_of(call.name, {call.x, call.frequencies});
  check_tensors(call);
  call.token = token_dimension(call);
  check_positions(call);
  return call;
}

/// As the kernels take them: expanded to the shape of x.
Tensor expanded_positions(const RotaryCall& call) {
  const Tensor& positions = call.options.positions;
  if (!positions.defined()) return {};
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(call.x.dim()), 1);
  sizes[call.token] = call.tokens();
  if (call.batched()) sizes[0] = call.x.size(0);
  return positions.reshape(sizes).expand(call.x.sizes());
}

// ---- on the host, in double ------------------------------------------------------------------------------------

std::vector<double> numbers_of_positions(const RotaryCall& call) {
  std::vector<double> numbers;
  if (call.options.positions.defined()) {
    tensor::Rows<std::int64_t> rows(call.options.positions.reshape({-1}), {true});
    for (const std::int64_t number : rows.read(0)) numbers.push_back(static_cast<double>(number));
    return numbers;
  }
  for (std::int64_t token = 0; token < call.tokens(); ++token)
    numbers.push_back(static_cast<double>(call.options.offset + token));
  return numbers;
}

void turn_row(double* row, std::int64_t pairs, bool interleaved, std::span<const double> cosines_and_sines) {
  for (std::int64_t i = 0; i < pairs; ++i) {
    double &a = interleaved ? row[2 * i] : row[i], &b = interleaved ? row[2 * i + 1] : row[i + pairs];
    const double cosine = cosines_and_sines[static_cast<std::size_t>(2 * i)];
    const double sine = cosines_and_sines[static_cast<std::size_t>(2 * i + 1)], x = a, y = b;
    a = x * cosine - y * sine;
    b = x * sine + y * cosine;
  }
}

/// Of one position after the other.
std::vector<double> cosines_and_sines(const RotaryCall& call, std::span<const double> positions) {
  const Tensor frequencies = call.frequencies.to(kDouble).contiguous();
  const std::int64_t pairs = frequencies.size(1);
  const double* turns = frequencies.data_ptr<double>();
  std::vector<double> result;
  result.reserve(positions.size() * static_cast<std::size_t>(2 * pairs));
  for (const double position : positions) {
    for (std::int64_t i = 0; i < pairs; ++i) {
      const double whole = position * (turns[i] + turns[i + pairs]);
      const double angle = (whole - std::nearbyint(whole)) * 2 * std::numbers::pi;
      result.push_back(std::cos(angle));
      result.push_back(call.backward ? -std::sin(angle) : std::sin(angle));
    }
  }
  return result;
}

Tensor turned_on_host(const RotaryCall& call) {
  const Tensor out = call.x.to(kDouble).contiguous().clone();
  if (out.numel() == 0) return out.to(call.x.scalar_type());
  const std::int64_t pairs = call.frequencies.size(1), size = out.size(-1), tokens = call.tokens();
  const std::vector<double> turns = cosines_and_sines(call, numbers_of_positions(call));
  std::int64_t within = 1;  // rows of one token
  for (auto d = static_cast<std::int64_t>(call.token) + 1; d < out.dim() - 1; ++d) within *= out.size(d);
  const std::int64_t rows = out.numel() / size, of_batch = rows / out.size(0);
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t token = row / within % tokens, batch = call.batched() ? row / of_batch : 0;
    const auto first = static_cast<std::size_t>((batch * tokens + token) * 2 * pairs);
    turn_row(out.data_ptr<double>() + row * size, pairs, call.options.interleaved, std::span(turns).subspan(first));
  }
  return out.to(call.x.scalar_type());
}

tensor::RotaryPairs pairs_of(const RotaryCall& call, bool in_place) {
  return {.token = call.token,
          .offset = call.options.offset,
          .batched = call.batched(),
          .interleaved = call.options.interleaved,
          .backward = call.backward,
          .in_place = in_place};
}

void turn_on_device(const RotaryCall& call, bool in_place, const Tensor& out) {
  if (out.numel() == 0 || (in_place && call.frequencies.numel() == 0)) return;
  tensor::device_kernels(call.name).rotary(call.x, call.frequencies, expanded_positions(call), pairs_of(call, in_place),
                                           out);
}

void check_cache(const char* call, const Tensor& x, const Tensor& cache) {
  const bool fits = x.dim() == 4 && cache.dim() == 4 && cache.size(1) % 2 == 0 && cache.size(1) <= x.size(1) &&
                    cache.size(0) == x.size(0) && cache.size(2) == x.size(2) && cache.size(3) == x.size(3) &&
                    cache.scalar_type() == x.scalar_type();
  if (fits) return;
  tensor::fail(call,
               fmt::format("x must be [batch, queries + 2 keys, tokens, size] and the cache [batch, 2 keys, tokens, "
                           "size] of the same type, but they are {} and {}",
                           tensor::describe(x), tensor::describe(cache)));
}

Tensor turned(const RotaryCall& given) {
  const RotaryCall call = checked(given);
  if (!call.place.on_device()) return turned_on_host(call);
  const Tensor out = tensor::new_result(call.name, call.place, call.x.sizes().vec(), call.x.scalar_type());
  turn_on_device(call, false, out);
  return out;
}

// ---- frequencies -----------------------------------------------------------------------------------------------

void check_scaling(const char* call, const RotaryFrequencyOptions& options) {
  const RotaryScaling& scaling = options.scaling;
  if (!(options.theta > 0)) tensor::fail(call, fmt::format("theta must be positive, but is {}", options.theta));
  if (!(scaling.factor >= 1)) tensor::fail(call, fmt::format("factor must be at least 1, but is {}", scaling.factor));
  if (scaling.low_freq_factor == 0 && scaling.high_freq_factor == 0) return;
  if (scaling.low_freq_factor > 0 && scaling.high_freq_factor > scaling.low_freq_factor &&
      scaling.original_max_position_embeddings > 0)
    return;
  tensor::fail(
      call, fmt::format("low_freq_factor ({}), high_freq_factor ({}) and original_max_position_embeddings ({}) "
                        "must be positive, and the second above the first",
                        scaling.low_freq_factor, scaling.high_freq_factor, scaling.original_max_position_embeddings));
}

double scaled_frequency(double frequency, const RotaryScaling& scaling) {
  const double slow = frequency / scaling.factor;
  if (scaling.high_freq_factor == 0) return slow;
  const double turns =
      static_cast<double>(scaling.original_max_position_embeddings) * frequency / (2 * std::numbers::pi);
  if (turns <= scaling.low_freq_factor) return slow;
  if (turns >= scaling.high_freq_factor) return frequency;
  const double share = (turns - scaling.low_freq_factor) / (scaling.high_freq_factor - scaling.low_freq_factor);
  return (1 - share) * slow + share * frequency;
}

}  // namespace

Tensor rotary_frequencies(std::int64_t dim, const RotaryFrequencyOptions& options, Device device, Where where) {
  constexpr const char* kCall = "rotary_frequencies";
  const tensor::HostCall here(kCall, where);
  if (dim < 2 || dim % 2 != 0) tensor::fail(kCall, fmt::format("dim must be even and positive, but is {}", dim));
  check_scaling(kCall, options);
  const std::int64_t pairs = dim / 2;
  Tensor host = torch::empty({2, pairs});
  float* values = host.data_ptr<float>();
  for (std::int64_t i = 0; i < pairs; ++i) {
    const double exponent = -2.0 * static_cast<double>(i) / static_cast<double>(dim);
    const double turns = scaled_frequency(std::pow(options.theta, exponent), options.scaling) / (2 * std::numbers::pi);
    values[i] = static_cast<float>(turns);
    values[i + pairs] = static_cast<float>(turns - static_cast<double>(values[i]));
  }
  if (device.is_cpu()) return host;
  return host.to(TensorOptions(device).placement({.cube = Placement::replicate, .pe = Placement::replicate}));
}

Tensor rotary_embedding(const TensorOperand& x, const Tensor& frequencies, const RotaryOptions& options) {
  const tensor::HostCall here("rotary_embedding", x.where);
  return turned({"rotary_embedding", x.tensor, frequencies, options, false});
}

const Tensor& rotary_embedding_(const Tensor& x, const Tensor& frequencies, const RotaryOptions& options, Where where) {
  constexpr const char* kCall = "rotary_embedding_";
  const tensor::HostCall here(kCall, where);
  const RotaryCall call = checked({kCall, x, frequencies, options, false});
  tensor::check_in_place(kCall, x, x.sizes().vec(), x.scalar_type(), {});
  if (call.place.on_device())
    turn_on_device(call, true, x);
  else
    x.copy_(turned_on_host(call));
  return x;  // NOLINT(bugprone-return-const-ref-from-parameter): as operations in place of tensors
}

const Tensor& rotary_embedding_into_cache_(const Tensor& x, const Tensor& frequencies, const Tensor& cache,
                                           const RotaryOptions& options, Where where) {
  constexpr const char* kCall = "rotary_embedding_into_cache_";
  const tensor::HostCall here(kCall, where);
  (void)tensor::place_of(kCall, {x, cache});
  check_cache(kCall, x, cache);
  const std::int64_t keys = cache.size(1) / 2, queries = x.size(1) - 2 * keys;
  const Tensor turned = x.narrow(1, 0, queries + keys);
  const RotaryCall call = checked({kCall, turned, frequencies, options, false});
  if (call.token != 2) tensor::fail(kCall, fmt::format("token_dim must be -2, but is {}", options.token_dim));
  for (const Tensor& written : {x, cache})
    tensor::check_in_place(kCall, written, written.sizes().vec(), written.scalar_type(), {});
  if (!call.place.on_device()) {
    turned.copy_(turned_on_host(call));
    cache.copy_(x.narrow(1, queries, 2 * keys));
  } else if (x.numel() > 0) {
    tensor::device_kernels(kCall).rotary_into_cache(x, frequencies, expanded_positions(call), pairs_of(call, true),
                                                    cache);
  }
  return x;  // NOLINT(bugprone-return-const-ref-from-parameter): as operations in place of tensors
}

Tensor rotary_embedding_backward(const TensorOperand& grad, const Tensor& frequencies, const RotaryOptions& options) {
  const tensor::HostCall here("rotary_embedding_backward", grad.where);
  return turned({"rotary_embedding_backward", grad.tensor, frequencies, options, true});
}

}  // namespace kernbench::torch::ahbm
