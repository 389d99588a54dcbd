// Small host programs, compiled once against libtorch (KERNBENCH_ORACLE_LIBTORCH) and once against kernbench/torch.h.
// Each writes what it sees to `out`; both must write the same. Six digits are written, of which the last is free: that
// is the tolerance of functions that are not exact.
#pragma once

#ifdef KERNBENCH_ORACLE_LIBTORCH
#include <torch/torch.h>
#else
#include "kernbench/torch.h"
namespace torch = kernbench::torch;
#endif

#include <cmath>
#include <cstdint>
#include <exception>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

namespace oracle {

/// Type, sizes, strides and values, in one line.
inline void show(std::ostream& out, const torch::Tensor& tensor) {
  out << tensor.scalar_type() << ' ' << tensor.sizes() << ' ' << tensor.strides() << " {";
  const torch::Tensor values = tensor.to(torch::kDouble).contiguous();
  for (std::int64_t i = 0; i < values.numel(); ++i) {
    const double value = values.data_ptr<double>()[i];
    // The sign of a NaN means nothing.
    std::isnan(value) ? out << " nan" : out << ' ' << value;
  }
  out << " }\n";
}

/// Rounded to a thousandth, for values that suffer from cancellation; no zero is negative.
inline torch::Tensor rounded(const torch::Tensor& tensor) {
  return (tensor * 1000).round() + 0.0;
}

template <class... Tensors>
void show_all(std::ostream& out, const Tensors&... tensors) {
  (show(out, tensors), ...);
}

/// Whether `call` throws.
template <class Call>
void attempt(std::ostream& out, const Call& call) {
  try {
    call();
    out << "ok\n";
  } catch (const std::exception&) {
    out << "throws\n";
  }
}

/// The message of what `call` throws, which has to be PyTorch's.
template <class Call>
void message(std::ostream& out, const Call& call) {
  try {
    call();
    out << "no error\n";
  } catch (const std::exception& error) {
    // libtorch appends where it was thrown.
    const std::string text = error.what();
    out << text.substr(0, text.find("\nException raised from")) << '\n';
  }
}

struct Snippet {
  const char* name;
  void (*run)(std::ostream& out);
};

/// An argument that is left out.
#ifdef KERNBENCH_ORACLE_LIBTORCH
inline c10::nullopt_t c10_nothing() {
  return c10::nullopt;
}
#else
inline std::nullopt_t c10_nothing() {
  return std::nullopt;
}
#endif

inline torch::Tensor matrix() {
  return torch::arange(6).view({2, 3});
}

// One list for each source file.
std::vector<Snippet> tensor_snippets();
std::vector<Snippet> elementwise_snippets();
std::vector<Snippet> shape_snippets();
std::vector<Snippet> reduction_snippets();
std::vector<Snippet> nn_snippets();
std::vector<Snippet> loss_snippets();
std::vector<Snippet> choosing_snippets();
std::vector<Snippet> optim_snippets();

inline std::vector<Snippet> snippets() {
  std::vector<Snippet> all;
  for (const auto& part : {tensor_snippets(), elementwise_snippets(), shape_snippets(), reduction_snippets(),
                           nn_snippets(), loss_snippets(), choosing_snippets(), optim_snippets()})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

/// Runs everything; each snippet's output follows a line "### name".
inline void run_all(std::ostream& out) {
  for (const Snippet& snippet : snippets()) {
    std::ostringstream text;
    try {
      snippet.run(text);
    } catch (const std::exception& error) {
      text << "unexpected error: " << error.what() << '\n';  // never equal: libtorch adds a stack trace
    }
    out << "### " << snippet.name << '\n' << text.str();
  }
}

}  // namespace oracle
