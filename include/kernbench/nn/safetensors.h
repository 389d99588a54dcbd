// Tensors in safetensors files, as Hugging Face's models have them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kernbench/nn/ordered_dict.h"
#include "kernbench/torch/tensor.h"

namespace kernbench::safetensors {

/// The tensors of a file, or of the files that an index names: their names, types and shapes are read and checked at
/// once, their elements when somebody first looks at them. So a model that is larger than the host's memory can be
/// opened, cut over ranks and run with --no-data.
class SafeTensors {
 public:
  /// `path` is a file; an index (….safetensors.index.json), whose files lie beside it; or a folder that has
  /// model.safetensors.index.json or model.safetensors. One ConfigurationError names file, tensor, place and what was
  /// expected when a file is malformed: a header that is longer than the file (or 100 MB), is no JSON or has a key
  /// twice; an unknown element type; a shape and a range that do not fit; ranges that overlap, leave a gap or end
  /// elsewhere than the file; an index that names a file or a tensor that is not there.
  explicit SafeTensors(const std::string& path, Where where = Where::current());

  /// In the order of the elements in the file; of several files one after the other.
  const std::vector<std::string>& keys() const;
  bool contains(const std::string& name) const;
  /// Of no elements; ConfigurationError for a name that is not there.
  std::vector<std::int64_t> shape(const std::string& name, Where where = Where::current()) const;
  /// As the file spells it: "F32", "BF16", "F8_E4M3", ….
  std::string dtype(const std::string& name, Where where = Where::current()) const;
  /// The key "__metadata__" of the first file.
  const std::map<std::string, std::string>& metadata() const;

  /// A host tensor. Types: F64 F32 F16 BF16 F8_E5M2 F8_E4M3 I64 I32 I8 U8 BOOL; others (I16, U16, U32, U64) are a
  /// ConfigurationError. An element that cannot be read when it is looked at is one, too.
  torch::Tensor tensor(const std::string& name, Where where = Where::current()) const;
  /// The indices [begin, end) of a dimension, of which alone the elements are read: a rank's part of a weight.
  torch::Tensor slice(const std::string& name, std::int64_t dimension, std::int64_t begin, std::int64_t end,
                      Where where = Where::current()) const;

  struct Files;

 private:
  std::shared_ptr<const Files> files_;
};

/// All tensors by name, in the order of keys(): what torch::nn::Module::load_state_dict takes.
torch::OrderedDict<std::string, torch::Tensor> load_file(const std::string& path, Where where = Where::current());

/// Writes host and device tensors (which are read as by any host read), by descending type and name as the reference
/// implementation does. The file is written whole or not at all: ConfigurationError with its name when that fails.
void save_file(const torch::OrderedDict<std::string, torch::Tensor>& tensors, const std::string& path,
               const std::map<std::string, std::string>& metadata = {}, Where where = Where::current());

}  // namespace kernbench::safetensors
