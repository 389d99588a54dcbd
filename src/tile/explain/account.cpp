#include "tile/explain/account.h"

#include <algorithm>
#include <string_view>

namespace kernbench::tile {
namespace {

std::string text_of(const char* file, std::uint32_t line) {
  const std::string_view path = file;
  return path.empty() ? std::string() : std::string(path.substr(path.rfind('/') + 1)) + ":" + std::to_string(line);
}

}  // namespace

LaunchAccount::Line LaunchAccount::line_of(const ExplainedOperation* operation) {
  if (operation == nullptr) return {};
  return {operation->kind, operation->where.file_name(), operation->where.line()};
}

void LaunchAccount::add_wait(const WaitKey& key, Time time, std::int64_t count) {
  Sum& sum = waits_[key];
  sum.time += time;
  sum.count += count;
}

void LaunchAccount::add(const ProgramTrace& trace) {
  for (const ExplainedOperation& operation : trace.operations) {
    const Line place = line_of(&operation);
    for_each_interval(operation, [&](const Interval& interval) {
      const bool waits = interval.activity <= Activity::message || interval.activity == Activity::translation ||
                         interval.activity == Activity::link_buffer || interval.activity == Activity::contention;
      if (!waits) return;
      const Line cause = line_of(trace.find(interval.cause));
      const PartKind server = server_of(operation, interval.activity).kind;
      add_wait({interval.activity, operation.engine, place, cause, server}, interval.duration(), 1);
    });
    const Time work = operation.finished - operation.started - operation.waited;
    KindSum& kind = kinds_[{operation.kind, operation.engine}];
    ++kind.count;
    kind.waiting += operation.started - operation.requested + operation.waited;
    kind.work += work;
    kind.bound += operation.bound.total();
  }
  for (const ProgramStep& step : trace.steps) {
    const Line place{"", step.where.file_name(), step.where.line()};
    add_wait({step.activity, hardware::EngineKind::dma, place, line_of(trace.find(step.cause.name)), PartKind::none},
             step.end - step.start, step.count);
  }
}

void LaunchAccount::add(const LaunchAccount& other) {
  for (const auto& [key, sum] : other.waits_) add_wait(key, sum.time, sum.count);
  for (const auto& [key, sum] : other.kinds_) {
    KindSum& kind = kinds_[key];
    kind.count += sum.count;
    kind.waiting += sum.waiting;
    kind.work += sum.work;
    kind.bound += sum.bound;
  }
}

std::vector<WaitTotal> LaunchAccount::waits() const {
  using Texts = std::tuple<std::string, std::string, std::string, std::string, std::string>;
  std::map<Texts, Sum> by_text;
  for (const auto& [key, sum] : waits_) {
    const std::string cause = key.server == PartKind::none ? key.cause.kind : to_text(key.server);
    Sum& all =
        by_text[{std::string(name(key.reason, key.engine)), key.operation.kind,
                 text_of(key.operation.file, key.operation.line), cause, text_of(key.cause.file, key.cause.line)}];
    all.time += sum.time;
    all.count += sum.count;
  }
  std::vector<WaitTotal> totals;
  for (const auto& [texts, sum] : by_text) {
    const auto& [reason, operation, where, cause, cause_where] = texts;
    totals.push_back({reason, operation, where, cause, cause_where, sum.time, sum.count});
  }
  std::ranges::stable_sort(totals, std::greater{}, &WaitTotal::time);
  return totals;
}

std::vector<OperationTotal> LaunchAccount::operations() const {
  std::map<std::pair<std::string, std::string>, OperationTotal> by_text;
  for (const auto& [key, sum] : kinds_) {
    const std::string operation = key.first, engine{name(key.second)};
    OperationTotal& total = by_text[{operation, engine}];
    total.operation = operation;
    total.engine = engine;
    total.count += sum.count;
    total.waiting += sum.waiting;
    total.work += sum.work;
    total.bound += sum.bound;
  }
  std::vector<OperationTotal> totals;
  for (auto& [texts, total] : by_text) totals.push_back(std::move(total));
  std::ranges::stable_sort(totals, std::greater{}, &OperationTotal::work);
  return totals;
}

}  // namespace kernbench::tile
