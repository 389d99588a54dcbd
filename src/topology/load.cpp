#include "topology/load.h"

#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "base/quantity.h"
#include "base/text.h"
#include "kernbench/error.h"
#include "topology/checks.h"
#include "topology/document.h"
#include "topology/files.h"
#include "topology/overrides.h"
#include "topology/reader.h"

namespace kernbench::topology {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kExtension = ".yaml";

std::vector<std::string> directories(const SearchPath& search_path) {
  std::vector<std::string> all = search_path.directories;
  if (search_path.shipped) {
    for (std::string& folder : shipped_folders("topologies")) all.push_back(std::move(folder));
  }
  return all;
}

std::string find_file(const std::string& name, const SearchPath& search_path) {
  if (is_path(name)) return name;
  for (const std::string& directory : directories(search_path)) {
    std::error_code ignored;
    fs::path path = fs::path(directory) / (name + std::string(kExtension));
    if (fs::is_regular_file(path, ignored)) return path.string();
  }
  const std::vector<std::string> names = topology_names(search_path);
  const std::vector<std::string_view> views(names.begin(), names.end());
  const std::string_view near = name.size() > 64 ? std::string_view() : nearest(name, views);
  std::string message = "no topology is named " + in_quotes(name);
  if (!near.empty()) message += "; did you mean \"" + std::string(near) + "\"?";
  message += " (";
  for (std::size_t i = 0; i < names.size(); ++i) message += (i == 0 ? "known: " : ", ") + names[i];
  message += std::string(names.empty() ? "none are known" : "") + "; a path contains '/' or ends in .yaml)";
  throw ConfigurationError(message);
}

/// Where the parameters of models stand, for what models say of them.
ModelParameterPlaces parameter_places(const Topology& topology, const Node& root, const std::string& file_name,
                                      const std::vector<std::string>& overrides) {
  ModelParameterPlaces known;
  const auto look = [&](const std::string& section, const ModelParameterTexts& parameters) {
    for (const auto& [key, _] : parameters) {
      const std::string path = section + "." + key;
      known.places[path] = place_text(place_of(root, path), file_name, overrides);
    }
  };
  look("cube.hbm.parameters", topology.cube.hbm.parameters);
  look("pe.gemm.parameters", topology.pe.gemm.parameters);
  look("pe.vector.parameters", topology.pe.vector.parameters);
  look("pe.dma.parameters", topology.pe.dma.parameters);
  return known;
}

}  // namespace

bool is_path(const std::string& name) {
  return name.find('/') != std::string::npos || name.ends_with(kExtension);
}

Topology parse_topology(std::string_view yaml, const std::string& file_name, const std::vector<std::string>& overrides,
                        const ModelNames& models) {
  std::vector<Problem> problems;
  Node root = parse_document(yaml, -1, problems);
  for (std::size_t i = 0; i < overrides.size(); ++i) {
    apply_override(root, overrides[i], static_cast<std::int32_t>(i), problems);
  }
  Reading reading = read_topology(root, models, problems);
  for (const Finding& finding : check(reading.topology, reading.unread)) {
    problems.push_back({place_of(root, finding.path), finding.path + ": " + finding.message});
  }
  // Which parts there are is known of a machine that is right in all else.
  if (problems.empty()) {
    for (const Finding& finding : check_overrides(reading.topology)) {
      problems.push_back({place_of(root, finding.path), finding.path + ": " + finding.message});
    }
  }
  if (!problems.empty()) throw_problems(problems, file_name, overrides);
  reading.topology.parameter_places = parameter_places(reading.topology, root, file_name, overrides);
  return std::move(reading.topology);
}

Topology load_topology(const std::string& name_or_path, const std::vector<std::string>& overrides,
                       const SearchPath& search_path, const ModelNames& models) {
  const std::string path = find_file(name_or_path, search_path);
  return parse_topology(read_file(path, "a topology"), path, overrides, models);
}

std::vector<std::string> topology_names(const SearchPath& search_path) {
  std::set<std::string> names;
  for (const std::string& directory : directories(search_path)) {
    std::error_code ignored;
    for (const fs::directory_entry& entry : fs::directory_iterator(directory, ignored)) {
      if (entry.path().extension() == kExtension) names.insert(entry.path().stem().string());
    }
  }
  return {names.begin(), names.end()};
}

}  // namespace kernbench::topology
