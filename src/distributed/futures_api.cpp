// torch::futures: what an operation gives, and what follows it.
#include <exception>
#include <optional>
#include <utility>

#include "kernbench/distributed.h"
#include "kernbench/futures.h"
#include "kernbench/streams.h"
#include "tensor/host_call.h"

namespace kernbench::torch::futures {

using distributed::Work;

/// That of an operation, or of what a callback has given to a stream until `end`.
struct Future::State {
  std::optional<Work> work = {};
  ahbm::Event end = {};
  Tensors tensors = {};
  std::exception_ptr thrown = {};  // by the callback

  std::exception_ptr error() const { return work ? work->exception() : thrown; }
  void throw_error() const {
    if (const auto why = error()) std::rethrow_exception(why);
  }
};

Future::Tensors Future::wait(Where where) {
  const tensor::HostCall here("Future::wait", where);
  state_->throw_error();
  if (state_->work) {
    state_->work->wait(where);
  } else {
    state_->end.wait(where);
  }
  return state_->tensors;
}

const Future::Tensors& Future::value() const {
  state_->throw_error();
  return state_->tensors;
}

bool Future::done(Where where) const {
  const tensor::HostCall here("Future::done", where);
  if (has_error()) return true;
  return state_->work ? state_->work->is_completed(where) : state_->end.query(where);
}

bool Future::has_error() const {
  return state_->error() != nullptr;
}

Future Future::then(const Callback& callback, Where where) {
  const tensor::HostCall here("Future::then", where);
  const auto next = std::make_shared<State>();
  const ahbm::StreamGuard beside(ahbm::Stream(-1, where), where);
  try {
    wait(where);
  } catch (const std::exception&) {
    if (!has_error()) throw;  // the callback finds the error in the future
  }
  try {
    next->tensors = callback(*this);
  } catch (const std::exception&) {
    next->thrown = std::current_exception();
  }
  next->end.record(where);
  return Future(next);
}

}  // namespace kernbench::torch::futures

namespace kernbench::torch::distributed {

futures::Future Work::get_future() const {
  auto state = std::make_shared<futures::Future::State>();
  state->work = *this;
  state->tensors = result_;
  return futures::Future(std::move(state));
}

}  // namespace kernbench::torch::distributed
