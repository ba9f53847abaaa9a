// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/fleet/fleet_names.hpp"

#include <new>
#include <string>
#include <utility>

#include "weft/detail/base/log.hpp"
#include "weft/detail/runtime/sleep.hpp"

namespace weft::detail {

namespace {

/// Time between two tries to do what there was no memory for.
constexpr Duration kMemoryPause = std::chrono::seconds{1};

}  // namespace

FleetNames::FleetNames(Loop& loop, const FleetOptions& options, FleetList& list, FleetLinks& links,
                       FleetStats& counted)
    : loop_(loop), options_(options), list_(list), links_(links), counted_(counted) {}

void FleetNames::close() noexcept {
  loop_.disarm(beginning_);
  watching_.reset();
  names_.reset();
}

void FleetNames::begin() noexcept {
  try {
    if (!names_ && !find_watch()) return links_.notify();
    watching_ = watch();
  } catch (const std::bad_alloc&) {
    loop_.arm(beginning_, loop_.now() + kMemoryPause);
    return;
  }
  detail::start(watching_, nullptr, watch_end_);
}

Status FleetNames::last_failure() const noexcept {
  if (!refusal_.ok()) return refusal_;
  return names_ ? names_->last_failure() : Status{};
}

bool FleetNames::find_watch() {
  Result<NameWatch> names = watch_name(loop_, options_.name, options_.naming);
  if (names.ok()) {
    names_.emplace(std::move(*names));
    return true;
  }
  misuse_ = std::move(names).status().with_context([this] { return "the name \"" + options_.name + '"'; });
  misuse_.mark_unprocessed();
  return false;
}

void FleetNames::WatchEnd::ended(Completion& self, TaskPromiseBase& task) noexcept {
  FleetNames& names = static_cast<WatchEnd&>(self).names;
  if (task.failed()) names.loop_.arm(names.beginning_, names.loop_.now() + kMemoryPause);
}

Task<void> FleetNames::watch() {
  std::uint64_t seen = 0;
  while (true) {
    Task<Result<NameSnapshot>> next = names_->changed(seen);
    Result<NameSnapshot> list = co_await std::move(next);
    if (!list.ok()) co_return;
    while (!take(**list)) {
      SleepAwaiter pause = sleep_for(kMemoryPause);
      static_cast<void>(co_await pause);
      *list = names_->list();
    }
    seen = (*list)->version;
  }
}

// False when there was no memory for the list.
bool FleetNames::take(const NameList& list) noexcept {
  try {
    const std::size_t count = list.endpoints.size();
    if (count > kEndpointsMax) {
      refuse({StatusCode::kResourceExhausted, Layer::kRpc, [&] {
                return "a list of " + std::to_string(count) + " servers is longer than a fleet takes (" +
                       std::to_string(kEndpointsMax) + ')';
              }});
    } else if (Status taken = list_.take(list, loop_.now()); !taken.ok()) {
      refuse(taken.with_context([&] {
        return "the balancing policy refuses the list, of " + std::to_string(count) +
               (count == 1 ? " server" : " servers");
      }));
    } else {
      ++counted_.lists;
      refusal_ = Status{};
    }
    links_.notify();
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

void FleetNames::refuse(Status why) noexcept {
  write_line(*options_.naming.logger, LogLevel::kWarning,
             [&] { return std::string{why.message()} + "; the list before stays"; });
  ++counted_.lists_refused;
  refusal_ = std::move(why);
}

}  // namespace weft::detail
