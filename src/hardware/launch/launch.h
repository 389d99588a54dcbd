// A launch on its way: one message to the SIP's IO_CPU, one to each cube's M_CPU, one to each PE, and back.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "hardware/control/control_processor.h"
#include "hardware/launch/completion_tree.h"
#include "hardware/launch/way.h"
#include "kernbench/coordinates.h"
#include "kernbench/units.h"
#include "sim/wait_graph.h"

namespace kernbench::hardware {

class Launch;
class LaunchGraph;
class LaunchPath;

/// Times of a launch as its messages travel.
struct LaunchTimes {
  /// The command was given; or, if that is later, the launch before it in its queue was over for the IO_CPU: only from
  /// then on a time is its own.
  Time requested;
  Time first_program;              // the first program's first instruction
  Time last_program;               // the last program's end
  Time completed;                  // the completion reached the host
  bool cut = false;                // it was cancelled before all of its programs were over
  bool follows = false;            // of a device that is not simulated: it is over because SIP 0's is
  const Launch* launch = nullptr;  // while its completion is told
  /// The way from the host to the first instruction of the program that ended last (ties: the lowest coordinate), and
  /// from the end of the one that the host heard of last to the host. Empty where no program ran. Put together when
  /// asked for. REQUIRES: the completion is being told.
  std::vector<WayStep> way_out() const;
  std::vector<WayStep> way_back() const;
};

struct LaunchRequest {
  SipId sip;
  Name name;
  std::vector<ProgramRequest> programs;               // at least one; ordered by coordinate; all on `sip`
  std::function<void(const LaunchTimes&)> completed;  // deliver phase, at the host
  /// Takes an error that escaped a program; false: it ends the run, as where there is no such function.
  std::function<bool(const std::exception_ptr&)> failed = {};
  std::uint64_t owner = 0;  // whose it is, for Machine::cancel; 0: nobody's
  /// The launches of one queue of the SIP run one after the other, in the order in which they were given; 0: of none.
  std::uint64_t queue = 0;
  /// Called when its turn has come at the SIP. May be empty.
  std::function<void()> begins = {};
  /// Instead of `programs`: makes them when the launch goes out to the cubes, so that one that waits for its turn takes
  /// little memory.
  std::function<std::vector<ProgramRequest>()> make_programs = {};
};

/// The state of one launch. Each step is called when the message that causes it has arrived or has been handled.
class Launch final : public sim::WaitNode, private ProgramOwner {
 public:
  /// `graph`: of which it is a part, and whose message brings it; null: of none.
  Launch(LaunchPath& path, LaunchRequest request, Time now, std::uint64_t number,
         std::shared_ptr<LaunchGraph> graph = nullptr);

  /// The host sends the command; called in the deliver phase. Of a graph's launches the first sends the message of all.
  void send(std::uint64_t);
  /// The IO_CPU has handled the message of its graph.
  void handled(const MessageTimes& times);
  /// Takes back all programs that are not over. The messages go their way, and the launch completes; called in the
  /// deliver phase.
  void cancel();

  /// The launch before it in its queue is over; at once where there is none. True: so is this one, which was taken back
  /// while it waited. Called in the deliver phase, or where the launch is given.
  bool turn_came();

  std::uint64_t owner() const { return owner_; }
  std::uint64_t queue() const { return queue_; }
  const std::shared_ptr<LaunchGraph>& graph() const { return graph_; }
  SipId sip() const { return sip_; }
  std::uint64_t number() const { return number_; }
  Name wait_name() const override { return "launch " + name_; }
  /// What it comes after in its queue or its graph; after that the programs that are not over.
  void waits_for(std::vector<sim::WaitEdge>& edges) const override;

  /// See LaunchTimes.
  std::vector<WayStep> way_out() const;
  std::vector<WayStep> way_back() const;

 private:
  struct Cube {
    CubeCoordinate at;
    std::size_t first_program, end_program;
    MessageTimes times = {};  // of the message to its M_CPU
  };
  // On the way out.
  void at_io_cpu(std::uint64_t);
  void handled_by_io_cpu(std::uint64_t);
  void has_come();
  bool go_out();
  void send_to_cubes();
  void add(std::vector<ProgramRequest> programs);
  void at_m_cpu(std::uint64_t cube);
  void send_to_pes(std::uint64_t cube);
  void at_pe(std::uint64_t program);
  // On the way back.
  void program_over(Program& program) override;
  bool program_failed(const Program& program, const std::exception_ptr& error) override;
  void over_for_io_cpu(std::uint64_t);
  void at_host(std::uint64_t);

  LaunchPath& path_;
  SipId sip_;
  Name name_;
  std::uint64_t number_;
  std::uint64_t owner_;
  std::uint64_t queue_;
  std::shared_ptr<LaunchGraph> graph_;
  Time given_;
  bool has_turn_ = false;
  bool at_io_cpu_ = false;  // and handled there
  std::function<void()> begins_;
  std::function<std::vector<ProgramRequest>()> make_programs_;
  std::function<void(const LaunchTimes&)> completed_;
  std::function<bool(const std::exception_ptr&)> failed_;
  std::vector<Program> programs_;
  std::vector<MessageTimes> to_programs_;  // likewise, of the messages to their PEs
  std::vector<Cube> cubes_;
  MessageTimes to_io_;
  Time dispatched_;                // its messages to the cubes were sent
  const Program* last_ = nullptr;  // of those that ran, the one that ended last
  CompletionTree back_;
  LaunchTimes times_;
};

}  // namespace kernbench::hardware
