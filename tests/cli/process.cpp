#include "process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace kernbench::cli {
namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::filesystem::path make_directory() {
  std::string name = (std::filesystem::temp_directory_path() / "kernbench_test_XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make " + name);
  return name;
}

// In the child: nothing but system calls.
[[noreturn]] void execute(char* const* arguments, const char* out, const char* err) {
  ::dup2(::open("/dev/null", O_RDONLY), STDIN_FILENO);
  ::dup2(::open(out, O_WRONLY | O_CREAT | O_TRUNC, 0600), STDOUT_FILENO);
  ::dup2(::open(err, O_WRONLY | O_CREAT | O_TRUNC, 0600), STDERR_FILENO);
  ::execv(arguments[0], arguments);
  ::_exit(127);
}

}  // namespace

std::string contents_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

Process::Process(std::vector<std::string> command, const std::string& out)
    : directory_(make_directory()), out_(out.empty() ? (directory_ / "out").string() : out), start_(now()) {
  std::vector<char*> arguments;
  for (std::string& argument : command) arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  const std::string err = (directory_ / "err").string();
  id_ = ::fork();
  if (id_ == 0) execute(arguments.data(), out_.c_str(), err.c_str());
}

Process::~Process() {
  if (id_ > 0) {
    ::kill(id_, SIGKILL);
    ::waitpid(id_, nullptr, 0);
  }
  std::filesystem::remove_all(directory_);
}

bool Process::wait_for_error(const std::string& text) const {
  for (const double end = now() + 30; now() < end;) {
    if (contents_of((directory_ / "err").string()).find(text) != std::string::npos) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

void Process::send(int signal) const {
  ::kill(id_, signal);
}

Finished Process::finish() {
  int status = 0;
  rusage usage{};
  while (::wait4(id_, &status, 0, &usage) < 0 && errno == EINTR) {
  }
  id_ = -1;
  Finished out;
  out.peak_memory = usage.ru_maxrss * 1024;
  out.seconds = now() - start_;
  out.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  if (std::filesystem::is_regular_file(out_)) out.out = contents_of(out_);
  out.err = contents_of((directory_ / "err").string());
  return out;
}

Finished run(std::vector<std::string> command, const std::string& out) {
  return Process(std::move(command), out).finish();
}

Finished run_on_terminal(std::vector<std::string> command) {
  std::vector<char*> arguments;
  for (std::string& argument : command) arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (terminal < 0 || ::grantpt(terminal) != 0 || ::unlockpt(terminal) != 0) {
    throw std::runtime_error("cannot make a terminal");
  }
  const std::string name = ::ptsname(terminal);
  Finished out;
  const double start = now();
  const int id = ::fork();
  if (id == 0) execute(arguments.data(), "/dev/null", name.c_str());
  // The terminal reads as an error when its other end is closed: when the process is over.
  for (char text[4096];;) {
    const ssize_t got = ::read(terminal, text, sizeof(text));
    if (got > 0) out.err.append(text, static_cast<std::size_t>(got));
    if (got > 0 || (got < 0 && errno == EINTR)) continue;
    int status = 0;
    if (::waitpid(id, &status, WNOHANG) == id) {
      out.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // not yet opened, or about to end
  }
  out.seconds = now() - start;
  ::close(terminal);
  return out;
}

TemporaryDirectory::TemporaryDirectory() : directory_(make_directory()) {}
TemporaryDirectory::~TemporaryDirectory() {
  std::filesystem::remove_all(directory_);
}

}  // namespace kernbench::cli
