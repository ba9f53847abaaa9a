// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/fleet/fleet_links.hpp"

#include <new>
#include <utility>

#include "weft/detail/base/assert.hpp"
#include "weft/detail/runtime/sleep.hpp"

namespace weft::detail {

namespace {

/// Time between two looks at an endpoint whose URL or options are no good: only another build would know
/// better.
constexpr Duration kHopelessInterval = std::chrono::seconds{5};

bool is_hopeless(const Status& failure) noexcept {
  return failure.retry() == Retry::kNever;
}

}  // namespace

void FleetMember::DialEnd::ended(Completion& self, TaskPromiseBase& task) noexcept {
  FleetMember& member = static_cast<DialEnd&>(self).member;
  if (task.failed()) member.links.dial_failed(member);
}

FleetLinks::FleetLinks(Loop& loop, FleetChoice& choice, PoolOptions options, Transports transports)
    : loop_(loop), choice_(choice), options_(std::move(options)), transports_(std::move(transports)) {
  options_.retries_max = 0;
  options_.waits_for_ready = false;
}

void FleetLinks::set_link(FleetMember& member, FleetMember::Link link) noexcept {
  using Link = FleetMember::Link;
  if (member.link == Link::kReady) {
    ready_[member.ready_at] = ready_.back();
    ready_[member.ready_at]->ready_at = member.ready_at;
    ready_.pop_back();
  }
  if (member.link == Link::kDown) {
    --down_;
    refused_ -= static_cast<std::size_t>(is_hopeless(member.failure));
  }
  member.link = link;
  if (link == Link::kReady) {
    member.ready_at = ready_.size();
    ready_.push_back(&member);  // there is room for every member
  }
  if (link == Link::kDown) {
    ++down_;
    refused_ += static_cast<std::size_t>(is_hopeless(member.failure));
  }
}

void FleetLinks::serve(const MethodEntry& entry, std::shared_ptr<void> owner) {
  WEFT_ASSERT(!has_pools_, "register the handlers of a fleet before its first call");
  handlers_.push_back({entry, std::move(owner)});
}

// A member has its pool when that has all handlers, or it would be connected without those for which there
// was no memory.
std::unique_ptr<CallPool> FleetLinks::make_pool(const FleetMember& member) {
  has_pools_ = true;
  PoolOptions options = options_;
  options.client.connect = member.url;
  auto pool = std::make_unique<CallPool>(loop_, std::move(options), transports_);
  for (const Handler& handler : handlers_) pool->register_method(handler.entry, handler.owner);
  return pool;
}

bool FleetLinks::connect(FleetMember& member) noexcept {
  using Link = FleetMember::Link;
  if (is_up(member)) return true;
  if (member.link == Link::kLate || member.link == Link::kDown || closed_) return false;
  if (member.link == Link::kDialing) {
    if (loop_.now() - member.dialing_since >= FleetMember::kDialPatience) {
      set_link(member, Link::kLate);
      choice_.link_changed(member);
    }
    return false;
  }
  try {
    if (member.pool == nullptr) member.pool = make_pool(member);
    member.dialing = dial(member);
  } catch (const std::bad_alloc&) {
    // It stays idle; the next call that needs it tries again.
    set_link(member, Link::kIdle);
    member.failure = Status::of<kOutOfMemory>();
    return false;
  }
  member.dialing_since = loop_.now();
  set_link(member, Link::kDialing);
  choice_.link_changed(member);
  detail::start(member.dialing, nullptr, member.dial_end);
  return member.link == Link::kReady;
}

void FleetLinks::forget(FleetMember& member) noexcept {
  set_link(member, FleetMember::Link::kIdle);
  member.failure = {};
  choice_.link_changed(member);
  member.dialing.reset();
}

void FleetLinks::disconnect(FleetMember& member) noexcept {
  set_link(member, FleetMember::Link::kIdle);
  member.dialing.reset();
  member.pool.reset();
}

Task<void> FleetLinks::dial(FleetMember& member) {
  while (true) {
    Task<Result<void>> connecting = member.pool->connect();
    Result<void> connected = co_await std::move(connecting);
    if (connected.ok()) {
      member.links.came_up(member);
      co_return;
    }
    member.links.is_down(member, connected.status());
    // The pool itself waits between attempts, but not where no attempt can be made.
    if (is_hopeless(connected.status())) {
      SleepAwaiter pause = sleep_for(kHopelessInterval);
      static_cast<void>(co_await pause);
    }
  }
}

void FleetLinks::came_up(FleetMember& member) noexcept {
  set_link(member, FleetMember::Link::kReady);
  member.failure = {};
  choice_.link_changed(member);
  notify();
}

void FleetLinks::is_down(FleetMember& member, Status why) noexcept {
  set_link(member, FleetMember::Link::kDialing);
  member.failure = std::move(why);
  set_link(member, FleetMember::Link::kDown);
  choice_.link_changed(member);
  notify();
}

void FleetLinks::dial_failed(FleetMember& member) noexcept {
  set_link(member, FleetMember::Link::kIdle);
  member.failure = Status::of<kOutOfMemory>();
  choice_.link_changed(member);
  notify();
}

void FleetLinks::notify() noexcept {
  ++changes_;
  changed_.set();
  changed_.reset();
}

}  // namespace weft::detail
