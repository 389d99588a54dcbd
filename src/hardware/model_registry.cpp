// The registry of component models that are compiled outside of the project, and their parameters.
#include <algorithm>
#include <ranges>
#include <span>
#include <utility>

#include "base/quantity.h"
#include "base/text.h"
#include "kernbench/error.h"
#include "kernbench/models.h"
#include "topology/models.h"

namespace kernbench {
namespace {

constexpr std::size_t kLongestName = 64;

bool is_name(const std::string& text) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
  };
  return !text.empty() && text.size() <= kLongestName && std::ranges::all_of(text, allowed);
}

template <class Factory>
void add(std::map<std::string, Factory, std::less<>>& models, const char* kind,
         std::span<const std::string_view> built_in, const std::string& name, Factory factory) {
  const std::string what = std::string(kind) + " model " + in_quotes(name);
  if (!is_name(name)) throw ValueError(what + ": a name is 1 to 64 letters, digits, '.', '_' and '-'");
  if (name == "null" || name == "Null" || name == "NULL") {
    throw ValueError(what + ": a topology file reads this name as no value; choose another one");
  }
  if (!factory) throw ValueError(what + " has no factory: pass a function that makes the model");
  if (std::ranges::find(built_in, name) != built_in.end()) {
    throw ValueError(what + ": a built-in model has this name; choose another one");
  }
  if (!models.emplace(name, std::move(factory)).second) throw ValueError(what + " was added before");
}

}  // namespace

ModelParameters::ModelParameters(std::string path, std::string model, std::map<std::string, std::string> values)
    : path_(std::move(path)), model_(std::move(model)), values_(std::move(values)) {}

const std::string* ModelParameters::find(std::string_view key) const {
  asked_.emplace(key, true);
  const auto found = values_.find(std::string(key));
  return found == values_.end() ? nullptr : &found->second;
}

void ModelParameters::reject(std::string_view key, const std::string& message) const {
  throw ConfigurationError(path_ + "." + std::string(key) + ": " + message + " (model \"" + model_ + "\")");
}

template <class T, class Parse>
T ModelParameters::get(std::string_view key, const char* expected, Parse parse) const {
  const std::string* value = find(key);
  if (value == nullptr) reject(key, std::string("missing; the model needs ") + expected);
  try {
    return parse(*value);
  } catch (const ConfigurationError& error) {
    reject(key, error.what());
  }
}

bool ModelParameters::has(std::string_view key) const {
  return find(key) != nullptr;
}
const std::string& ModelParameters::text(std::string_view key) const {
  const std::string* value = find(key);
  if (value == nullptr) reject(key, "missing; the model needs a text");
  return *value;
}
std::int64_t ModelParameters::integer(std::string_view key) const {
  return get<std::int64_t>(key, "a whole number such as 32",
                           [](const std::string& text) { return parse_integer(text); });
}
Time ModelParameters::time(std::string_view key) const {
  return get<Time>(key, "a time such as 80ns", [](const std::string& text) { return parse_time(text); });
}
Bytes ModelParameters::bytes(std::string_view key) const {
  return get<Bytes>(key, "bytes such as 4MiB", [](const std::string& text) { return parse_bytes(text); });
}
Bandwidth ModelParameters::bandwidth(std::string_view key) const {
  return get<Bandwidth>(key, "a bandwidth such as 1.2TB/s",
                        [](const std::string& text) { return parse_bandwidth(text); });
}
std::int64_t ModelParameters::integer(std::string_view key, std::int64_t otherwise) const {
  return has(key) ? integer(key) : otherwise;
}
Time ModelParameters::time(std::string_view key, Time otherwise) const {
  return has(key) ? time(key) : otherwise;
}
Bytes ModelParameters::bytes(std::string_view key, Bytes otherwise) const {
  return has(key) ? bytes(key) : otherwise;
}
Bandwidth ModelParameters::bandwidth(std::string_view key, Bandwidth otherwise) const {
  return has(key) ? bandwidth(key) : otherwise;
}

void ModelParameters::require_all_asked() const {
  for (const auto& [key, value] : values_) {
    if (asked_.contains(key)) continue;
    std::vector<std::string_view> known;
    for (const auto& [asked, _] : asked_) known.push_back(asked);
    const std::string_view suggestion = nearest(key, known);
    std::string message = "unknown parameter";
    if (!suggestion.empty()) {
      message += ", did you mean \"" + std::string(suggestion) + "\"?";
    } else {
      message += known.empty() ? "; the model takes none" : "; the model takes";
      for (std::size_t i = 0; i < known.size(); ++i) message += (i == 0 ? " " : ", ") + std::string(known[i]);
    }
    reject(key, message);
  }
}

struct ModelRegistry::Models {
  std::map<std::string, HbmFactory, std::less<>> hbm;
  std::map<std::string, GemmFactory, std::less<>> gemm;
  std::map<std::string, VectorFactory, std::less<>> vector;
  std::map<std::string, DmaFactory, std::less<>> dma;
};

const ModelRegistry::Models& ModelRegistry::models() const {
  static const Models kNone;
  return models_ ? *models_ : kNone;
}

ModelRegistry::Models& ModelRegistry::own_models() {
  if (models_.use_count() != 1) models_ = std::make_shared<Models>(models());
  return *models_;
}

const std::map<std::string, ModelRegistry::HbmFactory, std::less<>>& ModelRegistry::hbm() const {
  return models().hbm;
}
const std::map<std::string, ModelRegistry::GemmFactory, std::less<>>& ModelRegistry::gemm() const {
  return models().gemm;
}
const std::map<std::string, ModelRegistry::VectorFactory, std::less<>>& ModelRegistry::vector() const {
  return models().vector;
}
const std::map<std::string, ModelRegistry::DmaFactory, std::less<>>& ModelRegistry::dma() const {
  return models().dma;
}

ModelRegistry& ModelRegistry::add_hbm(const std::string& name, HbmFactory factory) {
  add(own_models().hbm, "HBM", topology::BuiltInModels::hbm, name, std::move(factory));
  return *this;
}
ModelRegistry& ModelRegistry::add_gemm(const std::string& name, GemmFactory factory) {
  add(own_models().gemm, "GEMM", topology::BuiltInModels::gemm, name, std::move(factory));
  return *this;
}
ModelRegistry& ModelRegistry::add_vector(const std::string& name, VectorFactory factory) {
  add(own_models().vector, "vector", topology::BuiltInModels::vector, name, std::move(factory));
  return *this;
}
ModelRegistry& ModelRegistry::add_dma(const std::string& name, DmaFactory factory) {
  add(own_models().dma, "DMA", topology::BuiltInModels::dma, name, std::move(factory));
  return *this;
}

}  // namespace kernbench
