#include "tile/program/launch.h"

#include <cassert>

#include "base/text.h"
#include "tile/explain/explainer.h"

namespace kernbench::tile {

namespace {

std::vector<hardware::ProgramRequest> make_programs(Environment& environment,
                                                    const std::shared_ptr<LaunchRecord>& record, const Name& name,
                                                    std::function<void()> kernel) {
  if (environment.explainer != nullptr) Explainer::begin_launch(*record);
  const auto body = std::make_shared<const std::function<void()>>(std::move(kernel));
  std::vector<hardware::ProgramRequest> programs;
  programs.reserve(record->places.size());
  std::int64_t pe = 0;
  for (const PeCoordinate at : record->places) {
    auto program = std::make_shared<Program>(environment, record, at, record->first_program(pe++));
    programs.push_back(
        {at, Name::program(at, name), [program, body](sim::AgentId agent) { program->run(agent, *body); }});
  }
  return programs;
}

hardware::LaunchRequest request_of(Environment& environment, KernelLaunch launch) {
  auto record = std::make_shared<LaunchRecord>();
  record->name = launch.name;
  record->shared_name = std::make_shared<const std::string>(launch.name);
  // Without data no value of it outlives the launch, and nothing that would name it.
  record->lasting_name =
      environment.data_enabled ? environment.launch_names->emplace_back(record->name).c_str() : record->name.c_str();
  record->stream = launch.queue;
  record->called_at = launch.called_at;
  record->queues = std::move(launch.queues);
  record->without_effect = std::move(launch.without_effect);
  record->grid = launch.grid;
  record->pes = static_cast<std::int64_t>(launch.pes.size());
  record->places = std::move(launch.pes);
  assert(record->grid.count() >= record->pes && "each PE has a program");
  hardware::LaunchRequest request;
  request.sip = launch.sip;
  request.name = launch.name;
  request.queue = launch.queue;
  request.begins = std::move(launch.begins);
  request.make_programs = [&environment, record, body = std::move(launch.body), name = launch.name]() mutable {
    return make_programs(environment, record, name, std::move(body));
  };
  request.completed = [record, completed = std::move(launch.completed)](const hardware::LaunchTimes& times) {
    completed(times, *record);
  };
  request.failed = std::move(launch.failed);
  request.owner = launch.owner;
  return request;
}

}  // namespace

std::shared_ptr<const sim::WaitNode> start(Environment& environment, KernelLaunch launch) {
  return environment.machine.launch(request_of(environment, std::move(launch)));
}

std::vector<std::shared_ptr<const sim::WaitNode>> start(Environment& environment, std::vector<KernelLaunch> launches,
                                                        std::vector<std::vector<std::size_t>> after) {
  hardware::GraphRequest graph;
  graph.after = std::move(after);
  for (KernelLaunch& launch : launches) graph.launches.push_back(request_of(environment, std::move(launch)));
  return environment.machine.launch(std::move(graph));
}

}  // namespace kernbench::tile
