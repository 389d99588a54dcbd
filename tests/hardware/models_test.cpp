// Component models of the caller's own: they are asked as their interface says, and what they answer is what happens.
#include "hardware/models.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>

#include "bench.h"
#include "kernbench/error.h"
#include "open_page.h"

namespace kernbench::hardware {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;

template <class Model>
auto factory() {
  return [](const auto& figures, const ModelParameters& parameters) {
    return std::make_unique<Model>(figures, parameters);
  };
}

ModelRegistry open_page() {
  return ModelRegistry().add_hbm("open_page", factory<OpenPage>());
}

topology::Topology with_open_page(topology::Topology machine) {
  machine.cube.hbm.model = "open_page";
  machine.cube.hbm.parameters = {{"row", "2KiB"}, {"activate", "13ns"}, {"precharge", "17ns"}, {"banks", "4"}};
  return machine;
}

template <class Call>
std::string error_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.type() + ": " + error.what();
  }
  return "no error";
}

// The address in the slice of byte `local` of channel `channel`, found by trying all granules.
std::uint64_t slice_address(std::uint32_t channel, std::uint64_t local) {
  constexpr std::uint64_t kChannels = 4, kGranule = 1024;
  for (std::uint64_t i = 0; i < kChannels; ++i) {
    const std::uint64_t address = (local / kGranule * kChannels + i) * kGranule + local % kGranule;
    if (interleave(address, Bytes(kGranule), kChannels) == channel) return address;
  }
  ADD_FAILURE();
  return 0;
}

Time moved(std::int64_t bytes) {
  return transfer_time(Bytes(std::max<std::int64_t>(bytes, 64)), Bandwidth::bytes_per_second(298'000'000'000 / 8));
}

TEST(OpenPageModel, HitsAndMissesCostTheirLaw) {
  Bench bench(with_open_page(tiny()), false, open_page());
  const std::vector<std::pair<std::uint64_t, Time>> accesses{
      {0, ns(13)},         // the bank has no open row: activate
      {1024, Time()},      // the same row of 2 KiB
      {2048, ns(13)},      // the next row is in the next bank
      {0, Time()},         // its row is open still
      {4 * 2048, ns(30)},  // the same bank, another row: precharge and activate
      {0, ns(30)},
  };
  bench.run(at(0, 0, 0), [&](ProgramScope& p) {
    for (const auto& [local, penalty] : accesses) p.load({leg(p.pe(), slice_address(1, local), 500)})->done.wait();
  });
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    const Command& load = *bench.log.operations[i];
    EXPECT_EQ(load.times.effect, load.times.started + ps(30'011) + moved(500) + accesses[i].second + ns(89)) << i;
    EXPECT_EQ(load.times.finished, load.times.effect + ps(1)) << i;
  }
}

TEST(OpenPageModel, ReadsAndWritesShareTheOpenRow) {
  Bench bench(with_open_page(tiny()), false, open_page());
  bench.run(at(0, 0, 0), [&](ProgramScope& p) {
    p.store({leg(p.pe(), slice_address(0, 0), 64)})->done.wait();
    p.load({leg(p.pe(), slice_address(0, 64), 64)})->done.wait();
    p.load({leg(p.pe(), slice_address(2, 64), 64)})->done.wait();
  });
  const auto& all = bench.log.operations;
  EXPECT_EQ(all[0]->times.effect, all[0]->times.started + ps(30'011) + ps(1) + moved(64) + ns(13) + ns(89));
  EXPECT_EQ(all[1]->times.effect, all[1]->times.started + ps(30'011) + moved(64) + ns(89)) << "a hit";
  EXPECT_EQ(all[2]->times.effect, all[2]->times.started + ps(30'011) + moved(64) + ns(13) + ns(89))
      << "each channel has its own";
}

TEST(OpenPageModel, RandomAccessesCostWhatAPlainModelOfRowsSays) {
  std::mt19937_64 random(7);
  std::vector<std::pair<std::uint32_t, std::uint64_t>> accesses;
  for (int i = 0; i < 300; ++i) accesses.emplace_back(random() % 4, random() % 16 * 1024 + random() % 2 * 512);
  Bench bench(with_open_page(tiny()), false, open_page());
  bench.run(at(0, 0, 0), [&](ProgramScope& p) {
    for (const auto& [channel, local] : accesses) p.load({leg(p.pe(), slice_address(channel, local), 64)})->done.wait();
  });
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint64_t> open;  // row of each channel and bank
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    const auto& [channel, local] = accesses[i];
    const std::uint64_t row = local / 2048;
    const auto found = open.find({channel, row % 4});
    const Time penalty = found == open.end() ? ns(13) : found->second == row ? Time() : ns(30);
    open[{channel, row % 4}] = row;
    const Command& load = *bench.log.operations[i];
    ASSERT_EQ(load.times.effect, load.times.started + ps(30'011) + moved(64) + penalty + ns(89)) << i;
  }
}

// ---- what the interfaces are told

struct SeenByModels {
  std::vector<HbmAccess> accesses;
  std::vector<GemmCommand> gemm;
  std::vector<VectorCommand> vector;
  std::vector<DmaDescriptor> dma;
};

class WatchedChannel final : public HbmChannelModel {
 public:
  explicit WatchedChannel(SeenByModels& seen) : seen_(seen) {}
  Time service(const HbmAccess& access) override {
    seen_.accesses.push_back(access);
    return ps(1000);
  }

 private:
  SeenByModels& seen_;
};

template <class Base, class Command>
class Watched final : public Base {
 public:
  Watched(std::vector<Command>& seen, Time duration) : seen_(seen), duration_(duration) {}
  Time end(const Command& command) override {
    seen_.push_back(command);
    return command.start + duration_;
  }

 private:
  std::vector<Command>& seen_;
  Time duration_;
};

class WatchedDma final : public DmaModel {
 public:
  WatchedDma(std::vector<DmaDescriptor>& seen, Time setup) : seen_(seen), setup_(setup) {}
  Time setup(const DmaDescriptor& descriptor) override {
    seen_.push_back(descriptor);
    return setup_ * descriptor.rows;
  }

 private:
  std::vector<DmaDescriptor>& seen_;
  Time setup_;
};

ModelRegistry watched(SeenByModels& seen, Time duration = ps(12'345)) {
  ModelRegistry models;
  models.add_hbm("watched", [&](const HbmChannelFigures&, const ModelParameters&) {
    return std::make_unique<WatchedChannel>(seen);
  });
  models.add_gemm("watched", [&, duration](const GemmFigures& figures, const ModelParameters&) {
    EXPECT_EQ(figures.rows, 8);
    EXPECT_EQ(figures.columns, 16);
    EXPECT_EQ(figures.clock, Frequency::megahertz(1499));
    return std::make_unique<Watched<GemmModel, GemmCommand>>(seen.gemm, duration);
  });
  models.add_vector("watched", [&, duration](const VectorFigures& figures, const ModelParameters&) {
    EXPECT_EQ(figures.lanes, 32);
    EXPECT_EQ(figures.tcm_bandwidth, Bandwidth::gigabytes_per_second(509));
    return std::make_unique<Watched<VectorModel, VectorCommand>>(seen.vector, duration);
  });
  models.add_dma("watched", [&, duration](const DmaFigures& figures, const ModelParameters&) {
    EXPECT_EQ(figures.setup, ps(30'011));
    return std::make_unique<WatchedDma>(seen.dma, duration);
  });
  return models;
}

TEST(OwnModels, EnginesAskThemAboutEachCommandAndKeepToTheirAnswer) {
  topology::Topology machine = tiny();
  machine.pe.gemm.model = machine.pe.vector.model = machine.pe.dma.model = "watched";
  SeenByModels seen;
  Bench bench(machine, false, watched(seen));
  bench.run(at(0, 0, 0), [](ProgramScope& p) {
    p.gemm({2, 20, 30, 33, topology::GemmOperand::f32, 5, 6});
    p.vector({100, VectorOperation::erf, 2, 7, Bytes(600)});
    p.load({{p.pe(), {StridedRange{0, 3, Bytes(100), 4096}}}, leg(at(0, 0, 1), 0, 50)});
  });
  const auto& all = bench.log.operations;
  ASSERT_EQ(seen.gemm.size(), 1u);
  EXPECT_EQ(seen.gemm[0].batch, 2);
  EXPECT_EQ(seen.gemm[0].m, 20);
  EXPECT_EQ(seen.gemm[0].n, 30);
  EXPECT_EQ(seen.gemm[0].k, 33);
  EXPECT_EQ(seen.gemm[0].operand, GemmOperand::f32);
  EXPECT_EQ(seen.gemm[0].steps, 4 * 33);
  EXPECT_EQ(seen.gemm[0].start, all[0]->times.started);
  EXPECT_EQ(seen.gemm[0].fold_rows, 5);
  EXPECT_EQ(seen.gemm[0].fold_columns, 6);
  EXPECT_EQ(all[0]->times.finished, all[0]->times.started + ps(12'345));
  ASSERT_EQ(seen.vector.size(), 1u);
  EXPECT_EQ(seen.vector[0].elements, 100);
  EXPECT_EQ(seen.vector[0].operation, VectorOperation::erf);
  EXPECT_EQ(seen.vector[0].cycles, 16);
  EXPECT_EQ(seen.vector[0].item_bytes, 2);
  EXPECT_EQ(seen.vector[0].reduced, 7);
  EXPECT_EQ(seen.vector[0].operand_bytes, Bytes(600));
  EXPECT_EQ(all[1]->times.finished, all[1]->times.started + ps(12'345));
  ASSERT_EQ(seen.dma.size(), 1u);
  EXPECT_EQ(seen.dma[0].slices, 2);
  EXPECT_EQ(seen.dma[0].rows, 4);
  EXPECT_EQ(seen.dma[0].bytes, Bytes(350));
  EXPECT_FALSE(seen.dma[0].write);
  // The far leg is the longer one: request, channel, links, port.
  Bench built_in(tiny());
  built_in.run(at(0, 0, 0), [](ProgramScope& p) {
    p.load({{p.pe(), {StridedRange{0, 3, Bytes(100), 4096}}}, leg(at(0, 0, 1), 0, 50)});
  });
  const Command& same = *built_in.log.operations[0];
  EXPECT_EQ(all[2]->times.finished - all[2]->times.started - 4 * ps(12'345),
            same.times.finished - same.times.started - ps(30'011));
}

TEST(OwnModels, AChannelIsAskedOnceForEachAccessInTheOrderOfServiceAtItsOwnAddresses) {
  topology::Topology machine = tiny();
  machine.cube.hbm.model = "watched";
  SeenByModels seen;
  Bench bench(machine, false, watched(seen));
  bench.run(at(0, 0, 0), [](ProgramScope& p) {
    p.load({leg(p.pe(), 0, 8192)})->done.wait();
    p.store({leg(p.pe(), 5000, 100)})->done.wait();
  });
  ASSERT_EQ(seen.accesses.size(), 9u);
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(seen.accesses[i].address, i / 4 * 1024) << "two granules of each of four channels";
    EXPECT_EQ(seen.accesses[i].bytes, Bytes(1024));
    EXPECT_FALSE(seen.accesses[i].write);
    EXPECT_EQ(seen.accesses[i].start, bench.log.operations[0]->times.started + ps(30'011) + (i / 4) * ps(1000));
  }
  EXPECT_EQ(seen.accesses[8].address, 1024 + 5000 % 1024);
  EXPECT_EQ(seen.accesses[8].bytes, Bytes(100));
  EXPECT_TRUE(seen.accesses[8].write);
}

TEST(OwnModels, AWrongAnswerIsAnErrorThatNamesThePart) {
  const auto run = [](const char* part, Time duration) {
    topology::Topology machine = tiny();
    (std::string(part) == "gemm" ? machine.pe.gemm.model : machine.pe.dma.model) = "watched";
    SeenByModels seen;
    return error_of([&] {
      Bench bench(machine, false, watched(seen, duration));
      bench.run(at(0, 0, 1), [](ProgramScope& p) {
        p.gemm({1, 1, 1, 1});
        p.load({leg(p.pe(), 0, 64)});
      });
    });
  };
  EXPECT_THAT(run("gemm", Time()), HasSubstr("ModelError: the model \"watched\" of sip0.cube0.pe1.gemm lets dot#0"));
  EXPECT_THAT(run("dma", ps(-1)),
              MatchesRegex("ModelError: the model \"watched\" of sip0.cube0.pe1.dma.queue0 gave a set-up of -1 ps for "
                           ".* at [0-9.]+ [munp]s; it must not be negative"));

  class Instant final : public HbmChannelModel {
    Time service(const HbmAccess&) override { return {}; }
  };
  topology::Topology machine = tiny();
  machine.cube.hbm.model = "instant";
  const ModelRegistry models = ModelRegistry().add_hbm(
      "instant", [](const HbmChannelFigures&, const ModelParameters&) { return std::make_unique<Instant>(); });
  EXPECT_THAT(error_of([&] {
                Bench bench(machine, false, models);
                bench.run(at(0, 0, 1), [](ProgramScope& p) { p.load({leg(p.pe(), 0, 64)}); });
              }),
              MatchesRegex("ModelError: the model \"instant\" of sip0.cube0.pe1.hbm.channel0 gave a service time of 0 "
                           "ps for an access of 64 B at [0-9.]+ [munp]s; it must be at least 1 ps"));
}

class Endless final : public HbmChannelModel {
  Time service(const HbmAccess&) override { return Time::max(); }
};

TEST(OwnModels, AnAnswerBeyondTheLatestTimeIsAnErrorThatNamesThePart) {
  const auto run = [](const char* part, Time duration) {
    topology::Topology machine = tiny();
    if (part == std::string("hbm")) machine.cube.hbm.model = "endless";
    if (part == std::string("gemm")) machine.pe.gemm.model = "watched";
    if (part == std::string("dma")) machine.pe.dma.model = "watched";
    SeenByModels seen;
    ModelRegistry models = watched(seen, duration);
    models.add_hbm("endless",
                   [](const HbmChannelFigures&, const ModelParameters&) { return std::make_unique<Endless>(); });
    return error_of([&] {
      Bench bench(machine, false, models);
      bench.run(at(0, 0, 1), [](ProgramScope& p) {
        p.gemm({1, 1, 1, 1});
        p.load({leg(p.pe(), 0, 64)});
      });
    });
  };
  const Time too_long = Time::seconds(5'000'000);
  EXPECT_THAT(run("gemm", too_long), HasSubstr("can be simulated: dot#0 on sip0.cube0.pe1.gemm would end then"));
  EXPECT_THAT(run("dma", too_long),
              HasSubstr("the model \"watched\" of sip0.cube0.pe1.dma.queue0 gave a set-up of 5000000 s"));
  EXPECT_THAT(run("hbm", too_long),
              HasSubstr("the model \"endless\" of sip0.cube0.pe1.hbm.channel0 gave a service time of 9223"));
}

/// Models that throw, of each kind.
struct ThrowingModels {
  struct Channel final : HbmChannelModel {
    Time service(const HbmAccess&) override { throw std::runtime_error("boom"); }
  };
  template <class Base, class Command>
  struct Engine final : Base {
    Time end(const Command&) override { throw ValueError("no such tile"); }
  };
  struct Dma final : DmaModel {
    Time setup(const DmaDescriptor&) override { throw 7; }  // NOLINT(hicpp-exception-baseclass): as users may
  };
  static ModelRegistry registry() {
    ModelRegistry models;
    models.add_hbm("bad", [](const auto&, const auto&) { return std::make_unique<Channel>(); });
    models.add_gemm("bad", [](const auto&, const auto&) { return std::make_unique<Engine<GemmModel, GemmCommand>>(); });
    models.add_vector("bad",
                      [](const auto&, const auto&) { return std::make_unique<Engine<VectorModel, VectorCommand>>(); });
    models.add_dma("bad", [](const auto&, const auto&) { return std::make_unique<Dma>(); });
    models.add_gemm("none", [](const GemmFigures&, const ModelParameters&) { return std::unique_ptr<GemmModel>(); });
    models.add_gemm("unmade", [](const GemmFigures&, const ModelParameters&) -> std::unique_ptr<GemmModel> {
      throw std::runtime_error("no licence");
    });
    return models;
  }
};

TEST(OwnModels, WhatTheyThrowNamesTheModelThePartAndTheTime) {
  const auto with = [](auto change) {
    topology::Topology machine = tiny();
    change(machine);
    return error_of([&] {
      Bench bench(machine, false, ThrowingModels::registry());
      bench.run(at(0, 0, 1), [](ProgramScope& p) {
        p.load({leg(p.pe(), 0, 64)})->done.wait();
        p.gemm({1, 1, 1, 1})->done.wait();
        p.vector({1, VectorOperation::add, 2, 4, Bytes(12)});
      });
    });
  };
  EXPECT_THAT(with([](auto& machine) { machine.cube.hbm.model = "bad"; }),
              MatchesRegex("ModelError: the model \"bad\" of sip0.cube0.pe1.hbm.channel0 threw at [0-9.]+ us: "
                           "std::runtime_error: boom"));
  EXPECT_THAT(with([](auto& machine) { machine.pe.gemm.model = "bad"; }),
              MatchesRegex("ModelError: the model \"bad\" of sip0.cube0.pe1.gemm threw at [0-9.]+ us: "
                           "ValueError: no such tile"));
  EXPECT_THAT(with([](auto& machine) { machine.pe.vector.model = "bad"; }),
              MatchesRegex("ModelError: the model \"bad\" of sip0.cube0.pe1.vector threw at [0-9.]+ us: "
                           "ValueError: no such tile"));
  EXPECT_THAT(
      with([](auto& machine) { machine.pe.dma.model = "bad"; }),
      MatchesRegex(
          "ModelError: the model \"bad\" of sip0.cube0.pe1.dma.queue0 threw at [0-9.]+ ns: int: 7 was thrown.*"));
  EXPECT_EQ(
      with([](auto& machine) { machine.pe.gemm.model = "unmade"; }),
      "ModelError: the factory of model \"unmade\" for sip0.cube0.pe0.gemm threw: std::runtime_error: no licence");
  EXPECT_THAT(with([](auto& machine) { machine.pe.gemm.model = "none"; }),
              HasSubstr("the factory of model \"none\" made none for sip0.cube0.pe0.gemm: it returned nullptr"));
}

TEST(OwnModels, TimesThatWouldLookAlikeAreToldApartInPicoseconds) {
  using Times = std::pair<std::string, std::string>;
  EXPECT_EQ(told_apart(ps(5'120'000'000), ps(5'120'000'001)), Times("5120000000 ps", "5120000001 ps"));
  EXPECT_EQ(told_apart(ps(5'120'000), ps(5'121'000)), Times("5.12 us", "5.121 us"));
  EXPECT_EQ(told_apart(ps(5'120'000), ps(5'120'000)), Times("5.12 us", "5.12 us"));
}

TEST(OwnModels, WhatIsWrongWithAParameterHasItsPlace) {
  topology::Topology machine = with_open_page(tiny());
  machine.cube.hbm.parameters["banks"] = "0";
  machine.parameter_places.places = {{"cube.hbm.parameters.banks", "mine.yaml:12:7"}};
  EXPECT_EQ(error_of([&] { Bench bench(machine, false, open_page()); }),
            "ConfigurationError: mine.yaml:12:7: cube.hbm.parameters.banks: must be 1 to 1024 (model \"open_page\")");
}

TEST(OwnModels, ParametersAreReadStrictly) {
  const auto message = [](const topology::ModelParameterTexts& parameters) {
    topology::Topology machine = with_open_page(tiny());
    machine.cube.hbm.parameters = parameters;
    return error_of([&] { Bench bench(machine, false, open_page()); });
  };
  EXPECT_EQ(message({}), "no error");
  EXPECT_EQ(message({{"activat", "13ns"}}),
            "ConfigurationError: cube.hbm.parameters.activat: unknown parameter, did you mean \"activate\"? (model "
            "\"open_page\")");
  EXPECT_THAT(message({{"colour", "13ns"}}), HasSubstr("the model takes activate, banks, precharge, row"));
  EXPECT_THAT(message({{"row", "13ns"}}), HasSubstr("cube.hbm.parameters.row: expected"));
  EXPECT_THAT(message({{"banks", "0"}}), HasSubstr("cube.hbm.parameters.banks: must be 1 to 1024"));
  const ModelParameters none("pe.gemm.parameters", "mine", {});
  EXPECT_THAT(error_of([&] { (void)none.time("fill"); }),
              HasSubstr("pe.gemm.parameters.fill: missing; the model needs a time such as 80ns"));
}

TEST(OwnModels, NamesAreCheckedWhereTheyAreAddedAndWhereTheyAreUsed) {
  ModelRegistry models = open_page();
  EXPECT_THAT(error_of([&] { models.add_hbm("hbm", factory<OpenPage>()); }),
              HasSubstr("a built-in model has this name"));
  EXPECT_THAT(error_of([&] { models.add_hbm("open_page", factory<OpenPage>()); }), HasSubstr("was added before"));
  EXPECT_THAT(error_of([&] { models.add_hbm("open page", factory<OpenPage>()); }), HasSubstr("a name is 1 to 64"));
  EXPECT_THAT(error_of([&] { models.add_gemm("mine", {}); }), HasSubstr("has no factory"));
  EXPECT_THAT(error_of([&] { models.add_hbm("null", factory<OpenPage>()); }),
              HasSubstr("a topology file reads this name as no value"));
  topology::Topology machine = tiny();
  machine.cube.hbm.model = "open_pag";
  EXPECT_EQ(error_of([&] { Bench bench(machine, false, models); }),
            "ConfigurationError: cube.hbm.model is \"open_pag\", but there is no such model, did you mean "
            "\"open_page\"?; models: hbm open_page");
}

}  // namespace
}  // namespace kernbench::hardware
