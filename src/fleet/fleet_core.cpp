// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/fleet/fleet_core.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "weft/balancing/least_loaded.hpp"
#include "weft/base/log.hpp"
#include "weft/runtime/sleep.hpp"

namespace weft::detail {

namespace {

/// Connections that one call may have begun while there are others that it can use.
constexpr int kDialsPerPick = 3;
/// Attempts to connect under way above which a call begins no more while others can serve it.
constexpr int kLooksMax = 32;
/// Between two looks at an endpoint whose URL or options are no good: only another build would know better.
constexpr Duration kHopelessInterval = std::chrono::seconds{5};
/// The average of latencies forgets an eighth with each.
constexpr int kLatencyParts = 8;

constexpr FixedFailure kClosed{StatusCode::kCancelled, Layer::kRpc, Retry::kNever, "the fleet was closed", true};
constexpr FixedFailure kNoList{StatusCode::kUnavailable, Layer::kRpc, Retry::kBackoff,
                               "the name has given no server yet", true};
constexpr FixedFailure kNotConnected{StatusCode::kUnavailable, Layer::kRpc, Retry::kBackoff,
                                     "no server is connected yet", true};

RandomNumbers numbers_of(std::uint64_t seed) noexcept {
  return seed != 0 ? RandomNumbers{seed} : RandomNumbers::of_system();
}

bool is_among(std::span<const std::uint32_t> tried, std::uint32_t index) {
  return std::find(tried.begin(), tried.end(), index) != tried.end();
}

}  // namespace

void FleetMember::DialEnd::ended(Completion& self, TaskPromiseBase& task) noexcept {
  FleetMember& member = static_cast<DialEnd&>(self).member;
  if (task.failed()) member.core.dial_failed(member);
}

FleetCore::FleetCore(Loop& loop, FleetOptions options, Transports transports)
    : loop_(loop),
      options_(std::move(options)),
      transports_(std::move(transports)),
      random_(numbers_of(options_.seed)),
      budget_(options_.retry_budget, loop.now()),
      policy_(std::move(options_.balancing)) {
  options_.pool.retries_max = 0;
  options_.pool.waits_for_ready = false;
  if (policy_ == nullptr) policy_ = std::make_unique<LeastLoaded>();
  if (options_.outliers) {
    auto outliers = std::make_unique<OutlierEjection>(*options_.outliers, std::move(policy_));
    outliers_ = outliers.get();
    policy_ = std::move(outliers);
  }
  if (options_.subset) policy_ = std::make_unique<Subset>(*options_.subset, std::move(policy_));
  Result<NameWatch> names = watch_name(loop, options_.name, options_.naming);
  if (!names.ok()) {
    misuse_ = names.status().with_context([this] { return "the name \"" + options_.name + '"'; });
    misuse_.mark_unprocessed();
    return;
  }
  names_.emplace(std::move(*names));
  loop.arm(beginning_, loop.now());
}

void FleetCore::begin_watching() {
  watching_ = watch();
  detail::start(watching_, nullptr, watch_end_);
}

FleetCore::~FleetCore() {
  close();
}

void FleetCore::close() noexcept {
  if (std::exchange(closed_, true)) return;
  misuse_ = Status::of<kClosed>();
  loop_.disarm(beginning_);
  watching_.reset();
  names_.reset();
  // The records stay for calls that have not heard of their end yet.
  const auto disconnect = [](const std::unique_ptr<FleetMember>& member) {
    member->dialing.reset();
    member->pool.reset();
  };
  std::for_each(members_.begin(), members_.end(), disconnect);
  std::for_each(leaving_.begin(), leaving_.end(), disconnect);
  ready_.clear();
  changed_.set();
}

Task<void> FleetCore::watch() {
  std::uint64_t seen = 0;
  while (true) {
    Task<Result<NameSnapshot>> next = names_->changed(seen);
    Result<NameSnapshot> list = co_await std::move(next);
    if (!list.ok()) co_return;
    seen = (*list)->version;
    try {
      take_list(**list);
    } catch (const std::bad_alloc&) {
      write_line(*options_.naming.logger, LogLevel::kWarning,
                 [] { return std::string{"a fleet has no memory for another list of servers"}; });
    }
  }
}

// Both lists are in the order of their URLs. Members are made before the policy hears of them, so that a list
// for which there is no memory changes nothing but what the policy itself then repairs.
void FleetCore::take_list(const NameList& list) {
  if (list.endpoints.size() > kEndpointsMax) {
    ++counted_.lists_refused;
    write_line(*options_.naming.logger, LogLevel::kWarning, [&] {
      return "a list of " + std::to_string(list.endpoints.size()) + " servers is longer than a fleet takes (" +
             std::to_string(kEndpointsMax) + "); the one before stays";
    });
    return;
  }
  std::vector<EndpointSpec> specs;
  std::vector<std::unique_ptr<FleetMember>> next;
  specs.reserve(list.endpoints.size());
  next.reserve(list.endpoints.size());
  leaving_.reserve(leaving_.size() + members_.size());
  ready_.reserve(list.endpoints.size());
  std::size_t known = 0;
  for (const Endpoint& endpoint : list.endpoints) {
    specs.push_back({endpoint.url, endpoint.weight, endpoint.zone});
    while (known < members_.size() && members_[known]->url < endpoint.url) ++known;
    const bool stays = known < members_.size() && members_[known]->url == endpoint.url;
    next.push_back(stays ? nullptr : std::make_unique<FleetMember>(*this, endpoint.url));
  }
  const Status taken = policy_->set_endpoints(specs);
  if (!taken.ok()) {
    ++counted_.lists_refused;
    return;
  }
  // From here on nothing throws.
  std::size_t old = 0;
  for (std::size_t i = 0; i < next.size(); ++i) {
    if (next[i] == nullptr) {
      while (members_[old]->url != list.endpoints[i].url) let_go(std::move(members_[old++]));
      next[i] = std::move(members_[old++]);
    }
    next[i]->index = static_cast<std::uint32_t>(i);
  }
  while (old < members_.size()) let_go(std::move(members_[old++]));
  members_ = std::move(next);
  ++counted_.lists;
  notify();
}

void FleetCore::let_go(std::unique_ptr<FleetMember> member) {
  if (member->link != FleetMember::Link::kIdle) set_link(*member, FleetMember::Link::kIdle);
  member->index = FleetMember::kGone;
  member->dialing.reset();
  if (member->in_flight != 0) leaving_.push_back(std::move(member));
}

void FleetCore::set_link(FleetMember& member, FleetMember::Link link) noexcept {
  using Link = FleetMember::Link;
  if (member.link == Link::kReady) {
    ready_[member.ready_at] = ready_.back();
    ready_[member.ready_at]->ready_at = member.ready_at;
    ready_.pop_back();
  }
  if (member.link == Link::kDown) --down_;
  member.link = link;
  if (link == Link::kReady) {
    member.ready_at = ready_.size();
    ready_.push_back(&member);  // there is room for every member
  }
  if (link == Link::kDown) ++down_;
}

bool FleetCore::connect(FleetMember& member) {
  using Link = FleetMember::Link;
  if (member.link == Link::kReady && member.pool->connected()) return true;
  if (member.link == Link::kDialing || member.link == Link::kDown) return false;
  if (member.pool == nullptr) {
    PoolOptions options = options_.pool;
    options.client.connect = member.url;
    member.pool = std::make_unique<CallPool>(loop_, std::move(options), transports_);
  }
  member.dialing = dial(member);
  set_link(member, Link::kDialing);
  policy_->set_share(member.index, 0);
  detail::start(member.dialing, nullptr, member.dial_end);
  return member.link == Link::kReady;
}

Task<void> FleetCore::dial(FleetMember& member) {
  FleetCore& core = member.core;
  while (true) {
    Task<Result<void>> connecting = member.pool->connect();
    Result<void> connected = co_await std::move(connecting);
    if (connected.ok()) {
      core.came_up(member);
      co_return;
    }
    const bool hopeless = connected.status().retry() == Retry::kNever;
    core.is_down(member, connected.status());
    // The pool itself waits between attempts, but not where no attempt can be made.
    if (hopeless) {
      SleepAwaiter pause = sleep_for(kHopelessInterval);
      static_cast<void>(co_await pause);
    }
  }
}

void FleetCore::came_up(FleetMember& member) noexcept {
  set_link(member, FleetMember::Link::kReady);
  policy_->set_share(member.index, 1);
  notify();
}

void FleetCore::is_down(FleetMember& member, Status why) noexcept {
  member.failure = std::move(why);
  last_failure_ = member.failure;
  if (member.link != FleetMember::Link::kDown) set_link(member, FleetMember::Link::kDown);
  notify();
}

void FleetCore::dial_failed(FleetMember& member) noexcept {
  set_link(member, FleetMember::Link::kIdle);
  policy_->set_share(member.index, 1);
  notify();
}

FleetMember* FleetCore::pick(std::uint64_t key_hash, std::span<const std::uint32_t> tried) {
  PickRequest request{loop_.now(), 0, key_hash, tried};
  int dials = 0;
  for (int looks = 0; looks < kLooksMax; ++looks) {
    request.random = random_.next();
    const std::optional<std::uint32_t> index = policy_->pick(request);
    if (!index) break;
    FleetMember& member = *members_[*index];
    if (connect(member)) return &member;
    if (++dials > kDialsPerPick || (dials > 1 && ready_.empty())) break;
  }
  return any_ready(tried);
}

FleetMember* FleetCore::any_ready(std::span<const std::uint32_t> tried) {
  if (ready_.empty()) return nullptr;
  const std::size_t first = random_.below(static_cast<std::uint32_t>(ready_.size()));
  const std::size_t looks = std::min(ready_.size(), tried.size() + kLooksMax);
  for (std::size_t i = 0; i < looks; ++i) {
    FleetMember& member = *ready_[(first + i) % ready_.size()];
    if (!is_among(tried, member.index) && member.pool->connected()) return &member;
  }
  return nullptr;
}

Status FleetCore::hopeless() const {
  if (!misuse_.ok()) return misuse_;
  if (!options_.waits_for_ready && !members_.empty() && down_ == members_.size()) return reason();
  return {};
}

Status FleetCore::reason() const {
  if (!misuse_.ok()) return misuse_;
  Status why;
  if (members_.empty()) {
    why = names_->last_failure();
    if (why.ok()) why = Status::of<kNoList>();
  } else {
    why = last_failure_;
    if (why.ok()) why = Status::of<kNotConnected>();
  }
  why = why.with_context([this] { return "no server of \"" + options_.name + '"'; });
  why.mark_unprocessed();
  return why;
}

Task<Result<void>> FleetCore::changed() {
  Event::WaitAwaiter waiting = changed_.wait();
  Result<void> outcome = co_await waiting;
  co_return outcome;
}

void FleetCore::notify() noexcept {
  changed_.set();
  changed_.reset();
}

void FleetCore::begun(FleetMember& member) {
  ++member.picks;
  ++counted_.attempts;
  ++counted_.calls_in_flight;
  retain(member);
  policy_->begun(member.index, loop_.now());
}

void FleetCore::ended(FleetMember& member, TimePoint since, CallOutcome outcome) noexcept {
  --counted_.calls_in_flight;
  const TimePoint now = loop_.now();
  const Duration latency = now - since;
  if (outcome == CallOutcome::kFailure) ++member.failures;
  if (outcome == CallOutcome::kSuccess) {
    const bool first = member.latency == Duration::zero();
    member.latency += first ? latency : (latency - member.latency) / kLatencyParts;
  }
  if (!closed_ && member.index != FleetMember::kGone) policy_->ended(member.index, {now, outcome, latency});
  release(member);
}

void FleetCore::release(FleetMember& member) noexcept {
  if (--member.in_flight != 0 || member.index != FleetMember::kGone) return;
  const auto is_it = [&](const std::unique_ptr<FleetMember>& one) { return one.get() == &member; };
  const auto found = std::find_if(leaving_.begin(), leaving_.end(), is_it);
  std::swap(*found, leaving_.back());
  leaving_.pop_back();
}

bool FleetCore::try_retry() noexcept {
  if (budget_.try_retry(loop_.now())) return true;
  ++counted_.retries_refused;
  return false;
}

FleetStats FleetCore::stats() const noexcept {
  FleetStats stats = counted_;
  stats.endpoints = members_.size();
  stats.ready = ready_.size();
  stats.ejected = outliers_ != nullptr && !options_.subset ? outliers_->ejected() : 0;
  stats.leaving = leaving_.size();
  return stats;
}

std::vector<FleetEndpointStats> FleetCore::endpoint_stats() const {
  std::vector<FleetEndpointStats> all;
  all.reserve(members_.size());
  for (const std::unique_ptr<FleetMember>& member : members_) {
    const bool ejected = outliers_ != nullptr && !options_.subset && outliers_->is_ejected(member->index);
    all.push_back({member->url, member->link == FleetMember::Link::kReady && member->pool != nullptr && member->pool->connected(),
                   ejected, member->picks, member->failures, member->in_flight, member->latency});
  }
  return all;
}

}  // namespace weft::detail
