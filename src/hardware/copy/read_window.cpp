#include "hardware/copy/read_window.h"

#include <cstddef>

namespace kernbench::hardware {

void ReadWindow::join(PartReader& reader) {
  turns_.push_back({&reader, scheduler_.begin_work()});
  ask();
}

void ReadWindow::arrived(Bytes bytes) {
  asked_ -= bytes;
  ask();
}

void ReadWindow::ask() {
  std::size_t passed = 0;  // the copies that may not ask, one after the other
  while (asked_ < size_ && passed < turns_.size()) {
    const Turn turn = turns_.front();
    turns_.pop_front();
    PartReader& reader = *turn.reader;
    const bool asks = reader.may_ask();
    passed = asks ? 0 : passed + 1;
    if (asks) {
      const sim::Scheduler::ActsFor copy(scheduler_, turn.origin);
      asked_ += reader.ask();
    }
    if (reader.has_more())
      turns_.push_back(turn);
    else
      scheduler_.end_work(turn.origin);
  }
}

}  // namespace kernbench::hardware
