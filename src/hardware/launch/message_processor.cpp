#include "hardware/launch/message_processor.h"

namespace kernbench::hardware {

void MessageProcessor::receive(sim::Callback handled) {
  if (latency_ == Time::zero()) return invoke(handled);
  messages_.push_back(handled);
  if (messages_.size() == 1) start();
}

void MessageProcessor::start() {
  scheduler_.schedule(scheduler_.now() + latency_, sim::Phase::deliver, agent_, key_(sent_),
                      sim::call<&MessageProcessor::finish>(this));
}

void MessageProcessor::finish(std::uint64_t) {
  const sim::Callback handled = messages_.front();
  messages_.pop_front();
  busy_ += latency_;
  if (observer_ != nullptr) observer_->on_message(agent_, scheduler_.now() - latency_, scheduler_.now());
  if (!messages_.empty()) start();
  invoke(handled);
}

}  // namespace kernbench::hardware
