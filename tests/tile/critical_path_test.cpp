#include "tile/explain/critical_path.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tile/explain/trace_store.h"

namespace kernbench::tile {
namespace {

using hardware::CommandName;
using hardware::EngineKind;

Time ps(std::int64_t count) {
  return Time::picoseconds(count);
}

constexpr sim::AgentId kAgent{7};

/// An operation of the program, as what ended a wait.
hardware::Cause by(std::uint64_t number) {
  return {{kAgent, number}, "", {}};
}

struct Times {
  std::int64_t requested, granted, placed, issued, ready, started, finished;
};

ExplainedOperation operation(std::uint64_t number, EngineKind engine, const char* kind, const Times& times) {
  ExplainedOperation record;
  record.number = number;
  record.engine = engine;
  record.kind = kind;
  record.requested = ps(times.requested);
  record.granted = ps(times.granted);
  record.placed = ps(times.placed);
  record.issued = ps(times.issued);
  record.ready = ps(times.ready);
  record.started = ps(times.started);
  record.finished = ps(times.finished);
  return record;
}

std::string text_of(const std::vector<PathSegment>& path) {
  std::string text;
  for (const PathSegment& segment : path) {
    if (!text.empty()) text += ", ";
    text += std::string(name(segment.activity, segment.engine)) + (*segment.kind != '\0' ? " " : "") + segment.kind +
            " " + std::to_string(segment.duration().count());
  }
  return text;
}

void expect_tiles(const ProgramTrace& trace) {
  Time at = trace.start;
  for (const PathSegment& segment : critical_path(trace)) {
    EXPECT_EQ(segment.start, at);
    EXPECT_LT(segment.start, segment.end);
    at = segment.end;
  }
  EXPECT_EQ(at, trace.end);
}

TEST(CriticalPath, OfAProgramThatDoesNothingIsTheProgram) {
  EXPECT_EQ(text_of(critical_path({kAgent, ps(5), ps(9), {}, {}, {}})), "program 4");
  EXPECT_TRUE(critical_path({kAgent, ps(5), ps(5), {}, {}, {}}).empty());
}

TEST(CriticalPath, GoesFromTheLastWaitThroughOperandsAndTheEngineToTheInstructionStream) {
  ProgramTrace trace{kAgent, ps(0), ps(170), {}, {}, {}};
  // Two loads on one queue; the second waits for the first. A product of both, which the program waits for.
  trace.operations = {operation(0, EngineKind::dma, "load", {0, 0, 0, 10, 10, 10, 60}),
                      operation(1, EngineKind::dma, "load", {10, 10, 10, 20, 20, 60, 120}),
                      operation(2, EngineKind::gemm, "dot", {20, 20, 20, 30, 120, 120, 160})};
  trace.operations[0].bound = {ps(5), ps(5), ps(20)};
  trace.operations[1].bound = {ps(5), ps(5), ps(50)};
  trace.operations[1].started_by = {kAgent, 0};
  trace.operations[2].ready_by = {kAgent, 1};
  trace.steps = {{Activity::value, ps(30), ps(160), by(2), {}, 1},
                 {Activity::scalar_read, ps(160), ps(165), {}, {}, 1}};
  EXPECT_EQ(text_of(critical_path(trace)),
            "issue load 10, dma setup load 5, dma request load 5, dma data load 20, contention load 20, "
            "dma setup load 5, dma request load 5, dma data load 50, gemm dot 40, scalar read 5, program 5");
  expect_tiles(trace);
}

TEST(CriticalPath, WaitsForRoomAndForAPlaceGoOnWithTheOperationThatGaveItBack) {
  ProgramTrace trace{kAgent, ps(0), ps(90), {}, {}, {}};
  trace.operations = {operation(0, EngineKind::gemm, "dot", {0, 0, 0, 10, 10, 10, 50}),
                      operation(1, EngineKind::vector, "exp", {10, 50, 50, 60, 60, 60, 70}),
                      operation(2, EngineKind::vector, "add", {60, 60, 70, 80, 80, 80, 90})};
  trace.operations[1].granted_by = {kAgent, 0};
  trace.operations[2].placed_by = {kAgent, 1};
  trace.steps = {{Activity::drain, ps(80), ps(90), by(2), {}, 1}};
  EXPECT_EQ(text_of(critical_path(trace)),
            "issue dot 10, gemm dot 40, issue exp 10, vector exp 10, issue add 10, vector add 10");
  expect_tiles(trace);
}

TEST(CriticalPath, AWaitThatAnotherProgramEndedStaysAWait) {
  ProgramTrace trace{kAgent, ps(0), ps(100), {}, {}, {}};
  trace.operations = {operation(0, EngineKind::gemm, "dot", {0, 20, 20, 30, 30, 70, 100})};
  trace.operations[0].granted_by = {sim::AgentId{8}, 3};
  trace.operations[0].started_by = {sim::AgentId{8}, 4};
  trace.steps = {{Activity::drain, ps(30), ps(100), by(0), {}, 1}};
  EXPECT_EQ(text_of(critical_path(trace)), "TCM full dot 20, issue dot 10, engine busy dot 40, gemm dot 30");
}

TEST(CriticalPath, AnOperationThatLetsTheNextOneStartIsOnThePathUpToThen) {
  ProgramTrace trace{kAgent, ps(0), ps(130), {}, {}, {}};
  trace.operations = {operation(0, EngineKind::dma, "load", {0, 0, 0, 10, 10, 10, 100}),
                      operation(1, EngineKind::dma, "load", {10, 10, 10, 20, 20, 40, 130})};
  for (ExplainedOperation& record : trace.operations) record.bound = {ps(30), ps(0), ps(60)};
  trace.operations[1].started_by = {kAgent, 0};  // its descriptor was set up
  trace.steps = {{Activity::drain, ps(20), ps(130), by(1), {}, 1}};
  EXPECT_EQ(text_of(critical_path(trace)), "issue load 10, dma setup load 30, dma setup load 30, dma data load 60");
}

// Whatever the records say, the path tiles the program and ends.
TEST(CriticalPath, TilesTheProgramForAnyRecords) {
  std::mt19937 random(11);
  const auto draw = [&](std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random() % static_cast<std::uint32_t>(high - low + 1));
  };
  for (int round = 0; round < 3000; ++round) {
    ProgramTrace trace{kAgent, ps(draw(0, 20)), {}, {}, {}, {}};
    trace.end = trace.start + ps(draw(0, 100));
    const std::int64_t count = draw(0, 6);
    const auto any_name = [&] {
      return draw(0, 3) == 0
                 ? CommandName{}
                 : CommandName{{static_cast<std::uint32_t>(draw(6, 7))}, static_cast<std::uint64_t>(draw(0, count))};
    };
    for (std::int64_t i = 0; i < count; ++i) {
      std::int64_t at[7];
      for (std::int64_t& time : at) time = draw(trace.start.count(), trace.end.count());
      std::sort(std::begin(at), std::end(at));
      auto record = operation(static_cast<std::uint64_t>(i), static_cast<EngineKind>(draw(0, 2)), "x",
                              {at[0], at[1], at[2], at[3], at[4], at[5], at[6]});
      record.bound = {ps(draw(0, 9)), ps(draw(0, 9)), ps(draw(0, 30))};
      record.translation = ps(draw(0, 9));
      record.granted_by = any_name();
      record.placed_by = any_name();
      record.ready_by = any_name();
      record.started_by = any_name();
      trace.operations.push_back(record);
    }
    for (std::int64_t i = draw(0, 4); i > 0; --i) {
      const std::int64_t start = draw(trace.start.count(), trace.end.count());
      trace.steps.push_back(
          {Activity::value, ps(start), ps(draw(start, trace.end.count())), hardware::Cause{any_name(), "", {}}, {}, 1});
    }
    expect_tiles(trace);
    if (HasFailure()) FAIL() << "round " << round;
  }
}

/// A program that does nothing but send what it has made, at 40: an operation on its vector engine from 20 to 40.
std::shared_ptr<ProgramTrace> sender(sim::AgentId agent, std::int64_t start) {
  auto trace = std::make_shared<ProgramTrace>(ProgramTrace{agent, ps(start), {}, {}, {}, {}});
  trace->operations.push_back(operation(0, EngineKind::vector, "add", {10, 10, 10, 20, 20, 20, 40}));
  trace->operations.push_back(operation(1, EngineKind::ipcq, "send", {12, 12, 12, 22, 40, 40, 60}));
  trace->operations.back().sends = true;
  trace->operations.back().ready_by = {agent, 0};
  return trace;
}

/// A program that asks for the message at 5 and gets it: sent at 40, there at 100, copied by 110.
ProgramTrace receiver(sim::AgentId of) {
  constexpr PartId link(PartKind::io_to_sip, SipId{0}, 1);
  ProgramTrace trace{kAgent, ps(5), ps(110), {}, {}, {}};
  trace.operations.push_back(operation(0, EngineKind::ipcq, "recv", {5, 5, 5, 9, 9, 9, 110}));
  trace.operations.back().waited = ps(91);
  trace.messages.push_back({0, {of, 1}, ps(40), ps(100), ps(30), link, ps(20), link});
  trace.steps.push_back({Activity::drain, ps(9), ps(110), by(0), {}, 1});
  return trace;
}

TEST(CriticalPath, GoesOnInTheProgramOfTheSender) {
  const sim::AgentId other{8};
  TraceStore traces;
  (void)traces.begin_launch(ps(1));
  const auto trace = sender(other, 8);
  traces.begin(trace);
  trace->end = ps(70);
  traces.end(trace);
  const ProgramTrace path_of = receiver(other);
  const auto path = critical_path(path_of, &traces);
  EXPECT_EQ(text_of(path),
            "sender not started 3, program 2, issue add 10, vector add 20, queue data send 10, "
            "queue data send 30, link buffer send 20, queue data recv 10");
  EXPECT_EQ(to_text(path[5].on), "sip0.io.to_sip1");
  EXPECT_EQ(to_text(path[6].on), "sip0.io.to_sip1");
  EXPECT_EQ(path.front().start, ps(5));
  EXPECT_EQ(path.back().end, ps(110));
}

TEST(CriticalPath, AMessageOfAnUnknownSenderStaysAWait) {
  TraceStore traces;
  const ProgramTrace path_of = receiver(sim::AgentId{8});
  for (const TraceStore* others : {static_cast<const TraceStore*>(nullptr), static_cast<const TraceStore*>(&traces)}) {
    EXPECT_EQ(text_of(critical_path(path_of, others)), "issue recv 4, message recv 91, queue data recv 10");
  }
}

TEST(TraceStore, KeepsAProgramUntilAllLaunchesThatWereUnderWayAtItsEndHaveCompleted) {
  TraceStore traces;
  const sim::AgentId agent{8};
  const std::uint64_t mine = traces.begin_launch(ps(0)), other = traces.begin_launch(ps(5));
  const auto trace = sender(agent, 8);
  traces.begin(trace);
  EXPECT_EQ(traces.find(agent, ps(9)), trace.get()) << "while it runs";
  EXPECT_EQ(traces.find(agent, ps(7)), nullptr) << "before it began";
  trace->end = ps(70);
  traces.end(trace);
  const std::uint64_t later = traces.begin_launch(ps(80));
  traces.end_launch(mine);
  EXPECT_EQ(traces.find(agent, ps(40)), trace.get());
  EXPECT_EQ(traces.find(agent, ps(71)), nullptr) << "after its end";
  traces.end_launch(other);
  EXPECT_EQ(traces.find(agent, ps(40)), nullptr);
  traces.end_launch(later);
}

TEST(TraceStore, ForgetsTheProgramsThatEndedFirstWhenThereAreTooManyRecords) {
  TraceStore traces;
  (void)traces.begin_launch(ps(0));
  constexpr std::int64_t kPrograms = 5;
  for (std::int64_t i = 0; i < kPrograms; ++i) {
    auto trace = std::make_shared<ProgramTrace>(ProgramTrace{sim::AgentId{8}, ps(10 * i), {}, {}, {}, {}});
    trace->operations.resize(TraceStore::kMostOperations / 3);
    traces.begin(trace);
    trace->end = ps(10 * i + 9);
    traces.end(trace);
  }
  for (std::int64_t i = 0; i < kPrograms; ++i) {
    EXPECT_EQ(traces.find(sim::AgentId{8}, ps(10 * i + 5)) != nullptr, i >= kPrograms - 3) << i;
  }
}

}  // namespace
}  // namespace kernbench::tile
