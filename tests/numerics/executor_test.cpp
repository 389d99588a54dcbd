#include "numerics/memory/executor.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <random>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

namespace kernbench::numerics {
namespace {

/// A random graph in which each task mixes its inputs' results in order; the sum depends on every edge.
std::vector<std::uint64_t> run_random_graph(int threads, std::uint64_t seed) {
  constexpr std::size_t kTasks = 150;
  std::mt19937_64 random(seed);
  std::vector<std::uint64_t> results(kTasks);
  std::vector<TaskHandle> handles(kTasks);
  Executor executor(threads, true);
  for (std::size_t i = 0; i < kTasks; ++i) {
    std::vector<std::size_t> inputs;
    std::vector<TaskHandle> dependencies = {nullptr};
    for (std::uint64_t n = random() % 4; n > 0 && i > 0; --n) {
      inputs.push_back(random() % i);
      dependencies.push_back(handles[inputs.back()]);
    }
    const auto mix = [&results, inputs, i] {
      std::uint64_t mixed = i;
      for (const std::size_t input : inputs) mixed = (mixed ^ results[input]) * 0x9E3779B97F4A7C15u + 1;
      results[i] = mixed;
    };
    handles[i] = executor.submit({}, dependencies, mix, 0, random() % 8 == 0 ? When::asked : When::soon);
    if (random() % 16 == 0) {
      const std::size_t forced = random() % (i + 1);
      executor.force(handles[forced]);
      EXPECT_TRUE(Executor::finished(handles[forced]));
    }
  }
  executor.drain();
  for (const TaskHandle& handle : handles) EXPECT_TRUE(Executor::finished(handle));
  return results;
}

TEST(Executor, RandomGraphsGiveTheSameResultsOnOneTwoAndFourThreads) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const auto expected = run_random_graph(1, seed);
    ASSERT_EQ(run_random_graph(2, seed), expected);
    ASSERT_EQ(run_random_graph(4, seed), expected);
  }
}

TEST(Executor, OneThreadRunsNothingUntilForcedAndThenOnlyWhatIsNeeded) {
  Executor executor(1, true);
  const auto caller = std::this_thread::get_id();
  std::vector<int> ran;
  const auto task = [&](int id, std::vector<TaskHandle> dependencies) {
    return executor.submit({}, dependencies, [&ran, id, caller] {
      EXPECT_EQ(std::this_thread::get_id(), caller);
      ran.push_back(id);
    });
  };
  const TaskHandle a = task(0, {});
  task(1, {});
  const TaskHandle c = task(2, {a});
  EXPECT_TRUE(ran.empty());
  executor.force(c);
  EXPECT_EQ(ran, std::vector<int>({0, 2}));
  executor.drain();
  EXPECT_EQ(ran, std::vector<int>({0, 2, 1}));
}

TEST(Executor, TheBacklogIsBoundedByCountAndByBytes) {
  for (const std::int64_t bytes : {std::int64_t{0}, std::int64_t{64} << 20}) {
    for (const int threads : {1, 2}) {
      Executor executor(threads, true);
      std::atomic<int> done = 0;
      int most = 0;
      for (int i = 0; i < 5000; ++i) {
        executor.submit({}, {}, [&] { ++done; }, bytes);
        most = std::max(most, i + 1 - done.load());
      }
      EXPECT_LE(most, bytes == 0 ? 1025 : 5);
      executor.drain();
      EXPECT_EQ(done, 5000);
    }
  }
}

TEST(Executor, ATaskThatWaitsToBeAskedRunsWhenItIsNeededHoweverManyThereAre) {
  for (const int threads : {1, 2}) {
    Executor executor(threads, true);
    std::atomic<int> done = 0;
    std::vector<TaskHandle> waiting;
    const auto count = [&] { ++done; };
    for (int i = 0; i < 5000; ++i)
      waiting.push_back(executor.submit({}, {}, count, std::int64_t{64} << 20, When::asked));
    executor.force(executor.submit({}, {}, [] {}));
    EXPECT_EQ(done, 0);
    executor.force(waiting[7]);
    EXPECT_EQ(done, 1);
    const std::vector<TaskHandle> needed = {waiting[7], waiting[11], waiting[11]};
    executor.force(executor.submit({}, needed, [&] { EXPECT_EQ(done, 2); }));
    EXPECT_TRUE(Executor::finished(waiting[11]));
    EXPECT_EQ(done, 2);
    executor.drain();
    EXPECT_EQ(done, 5000);
  }
}

TEST(Executor, TheFirstErrorIsTheOneWithTheSmallestKeyWhateverTheThreads) {
  for (int round = 0; round < 50; ++round) {
    for (const int threads : {1, 2, 4}) {
      Executor executor(threads, true);
      std::mt19937 random(static_cast<unsigned>(round));
      for (int i = 0; i < 60; ++i) {
        const std::int64_t time = static_cast<std::int64_t>(random() % 1000);
        executor.submit({time, 1, static_cast<std::uint64_t>(i)}, {}, [time] {
          if (time % 3 == 0) throw std::runtime_error(std::to_string(time));
        });
      }
      executor.drain();
      random.seed(static_cast<unsigned>(round));
      std::set<std::int64_t> failing;
      for (int i = 0; i < 60; ++i) {
        const std::int64_t time = static_cast<std::int64_t>(random() % 1000);
        if (time % 3 == 0) failing.insert(time);
      }
      ASSERT_NE(executor.first_error(), nullptr);
      EXPECT_EQ(executor.first_error_key().time, *failing.begin());
      try {
        std::rethrow_exception(executor.first_error());
      } catch (const std::runtime_error& error) {
        EXPECT_EQ(error.what(), std::to_string(*failing.begin()));
      }
    }
  }
}

TEST(Executor, ForceRethrowsTheErrorOfATaskAndOfWhatItNeeds) {
  for (const int threads : {1, 2}) {
    Executor executor(threads, true);
    bool ran = false;
    const TaskHandle bad = executor.submit({7, 0, 0}, {}, [] { throw std::runtime_error("broken"); });
    const TaskHandle dependencies[] = {bad};
    const TaskHandle later = executor.submit({8, 0, 0}, dependencies, [&] { ran = true; });
    EXPECT_THROW(executor.force(later), std::runtime_error);
    EXPECT_THROW(executor.force(bad), std::runtime_error);
    const TaskHandle after = executor.submit({9, 0, 0}, dependencies, [&] { ran = true; });
    EXPECT_THROW(executor.force(after), std::runtime_error);
    executor.drain();
    EXPECT_FALSE(ran);
    EXPECT_EQ(executor.first_error_key(), (OperationKey{7, 0, 0}));
  }
}

TEST(Executor, ADisabledOneCreatesNoTask) {
  Executor executor(4, false);
  EXPECT_EQ(executor.submit({}, {}, [] { FAIL(); }), nullptr);
  executor.force(nullptr);
  executor.drain();
  EXPECT_EQ(executor.submitted(), 0u);
}

TEST(Executor, DroppingItWithWorkLeftReleasesEverything) {
  const auto token = std::make_shared<int>(0);
  for (const int threads : {1, 3}) {
    Executor executor(threads, true);
    TaskHandle previous;
    for (int i = 0; i < 900; ++i) {
      const TaskHandle dependencies[] = {previous};
      previous = executor.submit({}, dependencies, [token] {});
    }
  }
  EXPECT_EQ(token.use_count(), 1);
}

/// Whether all tasks finish although nobody waits for them in a way that would run them.
bool finish_by_themselves(const std::vector<TaskHandle>& tasks) {
  const auto given_up = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  for (const TaskHandle& task : tasks) {
    while (!Executor::finished(task)) {
      if (std::chrono::steady_clock::now() > given_up) return false;
      std::this_thread::yield();
    }
  }
  return true;
}

TEST(Executor, AWorkerIsWokenForSeveralTasksAndForALargeOne) {
  Executor executor(2, true);
  for (int round = 0; round < 20; ++round) {
    // The large one comes first: once it has run, the worker has started and waits. One that starts among the small
    // ones runs those that it finds, and rightly sleeps on when fewer than sixteen follow.
    ASSERT_TRUE(finish_by_themselves({executor.submit({}, {}, [] {}, std::int64_t{1} << 20)}));
    std::vector<TaskHandle> tasks;
    for (int i = 0; i < 16; ++i) tasks.push_back(executor.submit({}, {}, [] {}));
    ASSERT_TRUE(finish_by_themselves(tasks));
  }
}

TEST(Executor, WorkersShareTheWork) {
  // Each task waits for the other two: it ends only when three threads run at once. The last one may still look when
  // the first one is through.
  std::atomic<int> arrived = 0;
  Executor executor(3, true);
  std::vector<TaskHandle> tasks;
  for (int i = 0; i < 3; ++i) {
    tasks.push_back(executor.submit({}, {}, [&] {
      ++arrived;
      while (arrived.load() < 3) std::this_thread::yield();
    }));
  }
  executor.force(tasks[0]);
  EXPECT_EQ(arrived, 3);
}

}  // namespace
}  // namespace kernbench::numerics
