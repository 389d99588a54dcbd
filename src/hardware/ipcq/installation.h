// Writing neighbour tables: one command of the launch path.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "hardware/ipcq/channel.h"
#include "hardware/launch/completion_tree.h"
#include "hardware/launch/launch_path.h"
#include "hardware/window/window.h"
#include "sim/wait_graph.h"

namespace kernbench::hardware {

class Ipcq;

/// Writes the rows of all channels that have an end on `sip`.
struct InstallRequest {
  SipId sip;
  Name name;                        // of the set of channels, for reports
  std::vector<Channel> channels;    // at least one end of each on `sip`
  std::function<void()> completed;  // deliver phase, at the host
  // Windows of a set: every owner on `sip` gets the rows of all of them, its own one too.
  std::vector<Window> windows = {};
};

/// The registers of one row of a neighbour table. assumption: two addresses, two coordinates, sizes, count and epoch.
constexpr Bytes kTableRow{64};

/// The state of one installation: a message to the IO_CPU, one to each cube, one to each PE, and back.
class Installation final : public sim::WaitNode {
 public:
  using IpcqOf = std::function<Ipcq&(PeCoordinate)>;
  Installation(LaunchPath& path, IpcqOf ipcq_of, InstallRequest request, std::uint64_t number);

  /// The host sends the command; called in the deliver phase.
  void send(std::uint64_t);
  bool completed() const { return completed_; }

  Name wait_name() const override { return "installation of " + request_.name; }
  /// The ends whose channels before have not got their credits back.
  void waits_for(std::vector<sim::WaitEdge>& edges) const override;

 private:
  struct End {
    std::size_t channel;
    bool receives;
    bool installed = false;
  };
  struct Table {
    PeCoordinate pe;
    std::vector<End> ends;
    const Window* window = nullptr;  // of this PE
    std::size_t open = 0;            // ends that are not installed, and the window
  };
  struct Cube {
    CubeCoordinate at;
    std::size_t first_table, end_table;
  };
  void add_tables();
  Bytes message_bytes(std::size_t rows) const;
  std::size_t rows(const Table& table) const;
  std::size_t rows(std::size_t first_table, std::size_t end_table) const;
  std::size_t cube_of(std::size_t table) const;

  void at_io_cpu(std::uint64_t);
  void send_to_cubes(std::uint64_t);
  void at_m_cpu(std::uint64_t cube);
  void send_to_pes(std::uint64_t cube);
  void at_pe(std::uint64_t table);
  void end_installed(std::uint64_t place);
  void one_installed(std::uint64_t table);
  void at_host(std::uint64_t);

  LaunchPath& path_;
  IpcqOf ipcq_of_;
  InstallRequest request_;
  std::uint64_t number_;
  std::vector<Table> tables_;  // by PE
  std::vector<Cube> cubes_;
  CompletionTree back_;
  bool completed_ = false;
};

}  // namespace kernbench::hardware
