#include "hardware/copy/split.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

namespace kernbench::hardware {
namespace {

/// Calls `action` the `count`-th time that it is called.
std::function<void()> at_last(std::size_t count, std::function<void()> action) {
  if (!action) return nullptr;
  return [left = std::make_shared<std::size_t>(count), action = std::move(action)] {
    if (--*left == 0) action();
  };
}

/// `share` makes the request of a part without its legs.
template <typename Request, typename Share>
std::vector<Request> split_legs(Request request, std::size_t limit, Share share) {
  const std::size_t legs = request.legs.size();
  std::vector<Request> parts;
  if (legs <= limit) {
    parts.push_back(std::move(request));
    return parts;
  }
  const Request common = share(request, (legs + limit - 1) / limit);
  for (std::size_t first = 0; first < legs; first += limit) {
    const auto begin = request.legs.begin() + static_cast<std::ptrdiff_t>(first);
    const auto end = request.legs.begin() + static_cast<std::ptrdiff_t>(std::min(first + limit, legs));
    Request& part = parts.emplace_back(common);
    part.legs.assign(std::make_move_iterator(begin), std::make_move_iterator(end));
  }
  return parts;
}

}  // namespace

std::vector<CopyRequest> split(CopyRequest request, std::size_t limit) {
  return split_legs(std::move(request), limit, [](CopyRequest& whole, std::size_t parts) {
    return CopyRequest{.sip = whole.sip,
                       .to_device = whole.to_device,
                       .legs = {},
                       .effect = at_last(parts, std::move(whole.effect)),
                       .completed = at_last(parts, std::move(whole.completed)),
                       .owner = whole.owner};
  });
}

std::vector<PeerCopyRequest> split(PeerCopyRequest request, std::size_t limit) {
  return split_legs(std::move(request), limit, [](PeerCopyRequest& whole, std::size_t parts) {
    return PeerCopyRequest{.source = whole.source,
                           .legs = {},
                           .read = at_last(parts, std::move(whole.read)),
                           .written = at_last(parts, std::move(whole.written)),
                           .completed = at_last(parts, std::move(whole.completed)),
                           .owner = whole.owner};
  });
}

}  // namespace kernbench::hardware
