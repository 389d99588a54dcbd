#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include "base/error.h"
#include "cli/interrupt.h"
#include "cli/output_file.h"
#include "cli/program.h"
#include "cli/topologies.h"

namespace {

using namespace kernbench;

void write_output(std::string_view text) {
  cli::flush_standard_output();
  const int error = cli::write_all(STDOUT_FILENO, text);
  // A reader that has seen enough, such as head, is no error.
  if (error == 0 || error == EPIPE) return;
  throw ConfigurationError(std::string("cannot write standard output: ") + std::strerror(error));
}

void write_message(std::string_view text) {
  cli::write_all(STDERR_FILENO, text);
}

[[noreturn]] void on_terminate() {
  write_message(
      "kernbench: internal error: terminated outside of any handler; please report it with the command line\n");
  ::_exit(static_cast<int>(cli::ExitCode::internal));
}

cli::Environment process_environment() {
  return {.benches = cli::built_in_benches(),
          .execute = cli::execute,
          .topologies = cli::shipped_topologies,
          .describe = cli::describe_topology,
          .out = write_output,
          .err = write_message,
          .out_is_terminal = ::isatty(STDOUT_FILENO) == 1,
          .err_is_terminal = ::isatty(STDERR_FILENO) == 1,
          .stop_requested = &cli::handle_interrupts(),
          .owns_process = true};
}

}  // namespace

int main(int argc, char** argv) {
  std::set_terminate(on_terminate);
  ::signal(SIGPIPE, SIG_IGN);
  const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  return static_cast<int>(cli::run_program(arguments, process_environment()));
}
