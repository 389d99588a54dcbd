// Futures of collectives, as torch.futures has them: what an operation gives, and what follows it.
//
//   const auto work = torch::distributed::all_reduce(gradient, ReduceOp::SUM, group, true);
//   const auto halved = work->get_future().then([](torch::futures::Future& sum) {
//     sum.value().front().mul_(0.5);         // on a stream of its own, behind the sum
//     return sum.value();
//   });
//   halved.wait();                           // what comes now on the current stream is behind that
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "kernbench/torch/tensor.h"
#include "kernbench/where.h"

namespace kernbench::torch::distributed {
class Work;
}

namespace kernbench::torch::futures {

/// As of PyTorch's futures of devices, tensors of a future may be used as soon as it has been waited for, although the
/// device may still be at work: `wait` orders the current stream. Copies are the same future.
class Future {
 public:
  using Tensors = std::vector<Tensor>;
  /// What follows, called with the future itself. What it throws becomes the error of the future that `then` returns.
  using Callback = std::function<Tensors(Future&)>;

  /// What is given to the current stream from now on begins when the operation has finished; returns the tensors.
  /// Throws the error, if there is one.
  Tensors wait(Where where = Where::current());
  /// The tensors, without any wait; inside of a callback the current stream is behind them. Throws the error.
  const Tensors& value() const;
  /// Whether the devices have finished. Asking in vain costs the host the launch overhead.
  bool done(Where where = Where::current()) const;
  bool completed(Where where = Where::current()) const { return done(where); }
  /// Whether there is an error: ranks have called operations that do not fit, or the callback has thrown.
  bool has_error() const;
  /// Calls `callback` now, on the host, with a new stream as the current one, which is behind this future; so what it
  /// gives to the device runs beside what the caller gives to other streams. It holds up the host only as `wait` does.
  /// The future that is returned has what the callback returns, and is done when that stream is.
  Future then(const Callback& callback, Where where = Where::current());

  /// For the library's own use.
  struct State;
  explicit Future(std::shared_ptr<State> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<State> state_;
};

}  // namespace kernbench::torch::futures
