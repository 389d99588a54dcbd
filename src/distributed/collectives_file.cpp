#include "distributed/collectives_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/quantity.h"
#include "base/text.h"
#include "distributed/algorithms/own_algorithm.h"
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

/// An algorithm with a schedule needs no `module`.
topology::Field module_field(const AlgorithmTable& table, bool required = true) {
  return {"module", "algorithm of all-reduces; auto: of each call the one that costs least, as for other operations",
          required, 0,
          0,        table.choices(CollectiveOperation::all_reduce)};
}

template <class V, class S>
void describe_algorithm(V& visit, S& spec, bool has_schedule) {
  visit.field(module_field(*spec.table, !has_schedule), spec.module);
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

/// `algorithm` as a map by operation: what it says of an operation becomes the key of that operation, and of
/// all-reduces that of `algorithm` itself.
void spread_map(topology::Node& defaults, std::vector<topology::Problem>& problems) {
  const auto map = std::ranges::find(defaults.entries, "algorithm", &topology::Entry::key);
  if (map == defaults.entries.end() || map->value.kind != topology::Node::Kind::mapping) return;
  const topology::SourcePlace place = map->place;
  const std::size_t before = problems.size();
  std::vector<topology::Entry> by_operation = std::move(map->value.entries);
  defaults.entries.erase(map);
  for (topology::Entry& each : by_operation) {
    const std::string path = "defaults.algorithm." + printable(each.key);
    if (std::ranges::find(kCollectiveOperationNames, each.key) == kCollectiveOperationNames.end()) {
      const std::string_view near = topology::near(each.key, kCollectiveOperationNames);
      problems.push_back({each.place, fmt::format("{}: unknown operation{}", path,
                                                  near.empty() ? fmt::format("; the operations are {}",
                                                                             fmt::join(kCollectiveOperationNames, ", "))
                                                               : fmt::format(", did you mean \"{}\"?", near))});
      continue;
    }
    if (defaults.find(each.key) != nullptr) {
      problems.push_back({each.place, fmt::format("{}: given twice, here and as defaults.{}", path, each.key)});
      continue;
    }
    if (each.key == name(CollectiveOperation::all_reduce)) each.key = "algorithm";
    defaults.entries.push_back(std::move(each));
  }
  if (defaults.find("algorithm") != nullptr) return;
  // An operation that is unknown may be the one that is missing.
  if (problems.size() == before)
    problems.push_back({place,
                        "defaults.algorithm: the map has no all_reduce; add the name of the entry that is used when a "
                        "program names none, such as {all_reduce: NAME}"});
  topology::Entry reported{"algorithm", place, {}};
  reported.value.kind = topology::Node::Kind::invalid;
  defaults.entries.push_back(std::move(reported));
}

void translate_all(topology::Node& root, std::vector<topology::Problem>& problems) {
  for (topology::Entry& entry : root.entries) {
    if (entry.key == "defaults") {
      spread_map(entry.value, problems);
      translate(entry.value);
    }
    if (entry.key != "algorithms") continue;
    for (topology::Entry& algorithm : entry.value.entries) translate(algorithm.value);
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

/// The section under a key, and that of an entry; null: the tree has none.
const topology::Node* find_section(const topology::Node& root, std::string_view key) {
  const topology::Entry* entry = root.find(key);
  return entry == nullptr ? nullptr : &entry->value;
}
const topology::Node* find_entry(const topology::Node& root, std::string_view name) {
  const topology::Node* algorithms = find_section(root, "algorithms");
  return algorithms == nullptr ? nullptr : find_section(*algorithms, name);
}
bool has_key(const topology::Node* section, std::string_view key) {
  return section != nullptr && section->find(key) != nullptr;
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
    return has_key(find_entry(root_, path.substr(path.find('.') + 1)), key);
  }
  void report(const std::string& path, const std::string& message) {
    problems_.push_back({topology::place_of(root_, path), path + ": " + message});
  }

  const topology::Node& root_;
  const std::set<std::string>& unread_;
  std::vector<topology::Problem>& problems_;
};

/// A file's text as values, with the tree that has its places, and which keys each section has of its own.
struct ReadText {
  topology::Node root;
  Collectives collectives;
};

ReadText read_text(std::string_view yaml, const std::string& file_name, const AlgorithmTableRef& table) {
  std::vector<topology::Problem> problems;
  std::set<std::string> unread;
  ReadText text{topology::parse_document(yaml, -1, problems), {}};
  topology::Node& root = text.root;
  translate_all(root, problems);
  const topology::ModelNames no_models;
  Collectives& collectives = text.collectives;
  collectives.defaults.table = table;
  topology::SpecReader reader(root, no_models, problems, unread);
  describe_defaults(reader, collectives);
  reader.entries("algorithms", "names of algorithms, each with its keys", [&](const std::string& name) {
    AlgorithmSpec& spec = collectives.algorithms.emplace(name, collectives.defaults).first->second;
    const bool has_schedule =
        has_key(find_entry(root, name), "msccl") || has_key(find_section(root, "defaults"), "msccl");
    // Of all-reduces, if the schedule is for another operation.
    if (has_schedule) spec.module = kAutomatic;
    describe_algorithm(reader, spec, has_schedule);
  });
  reader.finish();

  Checks checks(root, unread, problems);
  if (root.kind == topology::Node::Kind::mapping) checks.check_default(collectives);
  for (const auto& [name, spec] : collectives.algorithms) {
    checks.check_algorithm("algorithms." + name, spec);
    checks.check_topology("algorithms." + name, spec);
  }
  if (!problems.empty()) topology::throw_problems(problems, file_name);
  return text;
}

/// The key of `defaults` and of an algorithm that says which algorithm an operation has.
std::string_view key_of(CollectiveOperation operation) {
  return operation == CollectiveOperation::all_reduce ? "module" : name(operation);
}

/// The files that a collectives file names: schedules become algorithms of the table, with the names of their entries.
class NamedFiles {
 public:
  NamedFiles(ReadText text, const std::string& file)
      : root_(std::move(text.root)), collectives_(std::move(text.collectives)), file_(file) {}

  Collectives read() && {
    check_presence("defaults", collectives_.defaults);
    for (const auto& [name, spec] : collectives_.algorithms) check_presence("algorithms." + name, spec);
    fail();
    read_schedules();
    fail();
    read_tunings();
    return std::move(collectives_);
  }

 private:
  /// Relative to the folder of the collectives file.
  std::string path_of(const topology::FilePath& path) const {
    return (fs::path(file_).parent_path() / path.text).string();
  }
  const topology::Node* section(const std::string& path) const {
    return path == "defaults" ? find_section(root_, path) : find_entry(root_, path.substr(path.find('.') + 1));
  }
  void report(const std::string& path, const std::string& message) {
    std::string text = path + ": " + message;
    // Each entry meets the faults of `defaults` again.
    if (std::ranges::find(problems_, text, &topology::Problem::message) != problems_.end()) return;
    problems_.push_back({topology::place_of(root_, path), std::move(text)});
  }
  void fail() const {
    if (!problems_.empty()) topology::throw_problems(problems_, file_);
  }

  /// Of the files that a section names itself.
  void check_presence(const std::string& path, const AlgorithmSpec& spec) {
    const auto check = [&](const std::string& key, const std::optional<topology::FilePath>& named) {
      std::error_code ignored;
      if (!named || !has_key(section(path), key) || fs::exists(path_of(*named), ignored)) return;
      report(path + "." + key,
             fmt::format("there is no file {}; a path is absolute, or from the folder of this file", path_of(*named)));
    };
    check("msccl", spec.msccl);
    check("tune", spec.tune);
  }

  /// What an entry says itself of the schedule's operation comes before a schedule of `defaults`. Beside a schedule in
  /// the same section it contradicts that.
  bool takes_schedule(const std::string& name, CollectiveOperation operation) {
    const std::string key(key_of(operation)), path = "algorithms." + name;
    const bool is_own = has_key(section(path), "msccl");
    if (!is_own && has_key(section(path), key)) return false;
    const std::string from = is_own ? path : "defaults";
    if (!has_key(section(from), key)) return true;
    report(from + ".msccl", fmt::format("it is a schedule of {}, whose algorithm {}.{} names, too; leave one of msccl "
                                        "and {} out",
                                        distributed::name(operation), from, key, key));
    return false;
  }

  void read_schedules() {
    CollectiveRegistry own = collectives_.defaults.table->own();
    std::map<std::string, std::string> schedules;  // entry, algorithm
    for (const auto& [name, spec] : collectives_.algorithms) {
      if (!spec.msccl) continue;
      collectives::Algorithm schedule = collectives::load_msccl(path_of(*spec.msccl), name);
      if (!takes_schedule(name, distributed::operation_of(schedule.operation))) continue;
      try {
        own.add(std::move(schedule));
      } catch (const ValueError& error) {
        throw ConfigurationError(
            fmt::format("{}: algorithms.{}: {} (an entry's schedule has the entry's name)", file_, name, error.what()));
      }
      schedules[name] = own.algorithms().back()->name;
    }
    if (!schedules.empty()) collectives_.defaults.table = std::make_shared<const AlgorithmTable>(own);
    const auto table = collectives_.defaults.table;
    for (auto& [name, spec] : collectives_.algorithms) {
      spec.table = table;
      if (schedules.contains(name)) spec.take(*table->named(schedules[name]));
    }
  }

  void read_tunings() {
    for (auto& [name, spec] : collectives_.algorithms) {
      if (!spec.tune) continue;
      const std::string path = path_of(*spec.tune);
      spec.tuning = std::make_shared<const Tuning>(topology::read_file(path, "a tuning"), path, *spec.table);
    }
  }

  topology::Node root_;
  Collectives collectives_;
  const std::string& file_;
  std::vector<topology::Problem> problems_;
};

Collectives read_collectives(const std::string& file, const AlgorithmTableRef& table) {
  return NamedFiles(read_text(topology::read_file(file, "a collectives"), file, table), file).read();
}

}  // namespace

Collectives parse_collectives(std::string_view yaml, const std::string& file_name, const AlgorithmTableRef& table) {
  return read_text(yaml, file_name, table).collectives;
}

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
