#include "distributed/collectives_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "kernbench/error.h"
#include "support/source_tree.h"
#include "support/test_files.h"

namespace kernbench::distributed {
namespace {

using ::testing::HasSubstr;

template <class Call>
std::string error_of(Call call) {
  try {
    call();
  } catch (const ConfigurationError& error) {
    return error.what();
  }
  return "no error";
}

const std::string kSmall = R"(defaults:
  algorithm: ring
  n_slots: 4
  slot_size: 8KiB
algorithms:
  ring:
    module: ring_allreduce
    n_slots: 2
)";

struct Broken {
  std::string title, from, to;  // in kSmall
};

const std::vector<Broken> kBroken{
    {"misspelt key", "  n_slots: 4", "  n_slot: 4"},
    {"unknown key", "  n_slots: 4", "  slots_of_all_queues: 4"},
    {"misspelt key of an algorithm", "    n_slots: 2", "    nslots: 2"},
    {"unknown key at the top", "defaults:", "version: 1\ndefaults:"},
    {"no defaults", "defaults:\n  algorithm: ring\n  n_slots: 4\n  slot_size: 8KiB\n", ""},
    {"no default algorithm", "  algorithm: ring\n", ""},
    {"default algorithm that is misspelt", "algorithm: ring", "algorithm: rin"},
    {"default algorithm that does not exist", "algorithm: ring", "algorithm: hypercube"},
    {"map without all-reduces", "algorithm: ring", "algorithm: {broadcast: ring_broadcast}"},
    {"map with an unknown operation", "algorithm: ring", "algorithm: {all_reduce: ring, all_gathr: ring_all_gather}"},
    {"map with a word that is no operation", "algorithm: ring", "algorithm: {all_reduce: ring, foo: ring}"},
    {"map with all-reduces misspelt", "algorithm: ring", "algorithm: {all_reduc: ring}"},
    {"schedule without a path", "  n_slots: 4", "  msccl: [a.xml]"},
    {"tuning by an empty path", "  n_slots: 4", "  tune: \"\""},
    {"map with an algorithm of another operation", "algorithm: ring", "algorithm: {all_reduce: ring, reduce: rin}"},
    {"operation in the map and as a key", "algorithm: ring",
     "algorithm: {all_reduce: ring, reduce: ring_reduce}\n  reduce: ring_reduce"},
    {"default algorithm that is misspelt in a map", "algorithm: ring", "algorithm: {all_reduce: rin}"},
    {"map that is empty", "algorithm: ring", "algorithm: {}"},
    {"no algorithms", "algorithms:\n  ring:\n    module: ring_allreduce\n    n_slots: 2\n", ""},
    {"algorithms without one", "  ring:\n    module: ring_allreduce\n    n_slots: 2\n", ""},
    {"algorithm without a module", "    module: ring_allreduce\n", ""},
    {"algorithm that is no mapping", "    module: ring_allreduce\n    n_slots: 2\n", "    - 3\n"},
    {"name with a blank", "  ring:", "  my ring:"},
    {"algorithm given twice", "  ring:\n", "  ring:\n    module: ring_allreduce\n  ring:\n"},
    {"buffer in an unknown memory", "  n_slots: 4", "  buffer_kind: tmc"},
    {"unknown backpressure", "  n_slots: 4", "  backpressure: spin"},
    {"unknown validator", "  n_slots: 4", "  validator: multi_pe"},
    {"no slots", "  n_slots: 4", "  n_slots: 0"},
    {"more slots than are possible", "  n_slots: 4", "  n_slots: 100000"},
    {"slot of half a byte", "slot_size: 8KiB", "slot_size: 0.5"},
    {"slot of nothing without a unit", "slot_size: 8KiB", "slot_size: 0"},
    {"module that ends in a dot", "module: ring_allreduce", "module: ring_allreduce."},
    {"module that does not exist in a package", "module: ring_allreduce", "module: a.b.rng_allreduce"},
    {"slot of nothing", "slot_size: 8KiB", "slot_size: 0B"},
    {"chunk above the slot", "slot_size: 8KiB", "slot_size: 512B"},
    {"chunk of an algorithm above the slot", "    n_slots: 2", "    vc_chunk_size: 16KiB"},
    {"credit of nothing", "  n_slots: 4", "  ipcq_credit_size_bytes: 0B"},
    {"credit that is a time", "  n_slots: 4", "  ipcq_credit_size_bytes: 16ns"},
    {"elements with a unit", "  n_slots: 4", "  n_elem: 1KiB"},
    {"world without ranks", "  n_slots: 4", "  world_size: 0"},
    {"three problems at once", "  n_slots: 4\n  slot_size: 8KiB", "  n_slots: -1\n  slot: 8KiB\n  buffer_kind: dram"},
    {"a list", "defaults:\n  algorithm: ring\n  n_slots: 4\n  slot_size: 8KiB\n", "- defaults\n- "},
};

TEST(CollectivesFile, EveryBrokenFileIsRefusedWithPlaceAndFix) {
  std::string report;
  for (const Broken& broken : kBroken) {
    std::string text = kSmall;
    const std::size_t at = text.find(broken.from);
    ASSERT_NE(at, std::string::npos) << broken.title;
    text.replace(at, broken.from.size(), broken.to);
    const std::string error = error_of([&] { parse_collectives(text, "ccl.yaml"); });
    EXPECT_THAT(error, HasSubstr("ccl.yaml:")) << broken.title;
    report += broken.title + "\n" + error + "\n\n";
  }
  source_tree::expect_golden("tests/distributed/golden/broken_files.txt", report);
}

TEST(CollectivesFile, AnAlgorithmTakesWhatItDoesNotSayFromTheDefaults) {
  const Collectives collectives = parse_collectives(kSmall, "ccl.yaml");
  const AlgorithmSpec& ring = find_algorithm(collectives);
  EXPECT_EQ(ring.n_slots, 2);
  EXPECT_EQ(ring.slot_size, Bytes(8192));
  EXPECT_EQ(ring.vc_chunk_size, AlgorithmSpec{}.vc_chunk_size);
  EXPECT_EQ(collectives.defaults.n_slots, 4);
}

TEST(CollectivesFile, PlainNumbersAreBytesAndTheLastPartOfAModuleCounts) {
  const Collectives plain = parse_collectives(
      "defaults: {algorithm: a, slot_size: 4096, vc_chunk_size: 256, ipcq_credit_size_bytes: 16}\n"
      "algorithms: {a: {module: b.c.ring_allreduce, slot_size: 8192}}\n",
      "ccl.yaml");
  const Collectives strict = parse_collectives(
      "defaults: {algorithm: a, slot_size: 4KiB, vc_chunk_size: 256B, ipcq_credit_size_bytes: 16B}\n"
      "algorithms: {a: {module: ring_allreduce, slot_size: 8KiB}}\n",
      "ccl.yaml");
  EXPECT_EQ(plain, strict);
}

TEST(CollectivesFile, TheDefaultMayBeAMapByOperation) {
  const std::string algorithms = "algorithms: {a: {module: ring_allreduce}, b: {module: direct_allreduce}}\n";
  const Collectives map = parse_collectives(
      "defaults: {algorithm: {gather: direct_gather, all_reduce: b}, n_slots: 3}\n" + algorithms, "ccl.yaml");
  const Collectives keys =
      parse_collectives("defaults: {algorithm: b, gather: direct_gather, n_slots: 3}\n" + algorithms, "ccl.yaml");
  EXPECT_EQ(map, keys);
  EXPECT_EQ(find_algorithm(map).module, "direct_allreduce");
}

TEST(CollectivesFile, DefaultsMayStandBehindTheAlgorithms) {
  const Collectives collectives = parse_collectives(
      "algorithms: {a: {module: ring_allreduce}}\ndefaults: {algorithm: a, buffer_kind: sram}\n", "ccl.yaml");
  EXPECT_EQ(find_algorithm(collectives).buffer_kind, BufferKind::sram);
}

TEST(CollectivesFile, TheShippedOneHasTheRingInEveryMemory) {
  const Collectives shipped = load_collectives(source_tree::path("collectives/ccl.yaml"));
  EXPECT_EQ(shipped.algorithm, "auto");
  EXPECT_EQ(find_algorithm(shipped).buffer_kind, BufferKind::tcm);
  EXPECT_TRUE(find_algorithm(shipped).is_automatic(CollectiveOperation::all_reduce));
  EXPECT_EQ(find_algorithm(shipped, "ring_allreduce_tcm"), find_algorithm(shipped, "ring_allreduce"));
  EXPECT_EQ(find_algorithm(shipped, "ring_default_ws").world_size, std::nullopt);
  EXPECT_EQ(find_algorithm(shipped, "ring_allreduce_hbm").buffer_kind, BufferKind::hbm);
  EXPECT_EQ(find_algorithm(shipped, "ring_allreduce_sram").buffer_kind, BufferKind::sram);
}

TEST(CollectivesFile, AnUnknownNameHasASuggestion) {
  const Collectives collectives = parse_collectives(kSmall, "ccl.yaml");
  EXPECT_EQ(error_of([&] { find_algorithm(collectives, "rng"); }),
            "no algorithm is named \"rng\"; did you mean \"ring\"? (known: ring)");
}

// The working directory belongs to the process: it is put back.
class InFolder {
 public:
  InFolder() : before_(std::filesystem::current_path()) {
    folder_ = std::filesystem::temp_directory_path() / ("kernbench_ccl_" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
    std::filesystem::current_path(folder_);
  }
  ~InFolder() {
    std::filesystem::current_path(before_);
    std::filesystem::remove_all(folder_);
  }
  InFolder(const InFolder&) = delete;
  InFolder& operator=(const InFolder&) = delete;

 private:
  std::filesystem::path before_, folder_;
};

TEST(CollectivesFile, TheWorkingDirectoryComesBeforeTheShippedOne) {
  const InFolder folder;
  EXPECT_EQ(load_collectives().algorithm, "auto");
  std::ofstream("ccl.yaml") << kSmall;
  EXPECT_EQ(load_collectives().algorithm, "ring");
  std::ofstream("ccl.yaml") << "defaults: {algorithm: a}\n";
  EXPECT_THAT(error_of([] { load_collectives(); }), HasSubstr("./ccl.yaml:1:1: algorithms: "));
}

/// A folder with `sub/ring.xml` and `sub/gather.xml`, schedules, and with `sub/tuned.yaml`.
class FilesOfAFolder {
 public:
  FilesOfAFolder() {
    std::filesystem::create_directories(folder_ + "sub");
    const auto copy = [&](const std::string& from, const std::string& to) {
      write("sub/" + to, source_tree::read("collectives/msccl/" + from));
    };
    copy("ring_allreduce_4.xml", "ring.xml");
    copy("recursive_doubling_allgather_4.xml", "gather.xml");
    write("sub/tuned.yaml", "all_reduce: {4_sips: {0B: direct_allreduce}}\n");
  }
  const std::string& folder() const { return folder_; }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ + name) << text;
    return folder_ + name;
  }
  Collectives load(const std::string& text) const { return load_collectives(write("ccl.yaml", text)); }
  std::string error(const std::string& text) const {
    return error_of([&] { load(text); });
  }

 private:
  std::string folder_ = test_files::folder();
};

TEST(CollectivesFile, NamesOtherFilesByPathsFromItsFolder) {
  const FilesOfAFolder files;
  for (const std::string& path : {std::string("sub/"), std::string("./sub/../sub/"), files.folder() + "sub/"}) {
    const Collectives read = files.load("defaults: {algorithm: a}\nalgorithms: {a: {msccl: " + path +
                                        "ring.xml}, b: {module: auto, tune: " + path + "tuned.yaml}}\n");
    EXPECT_EQ(find_algorithm(read).module, "a") << path;
    EXPECT_NE(find_algorithm(read, "b").tuning, nullptr) << path;
  }
}

TEST(CollectivesFile, NamesFilesThatAreNotThereWithTheirPlaces) {
  const FilesOfAFolder files;
  EXPECT_EQ(files.error("defaults: {algorithm: a, tune: no.yaml}\nalgorithms:\n  a: {msccl: sub/no.xml}\n  b: {module: "
                        "auto}\n"),
            files.folder() + "ccl.yaml:1:32: defaults.tune: there is no file " + files.folder() +
                "no.yaml; a path is absolute, or from the folder of this file\n" + files.folder() +
                "ccl.yaml:3:14: algorithms.a.msccl: there is no file " + files.folder() +
                "sub/no.xml; a path is absolute, or from the folder of this file");
}

TEST(CollectivesFile, ThatIsTooLargeIsRefusedWithItsSizeAndTheLimit) {
  const FilesOfAFolder files;
  EXPECT_EQ(files.error(std::string(300'000, '#')),
            files.folder() + "ccl.yaml: has 300000 bytes; a collectives file has at most 262144 (256KiB)");
}

TEST(CollectivesFile, WhatAnAlgorithmSaysComesBeforeAScheduleOfTheDefaults) {
  const FilesOfAFolder files;
  const Collectives reduces = files.load(
      "defaults: {algorithm: a, msccl: sub/ring.xml}\n"
      "algorithms: {a: {module: direct_allreduce}, b: {all_gather: direct_all_gather}, c: {n_slots: 2}}\n");
  EXPECT_EQ(find_algorithm(reduces, "a").module, "direct_allreduce");
  EXPECT_EQ(find_algorithm(reduces, "b").module, "b");
  EXPECT_EQ(find_algorithm(reduces, "b").all_gather, "direct_all_gather");
  EXPECT_EQ(find_algorithm(reduces, "c").module, "c");
  const Collectives gathers = files.load(
      "defaults: {algorithm: a, msccl: sub/gather.xml}\n"
      "algorithms: {a: {module: direct_allreduce}, b: {all_gather: direct_all_gather}}\n");
  EXPECT_EQ(find_algorithm(gathers, "a").module, "direct_allreduce");
  EXPECT_EQ(find_algorithm(gathers, "a").all_gather, "a");
  EXPECT_EQ(find_algorithm(gathers, "b").all_gather, "direct_all_gather");
  EXPECT_TRUE(find_algorithm(gathers, "b").is_automatic(CollectiveOperation::all_reduce));
}

TEST(CollectivesFile, AnAlgorithmAndAScheduleOfOneSectionForOneOperationAreAnError) {
  const FilesOfAFolder files;
  EXPECT_EQ(files.error("defaults: {algorithm: a}\nalgorithms:\n  a: {module: ring_allreduce, msccl: sub/ring.xml}\n"),
            files.folder() +
                "ccl.yaml:3:38: algorithms.a.msccl: it is a schedule of all_reduce, whose algorithm "
                "algorithms.a.module names, too; leave one of msccl and module out");
  EXPECT_EQ(files.error("defaults: {algorithm: a, all_gather: auto, msccl: sub/gather.xml}\n"
                        "algorithms: {a: {module: auto}, b: {module: auto}}\n"),
            files.folder() +
                "ccl.yaml:1:51: defaults.msccl: it is a schedule of all_gather, whose algorithm "
                "defaults.all_gather names, too; leave one of msccl and all_gather out");
  EXPECT_EQ(files.error("defaults: {algorithm: a, all_gather: auto}\n"
                        "algorithms: {a: {module: auto, msccl: sub/gather.xml}}\n"),
            "no error");
}

TEST(CollectivesFile, AFileThatIsNotThereIsNamed) {
  EXPECT_THAT(error_of([] { load_collectives("/no/such/ccl.yaml"); }),
              HasSubstr("/no/such/ccl.yaml: there is no such file"));
}

TEST(WorldSize, IsTheAlgorithmsOwnElseTheNumberOfSips) {
  AlgorithmSpec spec;
  EXPECT_EQ(world_size(spec, 4, 128), (WorldSize{4, false}));
  spec.world_size = 3;
  EXPECT_EQ(world_size(spec, 4, 128), (WorldSize{3, false}));
  spec.world_size = 4;
  EXPECT_EQ(world_size(spec, 4, 128), (WorldSize{4, false}));
}

TEST(WorldSize, AboveTheSipsARankIsAPe) {
  AlgorithmSpec spec;
  spec.world_size = 5;
  EXPECT_EQ(world_size(spec, 4, 128), (WorldSize{5, true}));
  spec.world_size = 512;
  EXPECT_EQ(world_size(spec, 4, 128), (WorldSize{512, true}));
  spec.world_size = 513;
  EXPECT_EQ(error_of([&] { world_size(spec, 4, 128); }),
            "a world_size of 513 is more than the machine has PEs (4 SIPs of 128)");
}

TEST(CollectivesFile, ThePageListsEveryKey) {
  source_tree::expect_golden_part("docs/collectives.md", "<!-- generated: the table of all keys -->\n",
                                  "<!-- end of generated -->\n", collectives_reference());
}

}  // namespace
}  // namespace kernbench::distributed
