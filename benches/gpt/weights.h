// The weights of a model: from files, random, or nobody's.
#pragma once

#include <kernbench/nn/safetensors.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "config.h"

namespace benches::gpt {

using torch::Tensor;
using Shape = std::vector<std::int64_t>;

/// A range of one dimension of a weight.
struct Part {
  std::int64_t dimension = 0, begin = 0, end = 0;
};

class Weights {
 public:
  /// From safetensors files beside the configuration where there are some, else random numbers, the same on each rank.
  /// Without data no numbers at all: their shapes are enough.
  explicit Weights(const ModelConfig& config) : config_(config), has_data_(kernbench::data_enabled()) {
    if (has_files(config.folder)) file_ = kernbench::safetensors::SafeTensors(config.folder);
  }
  /// ConfigurationError where values are computed and the folder's weights are in files that cannot be read: random
  /// ones in their place would be those of another model.
  static void check_files(const ModelConfig& config) {
    if (!kernbench::data_enabled() || config.folder.empty() || has_files(config.folder)) return;
    const std::string found = weights_not_read(config.folder);
    if (found.empty()) return;
    throw ConfigurationError(
        config.folder + "/" + found +
        ": weights are read from model.safetensors, or model.safetensors.index.json beside several files; " +
        (found.ends_with(".safetensors")
             ? "rename the file, or add the index"
             : "convert them, as with model.save_pretrained(folder, safe_serialization=True) of Hugging Face "
               "transformers, or take config.json to a folder of its own for random weights"));
  }
  bool from_file() const { return file_.has_value(); }
  /// Whether the files have it. Random weights have no names of their own.
  bool has(const std::string& name) const { return file_ && file_->contains(name_in_file(name)); }

  /// The tensors of the files that were asked for.
  const std::set<std::string>& used() const { return used_; }
  /// Those that a model has no use for, but for what Hugging Face's code leaves out without a word, too.
  std::vector<std::string> unused(const std::set<std::string>& used) const {
    std::vector<std::string> result;
    if (!file_) return result;
    for (const std::string& name : file_->keys())
      if (!used.contains(name) && !is_left_out(name)) result.push_back(name);
    return result;
  }

  /// A part of the weight `name`, which must be of `shape`, as a host tensor. What lies behind its end is zero: padding
  /// of a vocabulary that the ranks do not divide.
  Tensor part(const std::string& name, const Shape& shape, const Part& part) const {
    Shape wanted = shape;
    const auto d = static_cast<std::size_t>(part.dimension);
    wanted[d] = part.end - part.begin;
    const std::int64_t begin = std::min(part.begin, shape[d]), end = std::min(part.end, shape[d]);
    if (!has_data_) {
      if (file_) check_shape(name, shape);
      return torch::empty(wanted);
    }
    Tensor there = file_ ? from_file(name, shape, {part.dimension, begin, end})
                         : random(name, shape).narrow(part.dimension, begin, end - begin);
    if (end - begin == wanted[d]) return there;
    const Tensor padded = torch::zeros(wanted, there.scalar_type());
    padded.narrow(part.dimension, 0, end - begin).copy_(there);
    return padded;
  }
  Tensor whole(const std::string& name, const Shape& shape) const { return part(name, shape, {0, 0, shape[0]}); }

  /// The same of matrix `index` of a stack of them; `part` counts the matrix's dimensions.
  Tensor of_stack(const std::string& name, const Shape& shape, std::int64_t index, const Part& part) const {
    Shape wanted{shape.begin() + 1, shape.end()};
    wanted[static_cast<std::size_t>(part.dimension)] = part.end - part.begin;
    if (!has_data_) {
      if (file_) check_shape(name, shape);
      return torch::empty(wanted);
    }
    return from_file(name, shape, {0, index, index + 1})
        .squeeze(0)
        .narrow(part.dimension, part.begin, part.end - part.begin);
  }

 private:
  /// A configuration alone is a model, too: its sizes.
  static bool has_files(const std::string& folder) {
    if (folder.empty()) return false;
    const auto exists = [&](const char* name) { return std::ifstream(folder + "/" + name).good(); };
    return exists("model.safetensors.index.json") || exists("model.safetensors");
  }
  /// The first file in alphabetical order that holds weights by its name; empty: none.
  static std::string weights_not_read(const std::string& folder) {
    std::string found;
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator(folder, none)) {
      const std::string name = entry.path().filename().string();
      const bool pickled = name.starts_with("pytorch_model") && name.ends_with(".bin");
      if (!pickled && !name.ends_with(".safetensors") && !name.ends_with(".pth") && !name.ends_with(".gguf")) continue;
      if (found.empty() || name < found) found = name;
    }
    return found;
  }
  /// Layers that the user has left away, a head that is the embedding, and tables that older versions have stored.
  bool is_left_out(const std::string& name) const {
    const std::int64_t layer = layer_of(name);
    if (layer >= config_.layers && layer < config_.stored_layers) return true;
    if (config_.tied && name == "lm_head.weight") return true;
    if (config_.is_gpt2()) return name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias");
    return name.ends_with("rotary_emb.inv_freq");
  }
  /// -1: of none.
  static std::int64_t layer_of(const std::string& name) {
    for (const std::string prefix : {"model.layers.", "transformer.h.", "h."})
      if (name.starts_with(prefix)) return std::strtoll(name.c_str() + prefix.size(), nullptr, 10);
    return -1;
  }
  /// The name in the file: published GPT-2 files leave the prefix away.
  std::string name_in_file(const std::string& name) const {
    const std::string prefix = "transformer.";
    if (file_->contains(name) || !name.starts_with(prefix)) return name;
    return name.substr(prefix.size());
  }
  void check_shape(const std::string& name, const Shape& shape) const {
    const std::string in_file = name_in_file(name);
    used_.insert(in_file);
    const Shape found = file_->shape(in_file);
    if (found == shape) return;
    const auto text = [](const Shape& sizes) {
      std::string result;
      for (const std::int64_t size : sizes) result += (result.empty() ? "" : ", ") + std::to_string(size);
      return "[" + result + "]";
    };
    throw ConfigurationError(config_.folder + ": tensor \"" + name + "\" is " + text(found) + ", but by config.json " +
                             text(shape));
  }
  Tensor from_file(const std::string& name, const Shape& shape, const Part& part) const {
    check_shape(name, shape);
    return file_->slice(name_in_file(name), part.dimension, part.begin, part.end);
  }
  /// Normal numbers: products keep the size of what they multiply; the weights of norms are near one.
  static Tensor random(const std::string& name, const Shape& shape) {
    std::uint64_t seed = 1469598103934665603u;  // FNV-1a of the name
    for (const char c : name) seed = (seed ^ static_cast<unsigned char>(c)) * 1099511628211u;
    torch::manual_seed(seed);
    const Tensor weight = torch::empty(shape);
    const bool is_norm = shape.size() == 1 && name.ends_with("weight");
    const double deviation = shape.size() == 1 ? 0.1 : 1 / std::sqrt(static_cast<double>(shape.back()));
    return weight.normal_(is_norm ? 1 : 0, deviation);
  }

  const ModelConfig& config_;
  bool has_data_;
  mutable std::set<std::string> used_;
  std::optional<kernbench::safetensors::SafeTensors> file_;
};

}  // namespace benches::gpt
