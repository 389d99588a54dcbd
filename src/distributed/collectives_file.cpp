#include "distributed/collectives_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "base/quantity.h"
#include "base/text.h"
#include "distributed/tuning.h"
#include "kernbench/collectives.h"
#include "kernbench/error.h"
#include "topology/document.h"
#include "topology/files.h"
#include "topology/reader.h"
#include "topology/reference_sink.h"
#include "topology/spec_reader.h"

namespace kernbench::distributed {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFileName = "ccl.yaml";

topology::Field module_field(const AlgorithmTable& table) {
  return {"module", "algorithm of all-reduces; auto: of each call the one that costs least, as for other operations",
          true,     0,
          0,        table.choices(CollectiveOperation::all_reduce)};
}

template <class V, class S>
void describe_algorithm(V& visit, S& spec) {
  visit.field(module_field(*spec.table), spec.module);
  describe(visit, spec);
}

template <class V, class S>
void describe_defaults(V& visit, S& collectives) {
  visit.section("defaults", "what holds for every algorithm that says nothing else", [&] {
    visit.field(
        {"algorithm", "name of the algorithm that is used when a program names none, or a map by operation", true},
        collectives.algorithm);
    describe(visit, collectives.defaults);
  });
}

/// Of these keys a plain number is a number of bytes.
constexpr std::array<std::string_view, 3> kByteKeys{"slot_size", "vc_chunk_size", "ipcq_credit_size_bytes"};

/// Spellings that files of other simulators have, in those of this one: sizes without a unit, and modules with the
/// packages around them, of which the last part counts.
void translate(topology::Node& section) {
  const auto is_number = [](const std::string& text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  };
  for (topology::Entry& entry : section.entries) {
    std::string& text = entry.value.text;
    if (entry.value.kind != topology::Node::Kind::scalar) continue;
    if (std::ranges::find(kByteKeys, entry.key) != kByteKeys.end() && is_number(text)) text += "B";
    if (entry.key == "module") text.erase(0, text.rfind('.') + 1);
  }
}

/// An entry with a schedule says what its algorithm is; of all-reduces, if it is for another operation, `auto`.
void add_module(topology::Entry& algorithm) {
  topology::Node& section = algorithm.value;
  if (section.kind != topology::Node::Kind::mapping || section.find("msccl") == nullptr) return;
  if (section.find("module") != nullptr) return;
  topology::Entry module = *std::ranges::find(section.entries, "msccl", &topology::Entry::key);
  module.key = "module";
  module.value.text = kAutomatic;
  section.entries.push_back(std::move(module));
}

/// `algorithm` as a map by operation: what it says of an operation becomes the key of that operation, and of
/// all-reduces that of `algorithm` itself.
void spread_map(topology::Node& defaults, std::vector<topology::Problem>& problems) {
  const auto map = std::ranges::find(defaults.entries, "algorithm", &topology::Entry::key);
  if (map == defaults.entries.end() || map->value.kind != topology::Node::Kind::mapping) return;
  std::vector<topology::Entry> by_operation = std::move(map->value.entries);
  defaults.entries.erase(map);
  for (topology::Entry& each : by_operation) {
    const std::string path = "defaults.algorithm." + each.key;
    if (std::ranges::find(kCollectiveOperationNames, each.key) == kCollectiveOperationNames.end()) {
      const std::string_view near = topology::near(each.key, kCollectiveOperationNames);
      problems.push_back({each.place, fmt::format("{}: unknown operation{}", path,
                                                  near.empty() ? "" : fmt::format(", did you mean \"{}\"?", near))});
      continue;
    }
    if (defaults.find(each.key) != nullptr) {
      problems.push_back({each.place, fmt::format("{}: given twice, here and as defaults.{}", path, each.key)});
      continue;
    }
    if (each.key == name(CollectiveOperation::all_reduce)) each.key = "algorithm";
    defaults.entries.push_back(std::move(each));
  }
}

void translate_all(topology::Node& root, std::vector<topology::Problem>& problems) {
  for (topology::Entry& entry : root.entries) {
    if (entry.key == "defaults") {
      spread_map(entry.value, problems);
      translate(entry.value);
    }
    if (entry.key != "algorithms") continue;
    for (topology::Entry& algorithm : entry.value.entries) {
      translate(algorithm.value);
      add_module(algorithm);
    }
  }
}

std::vector<std::string_view> names_of(const Collectives& collectives) {
  std::vector<std::string_view> names;
  for (const auto& [name, spec] : collectives.algorithms) names.push_back(name);
  for (const auto& own : collectives.defaults.table->own().algorithms()) names.push_back(own->name);
  return names;
}

std::string unknown_algorithm(const Collectives& collectives, const std::string& name) {
  const auto names = names_of(collectives);
  const std::string_view near = name.size() > topology::kLongestWord ? std::string_view() : nearest(name, names);
  return fmt::format("no algorithm is named {}{}{}", in_quotes(name),
                     near.empty() ? "" : fmt::format("; did you mean \"{}\"?", near),
                     names.empty() ? "; the file has none" : fmt::format(" (known: {})", fmt::join(names, ", ")));
}

// Rules between the values of one section.
class Checks {
 public:
  Checks(const topology::Node& root, const std::set<std::string>& unread, std::vector<topology::Problem>& problems)
      : root_(root), unread_(unread), problems_(problems) {}

  void check_algorithm(const std::string& path, const AlgorithmSpec& spec) {
    if (spec.vc_chunk_size > spec.slot_size && read(path, "vc_chunk_size") && read(path, "slot_size")) {
      report(path + ".vc_chunk_size", fmt::format("{} is more than slot_size ({}): a chunk lies in one slot",
                                                  to_text(spec.vc_chunk_size), to_text(spec.slot_size)));
    }
  }
  void check_topology(const std::string& path, const AlgorithmSpec& spec) {
    if (!spec.topology || !read(path, "module") || !read(path, "topology")) return;
    if (spec.is_automatic(CollectiveOperation::all_reduce))
      return report(path + ".topology", "auto takes algorithms of any arrangement: leave it out");
    const std::string_view needed = spec.table->find(CollectiveOperation::all_reduce, spec.module).topology;
    if (*spec.topology == needed) return;
    std::vector<std::string_view> fitting;
    for (const auto& each : spec.table->all()) {
      const bool reduces = each.operation == CollectiveOperation::all_reduce;
      if (reduces && each.topology == *spec.topology) fitting.push_back(each.name);
    }
    report(path + ".topology",
           fmt::format("{} needs {}, found \"{}\"{}; {} is for {}", spec.module, needed, *spec.topology,
                       says(path, "topology") ? "" : " in defaults", *spec.topology, fmt::join(fitting, ", ")));
  }
  void check_default(const Collectives& collectives) {
    const topology::Entry* entry = root_.find("algorithms");
    if (entry == nullptr || (entry->value.kind == topology::Node::Kind::mapping && entry->value.entries.empty())) {
      report("algorithms", "a mapping of at least one name to an algorithm is needed");
    } else if (!collectives.algorithms.empty() && !collectives.algorithms.contains(collectives.algorithm) &&
               read("defaults", "algorithm")) {
      report("defaults.algorithm", unknown_algorithm(collectives, collectives.algorithm));
    }
  }

 private:
  bool read(const std::string& path, const std::string& key) const {
    return !unread_.contains(path + "." + key) && !unread_.contains("defaults." + key);
  }
  /// Whether an algorithm has the key itself.
  bool says(const std::string& path, const std::string& key) const {
    const topology::Entry* algorithms = root_.find("algorithms");
    const topology::Entry* mine = algorithms->value.find(path.substr(path.find('.') + 1));
    return mine->value.find(key) != nullptr;
  }
  void report(const std::string& path, const std::string& message) {
    problems_.push_back({topology::place_of(root_, path), path + ": " + message});
  }

  const topology::Node& root_;
  const std::set<std::string>& unread_;
  std::vector<topology::Problem>& problems_;
};

}  // namespace

Collectives parse_collectives(std::string_view yaml, const std::string& file_name, const AlgorithmTableRef& table) {
  std::vector<topology::Problem> problems;
  std::set<std::string> unread;
  topology::Node root = topology::parse_document(yaml, -1, problems);
  translate_all(root, problems);
  const topology::ModelNames no_models;
  Collectives collectives;
  collectives.defaults.table = table;
  topology::SpecReader reader(root, no_models, problems, unread);
  describe_defaults(reader, collectives);
  reader.entries("algorithms", "names of algorithms, each with its keys", [&](const std::string& name) {
    AlgorithmSpec& spec = collectives.algorithms.emplace(name, collectives.defaults).first->second;
    describe_algorithm(reader, spec);
  });
  reader.finish();

  Checks checks(root, unread, problems);
  if (root.kind == topology::Node::Kind::mapping) checks.check_default(collectives);
  for (const auto& [name, spec] : collectives.algorithms) {
    checks.check_algorithm("algorithms." + name, spec);
    checks.check_topology("algorithms." + name, spec);
  }
  if (!problems.empty()) topology::throw_problems(problems, file_name);
  return collectives;
}

namespace {

/// A path of a collectives file: relative to the folder of that file.
std::string beside(const std::string& file, const std::string& path) {
  return (fs::path(file).parent_path() / path).string();
}

/// Reads the files that entries name: schedules become algorithms of the table, with the names of their entries.
Collectives with_files(Collectives collectives, const std::string& file) {
  CollectiveRegistry own = collectives.defaults.table->own();
  std::map<std::string, std::string> schedules;  // entry, algorithm
  for (const auto& [name, spec] : collectives.algorithms) {
    if (!spec.msccl) continue;
    try {
      own.add(collectives::load_msccl(beside(file, *spec.msccl), name));
    } catch (const ValueError& error) {
      throw ConfigurationError(
          fmt::format("{}: algorithms.{}: {} (an entry's schedule has the entry's name)", file, name, error.what()));
    }
    schedules[name] = own.algorithms().back()->name;
  }
  const auto table = schedules.empty() ? collectives.defaults.table : std::make_shared<const AlgorithmTable>(own);
  collectives.defaults.table = table;
  for (auto& [name, spec] : collectives.algorithms) {
    spec.table = table;
    if (schedules.contains(name)) spec.take(*table->named(schedules[name]));
    if (!spec.tune) continue;
    const std::string path = beside(file, *spec.tune);
    spec.tuning = std::make_shared<const Tuning>(topology::read_file(path, "tuning"), path, *table);
  }
  return collectives;
}

Collectives read_collectives(const std::string& file, const AlgorithmTableRef& table) {
  return with_files(parse_collectives(topology::read_file(file, "collectives"), file, table), file);
}

}  // namespace

Collectives load_collectives(const std::string& path, const AlgorithmTableRef& table) {
  if (!path.empty()) return read_collectives(path, table);
  std::error_code ignored;
  if (fs::exists(kFileName, ignored)) {
    const std::string own = fmt::format("./{}", kFileName);
    return read_collectives(own, table);
  }
  for (const std::string& folder : topology::shipped_folders("collectives")) {
    const std::string shipped = fmt::format("{}/{}", folder, kFileName);
    if (fs::is_regular_file(shipped, ignored)) {
      return read_collectives(shipped, table);
    }
  }
  throw ConfigurationError(
      fmt::format("there is no ./{} and no shipped one: KernBench is not installed as a whole", kFileName));
}

void check_unambiguous(const Collectives& collectives, const std::string& name) {
  const auto entry = collectives.algorithms.find(name);
  const CollectiveAlgorithm* algorithm = collectives.defaults.table->named(name);
  if (entry == collectives.algorithms.end() || algorithm == nullptr) return;
  const std::string& taken = entry->second.algorithm_for(algorithm->operation);
  if (taken == name) return;
  throw ConfigurationError(fmt::format(
      "{} is the name of an algorithm of {} and of an entry of the collectives file, which takes {} for that: rename "
      "one of them",
      name, distributed::name(algorithm->operation), taken));
}

AlgorithmSpec find_algorithm(const Collectives& collectives, const std::string& name) {
  check_unambiguous(collectives, name.empty() ? collectives.algorithm : name);
  const auto found = collectives.algorithms.find(name.empty() ? collectives.algorithm : name);
  if (found != collectives.algorithms.end()) return found->second;
  const CollectiveAlgorithm* algorithm = collectives.defaults.table->named(name);
  if (algorithm == nullptr) throw ConfigurationError(unknown_algorithm(collectives, name));
  AlgorithmSpec spec = find_algorithm(collectives);
  spec.take(*algorithm);
  return spec;
}

WorldSize world_size(const AlgorithmSpec& algorithm, std::int32_t sips, std::int64_t pes_per_sip) {
  const std::int32_t ranks = algorithm.world_size.value_or(sips);
  if (ranks > sips * pes_per_sip) {
    throw ConfigurationError(
        fmt::format("a world_size of {} is more than the machine has PEs ({} SIPs of {})", ranks, sips, pes_per_sip));
  }
  return {ranks, ranks > sips};
}

std::string collectives_reference() {
  topology::ReferenceSink sink;
  topology::Walk<topology::ReferenceSink> walk(sink);
  const Collectives defaults;
  describe_defaults(walk, defaults);
  walk.section("algorithms.NAME", "an algorithm; beside the keys of `defaults`, which hold where it says nothing:",
               [&] { walk.field(module_field(*defaults.defaults.table), defaults.defaults.module); });
  return sink.markdown;
}

}  // namespace kernbench::distributed
