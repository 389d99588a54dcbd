#include "hardware/copy/read_window.h"

#include <cstddef>

namespace kernbench::hardware {

void ReadWindow::join(PartReader& reader) {
  turns_.push_back(&reader);
  ask();
}

void ReadWindow::arrived(Bytes bytes) {
  asked_ -= bytes;
  ask();
}

void ReadWindow::ask() {
  std::size_t passed = 0;  // the copies that may not ask, one after the other
  while (asked_ < size_ && passed < turns_.size()) {
    PartReader& reader = *turns_.front();
    turns_.pop_front();
    const bool asks = reader.may_ask();
    passed = asks ? 0 : passed + 1;
    if (asks) asked_ += reader.ask();
    if (reader.has_more()) turns_.push_back(&reader);
  }
}

}  // namespace kernbench::hardware
