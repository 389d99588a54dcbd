#include "cli/bench_file/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>

#include "cli/bench_file/content_hash.h"

extern char** environ;  // NOLINT(readability-redundant-declaration): POSIX wants it declared by its user

namespace kernbench::cli {
namespace {

constexpr auto kPollInterval = std::chrono::milliseconds(2);

class SpawnSettings {
 public:
  explicit SpawnSettings(const std::string& log) {
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ::posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    ::posix_spawnattr_init(&attributes);
    sigset_t defaults;
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    ::posix_spawnattr_setsigdefault(&attributes, &defaults);
    // A group of its own: Ctrl-C reaches this program alone, which then ends the whole group.
    ::posix_spawnattr_setpgroup(&attributes, 0);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }
  ~SpawnSettings() {
    ::posix_spawnattr_destroy(&attributes);
    ::posix_spawn_file_actions_destroy(&actions);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  posix_spawn_file_actions_t actions{};
  posix_spawnattr_t attributes{};
};

}  // namespace

ChildResult run_child(const std::vector<std::string>& command, const std::string& log,
                      const std::atomic<bool>* stop_requested) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));  // NOLINT
  arguments.push_back(nullptr);
  const SpawnSettings settings(log);
  ChildResult result;
  pid_t child = 0;
  result.error =
      ::posix_spawn(&child, arguments[0], &settings.actions, &settings.attributes, arguments.data(), environ);
  if (result.error != 0) return result;
  int status = 0;
  for (;;) {
    const pid_t ended = ::waitpid(child, &status, WNOHANG);
    if (ended == child || (ended < 0 && errno != EINTR)) break;
    if (!result.stopped && stop_requested != nullptr && *stop_requested) {
      result.stopped = true;
      ::kill(-child, SIGTERM);
    }
    std::this_thread::sleep_for(kPollInterval);
  }
  result.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  result.output = read_whole(log).value_or("");
  return result;
}

}  // namespace kernbench::cli
