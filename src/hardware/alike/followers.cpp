#include "hardware/alike/followers.h"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <utility>

#include "base/text.h"
#include "hardware/alike/not_alike.h"

namespace kernbench::hardware {

/// A command of SIP 0, with what is to be done at its moments for the others.
class Followers::Led final : public sim::WaitNode {
 public:
  /// The n-th command of `sequence`.
  Led(std::string what, Time given, const Sequence& sequence, std::uint64_t number)
      : what_(std::move(what)), given_(given), sequence_(sequence), number_(number) {}

  const std::string& what() const { return what_; }
  Time given() const { return given_; }
  bool is_led() const { return led_; }
  std::size_t followers() const { return count_; }

  void lead() { led_ = true; }
  void is(const std::shared_ptr<const sim::WaitNode>& leader) { leader_ = leader; }
  void add(Follower follower) {
    ++count_;
    followers_.push_back(std::move(follower));
  }
  /// SIP 0's command has come to its n-th moment.
  void pass(std::size_t n, const LaunchTimes* times = nullptr) const {
    for (const Follower& each : followers_) {
      if (each.moments[n].action) each.moments[n].action(times);
    }
  }
  void cancel(std::uint64_t owner, const LaunchTimes& times) {
    const auto stay = std::ranges::stable_partition(followers_, [&](const Follower& f) { return f.owner != owner; });
    std::vector<Follower> gone(std::move_iterator(stay.begin()), std::move_iterator(stay.end()));
    followers_.erase(stay.begin(), stay.end());
    for (const Follower& each : gone) {
      for (const Moment& moment : each.moments) {
        if (moment.is_end && moment.action) moment.action(&times);
      }
    }
  }

  Name wait_name() const override { return what_ + " of SIP 0, which devices that are alike follow"; }
  void waits_for(std::vector<sim::WaitEdge>& edges) const override {
    if (!led_) return edges.push_back({nullptr, named("{} of SIP 0, which nobody has given", what_)});
    if (const auto leader = leader_.lock()) return edges.push_back({leader.get(), "SIP 0's"});
    // It is over; what the others have of it ends when all of them have been given it.
    sim::WaitEdge edge{nullptr, named("{} of other SIPs, not all of which have been given it", what_)};
    edge.missing = sequence_.without(number_);
    edge.fault = {sim::kHas, named("not been given {}, command {} of SIP 0", what_, number_ + 1)};
    if (!edge.missing.empty()) edges.push_back(std::move(edge));
  }

 private:
  std::string what_;
  Time given_;
  const Sequence& sequence_;
  std::uint64_t number_;
  bool led_ = false;
  std::size_t count_ = 0;  // of those that have come
  std::vector<Follower> followers_;
  std::weak_ptr<const sim::WaitNode> leader_;
};

namespace {

std::string what(const LaunchRequest& request) {
  const std::string& name = request.name.text();  // "gemm#0.3"
  return "a launch of " + name.substr(0, name.find('#'));
}

std::string what(const GraphRequest& request) {
  std::string text = "a graph:";
  for (const LaunchRequest& launch : request.launches) text += " " + what(launch);
  return text;
}

std::string what(const CopyRequest& request) {
  return "a copy of " + to_text(bytes_of(request.legs)) + (request.to_device ? " from the host" : " to the host");
}

std::string what(const PeerCopyRequest& request) {
  return "a copy in " + std::to_string(request.legs.size()) + " parts to another device";
}

/// Of a group whose ranks stand in a line or a tree some have more channels than others.
std::string what(const InstallRequest&) {
  return "rows of its tables of neighbours";
}

}  // namespace

Followers::Moment Followers::moment(std::function<void()> action, bool is_end) {
  Moment moment{{}, is_end};
  if (action) moment.action = [action = std::move(action)](const LaunchTimes*) { action(); };
  return moment;
}

void Followers::append_moments(LaunchRequest& request, std::vector<Moment>& moments) {
  moments.push_back(moment(std::move(request.begins)));
  const auto end = [completed = std::move(request.completed)](const LaunchTimes* times) {
    LaunchTimes mine = *times;
    mine.follows = true;
    completed(mine);
  };
  moments.push_back({end, true});
}

// ---- SIP 0

namespace {

/// What a command of SIP 0 calls at a moment: its own action, then those that follow.
template <class Led>
std::function<void()> leading(std::shared_ptr<Led> led, std::size_t moment, std::function<void()> own) {
  return [led = std::move(led), moment, own = std::move(own)] {
    if (own) own();
    led->pass(moment);
  };
}

template <class Led>
void lead_launch(const std::shared_ptr<Led>& led, std::size_t first_moment, LaunchRequest& request) {
  request.begins = leading(led, first_moment, std::move(request.begins));
  request.completed = [led, moment = first_moment + 1, own = std::move(request.completed)](const LaunchTimes& times) {
    own(times);
    led->pass(moment, &times);
  };
}

}  // namespace

std::shared_ptr<Followers::Led> Followers::lead_next(Sequence& sequence, const std::string& what) {
  auto led = sequence.lead(what, scheduler_.now());
  latest_ = led;
  return led;
}

LaunchRequest Followers::lead(LaunchRequest request) {
  lead_launch(lead_next(launches_and_copies_, what(request)), 0, request);
  return request;
}

GraphRequest Followers::lead(GraphRequest request) {
  const auto led = lead_next(launches_and_copies_, what(request));
  for (std::size_t i = 0; i < request.launches.size(); ++i) lead_launch(led, 2 * i, request.launches[i]);
  return request;
}

CopyRequest Followers::lead(CopyRequest request) {
  const auto led = lead_next(launches_and_copies_, what(request));
  request.effect = leading(led, 0, std::move(request.effect));
  request.completed = leading(led, 1, std::move(request.completed));
  return request;
}

PeerCopyRequest Followers::lead(PeerCopyRequest request) {
  const auto led = lead_next(launches_and_copies_, what(request));
  request.read = leading(led, 0, std::move(request.read));
  request.written = leading(led, 1, std::move(request.written));
  request.completed = leading(led, 2, std::move(request.completed));
  return request;
}

InstallRequest Followers::lead(InstallRequest request) {
  request.completed = leading(lead_next(installations_, what(request)), 0, std::move(request.completed));
  return request;
}

// ---- the others

std::shared_ptr<const sim::WaitNode> Followers::follow(LaunchRequest request) {
  const std::string text = what(request);
  Follower follower{request.owner, {}};
  append_moments(request, follower.moments);
  return launches_and_copies_.follow(request.sip, std::move(follower), text, scheduler_.now());
}

std::vector<std::shared_ptr<const sim::WaitNode>> Followers::follow(GraphRequest request) {
  const std::string text = what(request);
  const SipId sip = request.launches.front().sip;
  Follower follower{request.launches.front().owner, {}};
  for (LaunchRequest& launch : request.launches) append_moments(launch, follower.moments);
  return {request.launches.size(), launches_and_copies_.follow(sip, std::move(follower), text, scheduler_.now())};
}

void Followers::follow(CopyRequest request) {
  const std::string text = what(request);
  launches_and_copies_.follow(
      request.sip, {request.owner, {moment(std::move(request.effect)), moment(std::move(request.completed), true)}},
      text, scheduler_.now());
}

void Followers::follow(PeerCopyRequest request) {
  const std::string text = what(request);
  launches_and_copies_.follow(request.source,
                              {request.owner,
                               {moment(std::move(request.read)), moment(std::move(request.written)),
                                moment(std::move(request.completed), true)}},
                              text, scheduler_.now());
}

std::shared_ptr<const sim::WaitNode> Followers::follow(InstallRequest request) {
  return installations_.follow(request.sip, {0, {moment(std::move(request.completed), true)}}, what(request),
                               scheduler_.now());
}

void Followers::leads(const std::shared_ptr<const sim::WaitNode>& node) {
  if (const auto led = latest_.lock()) led->is(node);
}

void Followers::cancel(std::uint64_t owner) {
  LaunchTimes times;
  times.requested = times.first_program = times.last_program = times.completed = scheduler_.now();
  times.cut = true;
  launches_and_copies_.cancel(owner, times);
  installations_.cancel(owner, times);
}

// ---- joining them

namespace {

[[noreturn]] void refuse(SipId sip, std::uint64_t number, const std::string& mine, Time given,
                         const std::string& others, Time at) {
  throw not_alike("command " + std::to_string(number + 1) + " of " + to_text(sip) + " is " + mine + " at " +
                  to_text(given) + ", that of others " + others + " at " + to_text(at));
}

}  // namespace

std::shared_ptr<Followers::Led> Followers::Sequence::next(SipId sip, const std::string& what, Time now) {
  const std::uint64_t number = given_[static_cast<std::size_t>(sip.value)]++;
  assert(number >= first_);
  if (number - first_ >= open_.size()) open_.resize(number - first_ + 1);
  auto& led = open_[number - first_];
  if (!led) led = std::make_shared<Led>(what, now, *this, number);
  if (led->what() != what || led->given() != now) refuse(sip, number, what, now, led->what(), led->given());
  return led;
}

std::shared_ptr<Followers::Led> Followers::Sequence::lead(const std::string& what, Time now) {
  auto led = next(SipId{0}, what, now);
  led->lead();
  return led;
}

std::shared_ptr<Followers::Led> Followers::Sequence::follow(SipId sip, Follower follower, const std::string& what,
                                                            Time now) {
  auto led = next(sip, what, now);
  led->add(std::move(follower));
  while (!open_.empty() && open_.front() && open_.front()->is_led() &&
         open_.front()->followers() + 1 == given_.size()) {
    open_.pop_front();
    ++first_;
  }
  return led;
}

std::vector<Name> Followers::Sequence::without(std::uint64_t number) const {
  std::vector<Name> sips;
  for (std::size_t sip = 0; sip < given_.size(); ++sip) {
    if (given_[sip] <= number) sips.push_back(to_name(SipId{static_cast<std::int32_t>(sip)}));
  }
  return sips;
}

void Followers::Sequence::cancel(std::uint64_t owner, const LaunchTimes& times) const {
  const std::vector<std::shared_ptr<Led>> open(open_.begin(), open_.end());  // what ends may give more
  for (const auto& led : open) {
    if (led && !led->is_led()) led->cancel(owner, times);
  }
}

}  // namespace kernbench::hardware
