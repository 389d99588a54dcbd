// The model of processes_kernbench.cpp on SimGrid (s4u), with its cheapest settings: one host, and messages of no bytes
// under the constant network model. Its clock counts nanoseconds as
// seconds, because its precision is absolute.
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <simgrid/s4u.hpp>
#include <string>

int main(int argc, char** argv) {
  namespace sg = simgrid::s4u;
  sg::Engine engine(&argc, argv);
  sg::Engine::set_config("network/model:Constant");
  sg::Engine::set_config("network/latency-factor:0");  // the time of every message, in seconds
  if (argc != 3) return 2;
  const int count = std::atoi(argv[1]);
  const int steps = std::atoi(argv[2]);

  sg::NetZone* zone = sg::create_full_zone("zone");
  sg::Host* host = zone->create_host("host", 1e9);
  zone->seal();
  for (int i = 0; i < count; ++i) {
    sg::Mailbox* own = sg::Mailbox::by_name(std::to_string(i));
    sg::Mailbox* next = sg::Mailbox::by_name(std::to_string((i + 1) % count));
    sg::Actor::create("process", host, [own, next, i, steps] {
      static int message = 0;
      for (int step = 0; step < steps; ++step) {
        sg::this_actor::sleep_for(1 + (i * 7 + step * 13) % 50);
        next->put_init(&message, 0)->detach();
        own->get<int>();
      }
    });
  }
  const std::clock_t begin = std::clock();
  engine.run();
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  std::printf("%.2f %.9f\n", seconds * 1e9 / count / steps, sg::Engine::get_clock() * 1e-9);
}
