#include "runtime/queues/queue_set.h"

#include <algorithm>
#include <map>
#include <utility>

#include "hardware/ipcq/installation.h"
#include "hardware/ipcq/ipcq.h"
#include "kernbench/error.h"
#include "runtime/simulation.h"

namespace kernbench::runtime {

namespace {

/// As SimulateOptions::least_slots wants them.
QueueOptions raised(QueueOptions options, const Simulation& simulation) {
  std::int32_t& slots = options.parameters.n_slots;
  if (slots > 0) slots = std::max(slots, simulation.options().least_slots);  // what is wrong stays wrong
  return options;
}

}  // namespace

QueueSet::QueueSet(Simulation& simulation, Name name, std::vector<PeCoordinate> members, const QueueOptions& options)
    : simulation_(simulation),
      resources_(simulation.queue_resources()),
      name_(std::move(name)),
      table_(
          std::make_shared<tile::QueueTable>(std::move(members), raised(options, simulation), simulation.topology())) {
  const QueueParameters& parameters = table_->options().parameters;
  hardware::check_parameters(parameters, simulation.topology());
  if (options.window) hardware::check_window(*options.window, parameters, simulation.topology());
  simulation.queue_resources()->assign(*table_);
  installed_.describe_as([this] { return "the channels of " + name_; });
  installed_.provided_by([this](std::vector<sim::WaitEdge>& edges) {
    for (const auto& part : parts_) edges.push_back({part.get(), "its rows of the tables"});
  });
  installed_.on_set(sim::call<&QueueSet::run_actions>(this));
  install(simulation);
}

std::shared_ptr<QueueSet> QueueSet::create(Simulation& simulation, Name name, std::vector<PeCoordinate> members,
                                           const QueueOptions& options) {
  auto set = std::make_shared<QueueSet>(simulation, std::move(name), std::move(members), options);
  simulation.launch_queues().add(set);
  return set;
}

QueueSet::~QueueSet() {
  if (const auto resources = resources_.lock()) resources->release(*table_);
}

/// One for each SIP of a member, in their order.
std::vector<hardware::InstallRequest> QueueSet::requests() {
  std::map<SipId, hardware::InstallRequest> by_sip;
  const auto request_of = [&](SipId sip) -> hardware::InstallRequest& {
    return by_sip.try_emplace(sip, hardware::InstallRequest{sip, name_, {}, [this] { part_installed(); }})
        .first->second;
  };
  for (const tile::QueueRow& row : table_->rows()) {
    const hardware::Channel& channel = row.channel;
    request_of(channel.sender.sip).channels.push_back(channel);
    if (channel.receiver.sip != channel.sender.sip) request_of(channel.receiver.sip).channels.push_back(channel);
  }
  if (table_->windows() != nullptr) {
    for (const PeCoordinate pe : table_->members()) request_of(pe.sip).windows = table_->windows()->rows();
  }
  std::vector<hardware::InstallRequest> requests;
  for (auto& [sip, request] : by_sip) requests.push_back(std::move(request));
  return requests;
}

void QueueSet::install(Simulation& simulation) {
  auto all = requests();
  open_parts_ = all.size();
  if (open_parts_ == 0) return installed_.set();
  begun_ = simulation.scheduler().now();
  for (auto& request : all) parts_.push_back(simulation.machine().install(std::move(request)));
}

void QueueSet::close() {
  std::vector<hardware::Channel> channels;
  for (const tile::QueueRow& row : table_->rows()) channels.push_back(row.channel);
  table_->forget_unreceived();
  simulation_.machine().close(std::move(channels));
}

void QueueSet::part_installed() {
  if (--open_parts_ > 0) return;
  parts_.clear();
  ++simulation_.setup.count;
  simulation_.setup.time += simulation_.scheduler().now() - begun_;
  installed_.set();
}

void QueueSet::when_installed(std::function<void()> action) {
  if (installed_.is_set()) return action();
  actions_.push_back(std::move(action));
}

void QueueSet::run_actions(std::uint64_t) {
  for (auto& action : std::exchange(actions_, {})) action();
}

std::shared_ptr<QueueSet> LaunchQueues::acquire(const Name& name, const std::vector<PeCoordinate>& members,
                                                const QueueOptions& options) {
  const QueueOptions wanted = raised(options, simulation_);
  // A window is as new in every launch: its words are 0 and nobody has written its bytes.
  std::erase_if(sets_, [](const auto& set) { return set.use_count() == 1 && set->table()->options().window; });
  for (const auto& set : sets_) {
    const tile::QueueTable& table = *set->table();
    if (set.use_count() == 1 && table.members() == members && table.options() == wanted) return set;
  }
  while (true) {
    try {
      sets_.push_back(QueueSet::create(simulation_, name, members, options));
      return sets_.back();
    } catch (const ProgramError&) {
      if (!give_back_unused() && !(give_back_ && give_back_())) throw;
    }
  }
}

void LaunchQueues::remove(const std::shared_ptr<QueueSet>& set) {
  set->close();
  std::erase(sets_, set);
}

LaunchQueues::~LaunchQueues() {
  for (const auto& each : all_) {
    if (const auto set = each.lock()) set->abandon();
  }
}

void LaunchQueues::check_all_received() const {
  for (const auto& each : all_) {
    if (const auto set = each.lock()) set->table()->check_all_received();
  }
}

bool LaunchQueues::any_in_use() const {
  return std::ranges::any_of(sets_, [](const auto& set) { return set.use_count() > 1; });
}

// Those that are gone are forgotten when there may be as many of them as others.
void LaunchQueues::add(const std::shared_ptr<QueueSet>& set) {
  if (all_.size() > 2 * all_at_sweep_ + 16) {
    std::erase_if(all_, [](const auto& each) { return each.expired(); });
    all_at_sweep_ = all_.size();
  }
  all_.push_back(set);
}

bool LaunchQueues::give_back_unused() {
  const auto unused = std::ranges::find_if(sets_, [](const auto& set) { return set.use_count() == 1; });
  if (unused == sets_.end()) return false;
  sets_.erase(unused);
  return true;
}

}  // namespace kernbench::runtime
