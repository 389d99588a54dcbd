#include "kernbench/nn/safetensors.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <unordered_map>
#include <utility>

#include "kernbench/error.h"
#include "kernbench/torch/factories.h"
#include "nn/safetensors/file.h"
#include "tensor/dimensions.h"
#include "tensor/host_call.h"
#include "tensor/tensor_impl.h"

namespace kernbench::safetensors {

using torch::Tensor;

struct SafeTensors::Files {
  struct Place {
    std::shared_ptr<const File> file;
    const TensorEntry* entry = nullptr;
  };
  std::string path;
  std::vector<std::shared_ptr<const File>> files;
  std::vector<std::string> keys;
  std::unordered_map<std::string, Place> places;

  void add(const std::shared_ptr<const File>& file) {
    files.push_back(file);
    for (const TensorEntry& entry : file->header().tensors) {
      if (!places.try_emplace(entry.name, Place{file, &entry}).second)
        throw ConfigurationError(fmt::format("{}: tensor \"{}\" is in another file, too", file->path(), entry.name));
      keys.push_back(entry.name);
    }
  }
  const Place& at(const std::string& name) const {
    const auto found = places.find(name);
    if (found != places.end()) return found->second;
    throw ConfigurationError(fmt::format("{}: it has no tensor \"{}\"", path, name));
  }
};

namespace {

bool is_folder(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}
bool exists(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0;
}

constexpr const char* kIndex = "model.safetensors.index.json";
constexpr const char* kSingle = "model.safetensors";
constexpr std::int64_t kLongestIndex = 100'000'000;

/// The file or index that `path` means.
std::string chosen(const std::string& path) {
  if (!is_folder(path)) return path;
  for (const char* const name : {kIndex, kSingle}) {
    const std::string file = fmt::format("{}/{}", path, name);
    if (exists(file)) return file;
  }
  throw ConfigurationError(fmt::format("{}: the folder has neither {} nor {}", path, kIndex, kSingle));
}

void open_index(SafeTensors::Files& files) {
  const auto index = parse_index(text_of_file(files.path, kLongestIndex), files.path);
  const std::size_t slash = files.path.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : files.path.substr(0, slash + 1);
  std::unordered_map<std::string, std::shared_ptr<const File>> opened;
  for (const auto& [tensor, name] : index) {
    if (opened.contains(name)) continue;
    if (!exists(folder + name)) {
      throw ConfigurationError(
          fmt::format("{}: tensor \"{}\" is to be in {}, which is not there", files.path, tensor, folder + name));
    }
    files.add(opened.emplace(name, std::make_shared<File>(folder + name)).first->second);
  }
  for (const auto& [tensor, name] : index) {
    const auto found = files.places.find(tensor);
    if (found != files.places.end() && found->second.file == opened.at(name)) continue;
    throw ConfigurationError(
        fmt::format("{}: tensor \"{}\" is to be in {}, which does not have it", files.path, tensor, folder + name));
  }
  if (files.keys.size() == index.size()) return;
  std::unordered_map<std::string, bool> listed;
  for (const auto& [tensor, name] : index) listed[tensor] = true;
  const auto extra = std::ranges::find_if(files.keys, [&](const std::string& key) { return !listed.contains(key); });
  throw ConfigurationError(fmt::format("{}: tensor \"{}\" of {} is not in its weight_map", files.path, *extra,
                                       files.places.at(*extra).file->path()));
}

/// ConfigurationError of a tensor of a file.
[[noreturn]] void fail_tensor(const SafeTensors::Files::Place& place, const std::string& what) {
  throw ConfigurationError(fmt::format("{}: tensor \"{}\" {}", place.file->path(), place.entry->name, what));
}

/// A tensor whose elements are not there yet. A shape with a zero takes no bytes of the file, however large the rest
/// is.
Tensor empty_tensor(const SafeTensors::Files::Place& place, const std::vector<std::int64_t>& shape) {
  try {
    return tensor::new_host_tensor(shape, *place.entry->type->type);
  } catch (const ValueError& error) {
    fail_tensor(place, fmt::format("cannot be made: {}", error.what()));
  }
}

/// Any byte but zero is true.
void normalise_bools(std::byte* bytes, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(bytes[i] != std::byte{0});
}

/// Reads elements of the part [begin, begin + length) of a dimension: `inner` elements belong to each of its indices.
tensor::ElementSource reading(std::shared_ptr<const File> file, const TensorEntry& entry, std::int64_t extent,
                              std::int64_t inner, std::int64_t begin, std::int64_t length) {
  return [=, file = std::move(file), &entry](std::int64_t first, std::int64_t count, std::byte* out) {
    const std::int64_t size = entry.type->size, run = length * inner;
    for (std::int64_t done = 0; done < count;) {
      const std::int64_t at = first + done, row = at / run, in_run = at % run;
      const std::int64_t n = std::min(count - done, run - in_run);
      const std::int64_t from = (row * extent + begin) * inner + in_run;
      file->read(entry.begin + from * size, n * size, out + done * size);
      done += n;
    }
    if (*entry.type->type == DType::boolean) normalise_bools(out, count);
  };
}

Tensor part_of_entry(const SafeTensors::Files::Place& place, std::size_t dimension, std::int64_t begin,
                     std::int64_t end) {
  const TensorEntry& entry = *place.entry;
  if (!entry.type->type) fail_tensor(place, fmt::format("is of dtype {}, which KernBench has not", entry.type->name));
  std::vector<std::int64_t> shape = entry.shape;
  std::int64_t extent = 1, inner = 1, length = 1;
  if (!shape.empty()) {
    extent = shape[dimension], length = shape[dimension] = end - begin;
    for (std::size_t d = dimension + 1; d < shape.size(); ++d) inner *= shape[d];
  }
  const Tensor result = empty_tensor(place, shape);
  const tensor::TensorImpl& impl = tensor::impl_of(result);
  if (impl.numel() > 0) impl.storage->make_by(reading(place.file, entry, extent, inner, begin, length), impl.dtype);
  return result;
}

/// Runs of whole files: the order of the reference implementation, by descending type and then by name.
Header header_of(const std::vector<std::pair<std::string, Tensor>>& tensors,
                 const std::map<std::string, std::string>& metadata) {
  Header header{{}, metadata};
  std::int64_t offset = 0;
  for (const auto& [name, tensor] : tensors) {
    const auto bytes = static_cast<std::int64_t>(tensor.nbytes());
    header.tensors.push_back({name, &element_type(tensor.scalar_type()), tensor.sizes().vec(), offset, offset + bytes});
    offset += bytes;
  }
  return header;
}

}  // namespace

SafeTensors::SafeTensors(const std::string& path, Where where) {
  const tensor::HostCall here("SafeTensors", where);
  auto files = std::make_shared<Files>();
  files->path = chosen(path);
  if (files->path.ends_with(".json"))
    open_index(*files);
  else
    files->add(std::make_shared<File>(files->path));
  files_ = std::move(files);
}

const std::vector<std::string>& SafeTensors::keys() const {
  return files_->keys;
}

bool SafeTensors::contains(const std::string& name) const {
  return files_->places.contains(name);
}

std::vector<std::int64_t> SafeTensors::shape(const std::string& name, Where where) const {
  const tensor::HostCall here("SafeTensors", where);
  return files_->at(name).entry->shape;
}

std::string SafeTensors::dtype(const std::string& name, Where where) const {
  const tensor::HostCall here("SafeTensors", where);
  return std::string(files_->at(name).entry->type->name);
}

const std::map<std::string, std::string>& SafeTensors::metadata() const {
  static const std::map<std::string, std::string> kNone;
  return files_->files.empty() ? kNone : files_->files.front()->header().metadata;
}

Tensor SafeTensors::tensor(const std::string& name, Where where) const {
  const tensor::HostCall here("SafeTensors", where);
  const auto& place = files_->at(name);
  return part_of_entry(place, 0, 0, place.entry->shape.empty() ? 0 : place.entry->shape.front());
}

Tensor SafeTensors::slice(const std::string& name, std::int64_t dimension, std::int64_t begin, std::int64_t end,
                          Where where) const {
  const tensor::HostCall here("SafeTensors", where);
  const auto& place = files_->at(name);
  const auto& shape = place.entry->shape;
  const auto refuse = [&](const std::string& what) {
    throw torch::IndexError(fmt::format("{}: tensor \"{}\" {}", place.file->path(), name, what));
  };
  const auto dimensions = static_cast<std::int64_t>(shape.size());
  if (shape.empty()) refuse("has no dimension to take a part of; read it whole, with tensor(…)");
  if (dimension < -dimensions || dimension >= dimensions)
    refuse(fmt::format("has {} dimensions, and {} is none of them", dimensions, dimension));
  const std::size_t d = kernbench::tensor::wrap_dimension(dimension, shape.size(), false);
  if (begin < 0 || begin > end || end > shape[d])
    refuse(fmt::format("has {} indices in dimension {}; [{}, {}) is not among them", shape[d], d, begin, end));
  return part_of_entry(place, d, begin, end);
}

torch::OrderedDict<std::string, Tensor> load_file(const std::string& path, Where where) {
  const tensor::HostCall here("load_file", where);
  const SafeTensors file(path);
  torch::OrderedDict<std::string, Tensor> tensors;
  for (const std::string& key : file.keys()) tensors.insert(key, file.tensor(key));
  return tensors;
}

void save_file(const torch::OrderedDict<std::string, Tensor>& tensors, const std::string& path,
               const std::map<std::string, std::string>& metadata, Where where) {
  const tensor::HostCall here("save_file", where);
  if (tensors.contains(kMetadataKey)) {
    throw ValueError(
        fmt::format("save_file: {}: no tensor can be named \"{}\", under which the format keeps its texts; rename it",
                    path, kMetadataKey));
  }
  std::vector<std::pair<std::string, Tensor>> sorted;
  for (const auto& item : tensors) sorted.emplace_back(item.key(), item.value().cpu().contiguous());
  std::ranges::sort(sorted, [](const auto& a, const auto& b) {
    const ElementType *const x = &element_type(a.second.scalar_type()), *const y =
                                                                            &element_type(b.second.scalar_type());
    return x != y ? x > y : a.first < b.first;
  });
  const Header entries = header_of(sorted, metadata);
  check_texts(entries, path);
  const std::string header = header_text(entries);
  const std::string scratch = fmt::format("{}.{}.tmp", path, ::getpid());
  std::ofstream out(scratch, std::ios::binary);
  const std::uint64_t length = header.size();
  out.write(reinterpret_cast<const char*>(&length), kLengthBytes);
  out.write(header.data(), static_cast<std::streamsize>(header.size()));
  for (const auto& [name, tensor] : sorted) {
    if (tensor.numel() > 0)
      out.write(reinterpret_cast<const char*>(kernbench::tensor::impl_of(tensor).data()),
                static_cast<std::streamsize>(tensor.nbytes()));
  }
  out.close();
  if (out.good() && std::rename(scratch.c_str(), path.c_str()) == 0) return;
  const int error = errno;
  std::remove(scratch.c_str());
  throw ConfigurationError(fmt::format("{}: it cannot be written: {}", path, std::strerror(error)));
}

}  // namespace kernbench::safetensors
