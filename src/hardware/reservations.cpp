#include "hardware/reservations.h"

#include <algorithm>

#include "sim/fiber.h"

namespace kernbench::hardware {

CommandRef Reservations::take(std::int64_t units) {
  if (sim::this_fiber::unwinding() || (requests_.empty() && fits(units))) {
    taken_ += units;
    return {};
  }
  Request request{units};
  requests_.push_back(&request);
  try {
    bool waited = true;
    while (waited && !request.granted) waited = block();
  } catch (...) {
    withdraw(request);
    throw;
  }
  if (!request.granted) {
    withdraw(request);
    taken_ += units;
  }
  return request.by;
}

void Reservations::give_back(std::int64_t units, Command* by) {
  taken_ -= units;
  grant_in_order(by);
}

// Whoever is woken without a grant waits again: the order of requests, not that of waiters, decides.
void Reservations::grant_in_order(Command* by) {
  bool any = false;
  while (!requests_.empty() && fits(requests_.front()->units)) {
    Request& next = *requests_.front();
    requests_.erase(requests_.begin());
    taken_ += next.units;
    next.granted = any = true;
    next.by = CommandRef(by);
  }
  if (any) wake_all();
}

void Reservations::withdraw(const Request& request) {
  if (request.granted) taken_ -= request.units;
  std::erase(requests_, &request);
  grant_in_order(nullptr);
}

}  // namespace kernbench::hardware
