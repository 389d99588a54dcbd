// Random programs of fibers, waitables, events and cancellations: their traces depend on nothing but the program.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "sim/errors.h"
#include "sim/fiber.h"
#include "sim/scheduler.h"
#include "sim/waitable.h"
#include "support/fiber_queues.h"
#include "support/sanitizers.h"

namespace kernbench::sim {
namespace {

enum class Action : std::uint8_t { sleep, send, receive, acquire, release, signal, await, post_event, cancel, count };

struct Step {
  Action action;
  std::uint32_t object;
  std::int64_t amount;
};
using Program = std::vector<std::vector<Step>>;  // by agent

constexpr std::uint32_t kObjects = 4;

Program random_program(std::mt19937& random) {
  Program program(3 + random() % 12);
  for (auto& steps : program) {
    for (std::size_t i = 1 + random() % 25; i > 0; --i) {
      Action action = static_cast<Action>(random() % static_cast<unsigned>(Action::count));
      if (action == Action::cancel && random() % 4 != 0) action = Action::sleep;
      steps.push_back(
          {action, static_cast<std::uint32_t>(random() % kObjects), static_cast<std::int64_t>(random() % 4)});
    }
  }
  return program;
}

// "f7". Not `"f" + std::to_string(7)`, of which gcc 12 warns without cause.
template <class Number>
std::string labelled(const char* label, Number number) {
  std::string text = label;
  text += std::to_string(number);
  return text;
}

class Simulation {
 public:
  // Runs `program` with its fibers spawned in the order `order`; returns all that can be seen of it.
  std::string run(const Program& program, const std::vector<std::size_t>& order) {
    for (std::uint32_t i = 0; i < kObjects; ++i) {
      boxes_[i].describe_as([i] { return "box " + std::to_string(i); });
      semaphores_[i].describe_as([i] { return "semaphore " + std::to_string(i); });
      completions_[i].describe_as([i] { return "completion " + std::to_string(i); });
    }
    fibers_.resize(program.size());
    for (const std::size_t i : order) {
      FiberOptions options{
          .agent = AgentId{static_cast<std::uint32_t>(i)}, .name = labelled("f", i), .background = i % 5 == 4};
      fibers_[i] =
          scheduler_.spawn(options, [this, &program, i] { execute(program[i], static_cast<std::uint32_t>(i)); });
    }
    try {
      scheduler_.run();
    } catch (const ProgramError& error) {
      trace_ += error.type() + ": " + error.what();
    }
    EXPECT_EQ(scheduler_.ambiguous_orders(), 0u);
    return trace_ + " events " + std::to_string(scheduler_.events_processed());
  }

 private:
  struct Poster {
    Simulation& simulation;
    void fire(std::uint64_t object) {
      simulation.trace_ += labelled("e", object) + "@" + std::to_string(simulation.scheduler_.now().count()) + " ";
      simulation.boxes_[object % kObjects].send(1000 + static_cast<int>(object));
    }
  };

  void execute(const std::vector<Step>& steps, std::uint32_t agent) {
    std::uint64_t operation = 0;
    try {
      for (const Step& step : steps) {
        perform(step, agent, operation++);
        note(agent, operation);
      }
    } catch (const Cancelled&) {
      trace_ += "x";
      note(agent, operation);
      throw;
    }
  }

  void perform(const Step& step, std::uint32_t agent, std::uint64_t operation) {
    const std::uint32_t object = step.object;
    switch (step.action) {
      case Action::sleep:
        return this_fiber::sleep(Time::picoseconds(step.amount));
      case Action::send:
        return boxes_[object].send(static_cast<int>(agent));
      case Action::receive:
        trace_ += labelled("m", boxes_[object].receive()) + " ";
        return;
      case Action::acquire:
        return semaphores_[object].acquire(step.amount);
      case Action::release:
        return semaphores_[object].release(step.amount);
      case Action::signal:
        return completions_[object].set();
      case Action::await:
        return completions_[object].wait();
      case Action::post_event:
        scheduler_.schedule(scheduler_.now() + Time::picoseconds(step.amount), static_cast<Phase>(step.amount),
                            AgentId{agent}, operation, call<&Poster::fire>(&poster_, agent * kObjects + object));
        return;
      case Action::cancel:
        return fibers_[(agent + object + 1) % fibers_.size()]->cancel();
      case Action::count:
        return;
    }
  }

  void note(std::uint32_t agent, std::uint64_t operation) {
    trace_ +=
        std::to_string(agent) + "." + std::to_string(operation) + "@" + std::to_string(scheduler_.now().count()) + " ";
  }

  Scheduler scheduler_;
  std::string trace_;
  Poster poster_{*this};
  Mailbox<int> boxes_[kObjects];
  Semaphore semaphores_[kObjects];
  Completion completions_[kObjects];
  std::vector<std::shared_ptr<Fiber>> fibers_;
};

TEST(DeterminismTest, TheOrderOfSpawningChangesNothing) {
  std::mt19937 random(2024);
  for (int round = 0; round < (kSanitized ? 50 : 1'000); ++round) {
    const Program program = random_program(random);
    std::vector<std::size_t> order(program.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    const std::string expected = Simulation().run(program, order);
    for (int shuffle = 0; shuffle < 3; ++shuffle) {
      std::shuffle(order.begin(), order.end(), random);
      ASSERT_EQ(Simulation().run(program, order), expected) << "round " << round;
    }
  }
}

}  // namespace
}  // namespace kernbench::sim
