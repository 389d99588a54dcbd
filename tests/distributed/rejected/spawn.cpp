// Programs that must not compile; each test compiles this file with one CASE and looks for the compiler's message.
#include <memory>

#include "kernbench/kernbench.h"

namespace mp = kernbench::torch::multiprocessing;

void worker(int rank, int world_size, const std::string& text);

void program() {
#if CASE == 0  // the control: what is right compiles
  mp::spawn(worker, std::tuple{4, std::string("text")}, {.nprocs = 4});
  mp::spawn(worker, std::tuple{4, "text"}, {.nprocs = 4, .join = false}).join(1.0);
  mp::start_processes([](int) {}, {}, {.nprocs = 4});
  mp::spawn([](int) {});
#elif CASE == 1
  mp::spawn(worker, std::tuple{4}, {.nprocs = 4});
#elif CASE == 2
  mp::spawn(worker, std::tuple{4, std::string("text"), 5}, {.nprocs = 4});
#elif CASE == 3
  mp::spawn(worker, std::tuple{"4", std::string("text")}, {.nprocs = 4});
#elif CASE == 4
  mp::spawn([] {}, {}, {.nprocs = 4});
#elif CASE == 5
  mp::spawn([](int, std::unique_ptr<int>&) {}, std::tuple{std::make_unique<int>(1)}, {.nprocs = 4});
#endif
}
