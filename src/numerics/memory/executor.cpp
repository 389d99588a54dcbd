#include "numerics/memory/executor.h"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>
#include <unordered_set>
#include <utility>
#include <vector>

namespace kernbench::numerics {

// Everything but `finished` is guarded by the executor's mutex; the work itself runs without it.
class Task {
 public:
  enum class Progress : std::uint8_t { waiting, ready, running, finished };

  OperationKey key;
  std::uint64_t sequence = 0;
  std::int64_t bytes = 0;
  std::function<void()> work;
  Progress progress = Progress::waiting;
  bool asked = false;  // for its result, or it runs without being asked
  std::size_t unfinished_dependencies = 0;
  std::vector<TaskHandle> dependencies;  // those unfinished at submission; dropped at the end, so chains never grow
  std::vector<TaskHandle> dependents;
  std::exception_ptr error;  // own or inherited
  OperationKey error_key;
  std::atomic<bool> finished = false;

  void inherit_error(const Task& failed) {
    if (error && error_key <= failed.error_key) return;
    error = failed.error;
    error_key = failed.error_key;
  }
};

namespace {

// assumption: enough to keep a few threads busy past a stall, small enough to stay in cache and memory.
constexpr std::size_t kMaximumTasks = 1024;
constexpr std::int64_t kMaximumBytes = std::int64_t{256} << 20;
// To wake a worker takes as long as a small task: it is woken for some, for a large one, or when somebody waits.
// assumption: several times what a wake-up costs.
constexpr std::size_t kTasksToWake = 16;
constexpr std::int64_t kBytesToWake = std::int64_t{1} << 20;

}  // namespace

struct Executor::State {
  using Lock = std::unique_lock<std::mutex>;

  mutable std::mutex mutex;
  std::condition_variable work_available;  // for workers
  std::condition_variable task_finished;   // for the submitting thread
  std::map<std::uint64_t, TaskHandle> outstanding;
  std::size_t unasked = 0;                    // of these
  std::map<std::uint64_t, TaskHandle> ready;  // oldest first: what everything else waits for
  std::int64_t outstanding_bytes = 0, ready_bytes = 0;
  std::uint64_t next_sequence = 0;
  std::size_t idle_workers = 0;
  bool submitter_waits = false;
  bool stopping = false;
  std::exception_ptr first_error;
  OperationKey first_error_key;
  std::uint64_t first_error_sequence = 0;
  std::vector<std::thread> workers;
  SourceTable sources;  // not guarded by the mutex

  bool over_limit() const { return outstanding.size() - unasked > kMaximumTasks || outstanding_bytes > kMaximumBytes; }

  /// The result of an unfinished task is needed. What it depends on has been asked for before.
  void ask(const TaskHandle& task) {
    if (std::exchange(task->asked, true)) return;
    --unasked;
    outstanding_bytes += task->bytes;
    if (task->unfinished_dependencies == 0) make_ready(task);
  }

  void make_ready(const TaskHandle& task) {
    task->progress = Task::Progress::ready;
    ready.emplace(task->sequence, task);
    ready_bytes += task->bytes;
    if (idle_workers > 0 && (ready.size() >= kTasksToWake || ready_bytes >= kBytesToWake)) work_available.notify_one();
  }

  /// The submitting thread begins to wait: workers share what is ready.
  void wake_all() {
    if (idle_workers > 0 && ready.size() > 1) work_available.notify_all();
  }

  void record_error(Task& task, std::exception_ptr error) {
    task.error = error;
    task.error_key = task.key;
    if (first_error && std::pair(first_error_key, first_error_sequence) <= std::pair(task.key, task.sequence)) return;
    first_error = std::move(error);
    first_error_key = task.key;
    first_error_sequence = task.sequence;
  }

  void finish(Task& task) {
    task.progress = Task::Progress::finished;
    for (const TaskHandle& dependent : task.dependents) {
      if (task.error) dependent->inherit_error(task);
      if (--dependent->unfinished_dependencies == 0 && dependent->asked) make_ready(dependent);
    }
    task.dependents.clear();
    task.dependencies.clear();
    outstanding_bytes -= task.bytes;
    outstanding.erase(task.sequence);
    task.finished.store(true, std::memory_order_release);
    if (submitter_waits) task_finished.notify_one();
  }

  /// Runs a ready task on this thread.
  void run(Lock& lock, const TaskHandle& ready_task) {
    // NOLINTNEXTLINE(performance-unnecessary-copy-initialization): the argument may live in `ready`
    const TaskHandle task = ready_task;
    ready.erase(task->sequence);
    ready_bytes -= task->bytes;
    task->progress = Task::Progress::running;
    std::function<void()> work = std::move(task->work);
    task->work = nullptr;
    const bool skip = task->error != nullptr;
    lock.unlock();
    std::exception_ptr error;
    if (!skip) {
      try {
        work();
      } catch (...) {
        error = std::current_exception();
      }
    }
    work = nullptr;  // releases the inputs before the task counts as finished
    lock.lock();
    if (error) record_error(*task, std::move(error));
    finish(*task);
  }

  void wait_for_progress(Lock& lock) {
    submitter_waits = true;
    task_finished.wait(lock);
    submitter_waits = false;
  }

  /// Runs the oldest ready task, or waits until a running one has finished.
  void help(Lock& lock) {
    if (ready.empty()) {
      wait_for_progress(lock);
    } else {
      run(lock, ready.begin()->second);
    }
  }

  void work_until_stopped() {
    Lock lock(mutex);
    while (!stopping) {
      if (!ready.empty()) {
        run(lock, ready.begin()->second);
        continue;
      }
      ++idle_workers;
      work_available.wait(lock);
      --idle_workers;
    }
  }

  /// The unfinished tasks that `task` needs, and itself, in order of submission.
  static std::vector<TaskHandle> needed_for(const TaskHandle& task) {
    std::vector<TaskHandle> needed{task};
    std::unordered_set<const Task*> seen{task.get()};
    for (std::size_t i = 0; i < needed.size(); ++i) {
      const TaskHandle current = needed[i];
      for (const TaskHandle& dependency : current->dependencies) {
        if (dependency->progress != Task::Progress::finished && seen.insert(dependency.get()).second) {
          needed.push_back(dependency);
        }
      }
    }
    std::ranges::sort(needed, {}, [](const TaskHandle& each) { return each->sequence; });
    return needed;
  }
};

Executor::Executor(int threads, bool enabled, bool skips_floating_point)
    : state_(std::make_unique<State>()),
      threads_(std::max(threads, 1)),
      enabled_(enabled),
      skips_floating_point_(skips_floating_point) {
  for (int i = 1; enabled && i < threads_; ++i) {
    state_->workers.emplace_back([state = state_.get()] { state->work_until_stopped(); });
  }
}

Executor::~Executor() {
  {
    const std::scoped_lock lock(state_->mutex);
    state_->stopping = true;
  }
  state_->work_available.notify_all();
  for (std::thread& worker : state_->workers) worker.join();
  // Tasks that refer to each other are taken apart, or they would keep one another alive.
  for (auto& [sequence, task] : state_->outstanding) {
    task->dependencies.clear();
    task->dependents.clear();
    task->work = nullptr;
  }
}

SourceTable& Executor::sources() const {
  return state_->sources;
}

TaskHandle Executor::submit(const OperationKey& key, std::span<const TaskHandle> dependencies,
                            std::function<void()> work, std::int64_t bytes, When when) {
  if (!enabled_) return nullptr;
  auto task = std::make_shared<Task>();
  task->key = key;
  task->bytes = bytes;
  task->work = std::move(work);
  State::Lock lock(state_->mutex);
  task->sequence = state_->next_sequence++;
  for (const TaskHandle& dependency : dependencies) {
    if (!dependency) continue;
    if (dependency->progress == Task::Progress::finished) {
      if (dependency->error) task->inherit_error(*dependency);
      continue;
    }
    state_->ask(dependency);
    // A duplicate is counted, and released, twice.
    dependency->dependents.push_back(task);
    task->dependencies.push_back(dependency);
    ++task->unfinished_dependencies;
  }
  state_->outstanding.emplace(task->sequence, task);
  ++state_->unasked;
  if (when == When::soon) state_->ask(task);
  while (state_->over_limit()) state_->help(lock);
  return task;
}

void Executor::force(const TaskHandle& task) {
  if (finished(task)) {
    if (task && task->error) std::rethrow_exception(task->error);
    return;
  }
  State::Lock lock(state_->mutex);
  state_->ask(task);
  state_->wake_all();
  const std::vector<TaskHandle> needed = State::needed_for(task);
  while (task->progress != Task::Progress::finished) {
    bool ran = false;
    for (const TaskHandle& each : needed) {
      if (each->progress != Task::Progress::ready) continue;
      state_->run(lock, each);
      ran = true;
    }
    // What is missing runs on workers: make use of the time.
    if (!ran && task->progress != Task::Progress::finished) state_->help(lock);
  }
  if (task->error) std::rethrow_exception(task->error);
}

bool Executor::finished(const TaskHandle& task) {
  return !task || task->finished.load(std::memory_order_acquire);
}

void Executor::drain() {
  State::Lock lock(state_->mutex);
  for (const auto& [sequence, task] : state_->outstanding) state_->ask(task);
  state_->wake_all();
  while (!state_->outstanding.empty()) state_->help(lock);
}

std::exception_ptr Executor::first_error() const {
  const std::scoped_lock lock(state_->mutex);
  return state_->first_error;
}

OperationKey Executor::first_error_key() const {
  const std::scoped_lock lock(state_->mutex);
  assert(state_->first_error);
  return state_->first_error_key;
}

std::uint64_t Executor::submitted() const {
  const std::scoped_lock lock(state_->mutex);
  return state_->next_sequence;
}

}  // namespace kernbench::numerics
