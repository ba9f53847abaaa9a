// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/fleet/fleet_core.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>

#include "fleet/check_options.hpp"
#include "weft/detail/balancing/picked_of.hpp"
#include "weft/detail/base/assert.hpp"
#include "weft/detail/base/saturated.hpp"
#include "weft/detail/runtime/client_end.hpp"
#include "weft/detail/runtime/late_end.hpp"
#include "weft/detail/runtime/mailbox.hpp"

namespace weft::detail {

namespace {

/// Connections that one call may have begun while there are others that it can use.
constexpr int kDialsPerPick = 3;
/// Looks for a server of one call.
constexpr int kLooksMax = 32;
/// The average of latencies forgets an eighth with each.
constexpr int kLatencyParts = 8;

constexpr const char* kWrongThread =
    "a FleetClient was used on another thread than its loop's: hand the work to that thread by "
    "fleet.loop().post(...), or make a client for each loop";

constexpr FixedFailure kClosed{StatusCode::kCancelled, Layer::kRpc, Retry::kNever, "the fleet was closed",
                               true};
constexpr FixedFailure kNoList{StatusCode::kUnavailable, Layer::kRpc, Retry::kBackoff,
                               "the name has given no server yet", true};
constexpr FixedFailure kNoWeight{StatusCode::kUnavailable, Layer::kRpc, Retry::kBackoff,
                                 "all servers have the weight zero", true};
constexpr FixedFailure kNotConnected{StatusCode::kUnavailable, Layer::kRpc, Retry::kBackoff,
                                     "no server is connected yet", true};

/// Failure to connect to a server that may be asked now; ok if no attempt to connect has failed. A server
/// that left the list, or came up again, has no reason here.
Status failure_of_a_server(const FleetList& list) {
  const auto& members = list.members();
  const auto failed = std::ranges::find_if(members, [](const std::unique_ptr<FleetMember>& member) {
    return member->is_used() && !member->failure.ok();
  });
  return failed != members.end() ? (*failed)->failure : Status{};
}

RandomNumbers numbers_of(std::uint64_t seed) noexcept {
  return seed != 0 ? RandomNumbers{seed} : RandomNumbers::of_system();
}

/// Options without values that assertions of their users would refuse; calls fail by `misuse`.
FleetOptions usable(FleetOptions options, const Status& misuse) {
  if (misuse.ok()) return options;
  options.retry_budget = {};
  options.outliers.reset();
  options.subset.reset();
  return options;
}

/// Says whether the policy declines servers that would have been connected.
bool declined(const FleetChoice& choice, const FleetList& list) noexcept {
  using Link = FleetMember::Link;
  const auto may_be_asked = [](const std::unique_ptr<FleetMember>& member) {
    return member->is_used() && member->link != Link::kLate && member->link != Link::kDown;
  };
  return choice.declines() && std::ranges::any_of(list.members(), may_be_asked);
}

Status picks_none(std::size_t servers) {
  return {StatusCode::kUnavailable, Layer::kRpc, [&] {
            return "the balancing policy picks none of " + std::to_string(servers) +
                   (servers == 1 ? " server" : " servers");
          }};
}

}  // namespace

/// Keeps the fleet, which is closed, until nothing of it is on the stack.
class FleetCore::Ending final : private LateEnd {
 public:
  ~Ending() override {
    if (core_ != nullptr) core_->disconnect();
  }
  void begin(Loop& loop, std::shared_ptr<FleetCore> core) noexcept {
    core_ = std::move(core);
    destroy_late(loop);
  }

 private:
  std::shared_ptr<FleetCore> core_;
};

FleetCore::FleetCore(Loop& loop, FleetOptions options, Transports transports)
    : loop_(loop),
      options_(std::move(options)),
      misuse_(check_options(options_)),
      random_(numbers_of(options_.seed)),
      budget_((options_ = usable(std::move(options_), misuse_)).retry_budget, loop.clock().now()),
      choice_(options_),
      links_(loop, choice_, options_.pool, std::move(transports)),
      ending_(std::make_unique<Ending>()) {}

FleetCore::~FleetCore() {
  close();
}

void FleetCore::check_thread() const noexcept {
  // A loop that a child of fork inherited has no thread there.
  const bool is_mine = may_touch(loop_) || loop_.mailbox()->in_child();
  WEFT_ASSERT(is_mine, kWrongThread);
}

void FleetCore::begin() noexcept {
  if (!closed_ && misuse_.ok()) names_.begin();
}

void FleetCore::close() noexcept {
  if (std::exchange(closed_, true)) return;
  const LateEnd::Guard guard;
  misuse_ = Status::of<kClosed>();
  links_.close();
  list_.close();
  links_.notify();
  std::shared_ptr<FleetCore> self = weak_from_this().lock();
  if (self == nullptr) return disconnect();  // it is being destroyed
  ending_.release()->begin(loop_, std::move(self));
}

void FleetCore::disconnect() noexcept {
  names_.close();
  list_.disconnect();
}

FleetMember* FleetCore::pick(std::uint64_t method, std::uint64_t key_hash,
                             std::span<const std::uint32_t> tried, bool patience, bool& dialing,
                             TimePoint& quiet_until) noexcept {
  // Servers that requested a pause, or are being connected, are added to the tried ones, as far as there is
  // room.
  std::array<std::uint32_t, kTriedMax> passed_over;
  std::size_t count = tried.size();
  PickRequest request{loop_.now(), 0, key_hash, tried};
  const auto pass_over = [&](std::uint32_t index) {
    if (count == tried.size()) std::copy(tried.begin(), tried.end(), passed_over.begin());
    if (count < passed_over.size()) passed_over[count++] = index;
    request.tried = {passed_over.data(), count};
  };
  dialing = false;
  quiet_until = request.now;
  int dials = 0;
  // A policy that refused the first list is not asked.
  const int looks_max = list_.members().empty() ? 0 : kLooksMax;
  for (int looks = 0; looks < looks_max; ++looks) {
    request.random = random_.next();
    const std::optional<std::uint32_t> index = choice_.pick(request);
    if (!index) break;
    FleetMember& member = *list_.members()[picked_of(*index, list_.members().size())];
    const bool is_quiet = member.quiet.until(method, request.now) > request.now;
    if (!is_quiet && links_.connect(member)) {
      // A server that hangs is connected at once: it is no better for that than the one the policy picked.
      if (!dialing || !patience || member.is_trusted(request.now)) return &member;
    } else if (!is_quiet) {
      ++dials;
      dialing = dialing || member.link == FleetMember::Link::kDialing;
      if (dials > kDialsPerPick || (dials > 1 && links_.ready().empty())) break;
    }
    pass_over(*index);
  }
  // The policy preferred a server that is being connected, or must be left alone.
  const bool only_trusted = dialing && patience;
  return search_.find(method, tried, only_trusted, request.now, random_, quiet_until);
}

// A handler that asks for time speaks of one call, and not of its method.
bool FleetCore::told(FleetMember& member, std::uint64_t method, const Status& failure) noexcept {
  const Duration wait = failure.retry_after();
  if (wait <= Duration::zero() || !failure.unprocessed() || !options_.waits_as_told) return false;
  const TimePoint now = loop_.now();
  member.quiet.tell(method, saturated_sum(now, wait), now);
  return true;
}

Duration FleetCore::spread(Duration wait) noexcept {
  return saturated_sum(wait, scaled(wait, random_.between(0, 0.25)));
}

Status FleetCore::hopeless() const {
  if (!misuse().ok()) return misuse();
  if (list_.members().empty()) {
    return !options_.waits_for_ready && !names_.last_failure().ok() ? reason() : Status{};
  }
  if (!choice_.usable()) return {};
  const std::size_t used = choice_.used();
  // The call does not wait for a failure that another attempt cannot change; an empty list may change with
  // the next one.
  if (used != 0 && links_.refused() == used) return reason();
  return !options_.waits_for_ready && links_.down() == used ? reason() : Status{};
}

Status FleetCore::reason() const {
  if (!misuse().ok()) return misuse();
  Status why;
  if (list_.members().empty()) {
    why = names_.last_failure();
    if (why.ok()) why = Status::of<kNoList>();
  } else if (choice_.used() == 0) {
    why = Status::of<kNoWeight>();
  } else {
    why = failure_of_a_server(list_);
    if (why.ok()) why = declined(choice_, list_) ? picks_none(choice_.used()) : Status::of<kNotConnected>();
  }
  return why.with_context([this] { return "no server of \"" + options_.name + '"'; });
}

Task<Result<void>> FleetCore::changed() {
  Event::WaitAwaiter waiting = links_.changed().wait();
  Result<void> outcome = co_await waiting;
  co_return outcome;
}

bool FleetCore::begun(FleetMember& member, TimePoint now) noexcept {
  ++member.picks;
  ++member.in_flight;
  ++counted_.attempts;
  ++counted_.calls_in_flight;
  list_.retain(member);
  return choice_.begun(member, now);
}

void FleetCore::ended(FleetMember& member, bool reported, const CallReport& report) noexcept {
  --counted_.calls_in_flight;
  --member.in_flight;
  if (report.outcome == CallOutcome::kFailure) {
    ++member.failures;
    member.failed_at = report.now;
  }
  if (report.outcome == CallOutcome::kSuccess) {
    member.answered_at = report.now;
    const bool first = member.latency == Duration::zero();
    member.latency += first ? report.latency : (report.latency - member.latency) / kLatencyParts;
  }
  if (closed_) return;
  if (reported) choice_.ended(member, report);
  // A policy that has heard of failures would not pick it for long, and only then would it be looked after.
  if (report.outcome == CallOutcome::kFailure && links_.was_lost(member)) links_.connect(member);
}

bool FleetCore::try_retry() noexcept {
  if (budget_.try_retry(loop_.now())) return true;
  ++counted_.retries_refused;
  return false;
}

FleetStats FleetCore::stats() const noexcept {
  FleetStats stats = counted_;
  stats.endpoints = list_.members().size();
  stats.ready = links_.ready().size();
  stats.ejected = choice_.ejected();
  stats.leaving = list_.leaving();
  return stats;
}

std::vector<FleetEndpointStats> FleetCore::endpoint_stats() const {
  std::vector<FleetEndpointStats> all;
  all.reserve(list_.members().size());
  for (const std::unique_ptr<FleetMember>& member : list_.members()) {
    all.push_back({member->url, links_.is_up(*member), choice_.is_ejected(*member), member->picks,
                   member->failures, member->in_flight, member->latency});
  }
  return all;
}

}  // namespace weft::detail
