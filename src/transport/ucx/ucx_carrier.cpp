// SPDX-License-Identifier: Apache-2.0
#include "transport/ucx/ucx_carrier.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "transport/ucx/limits.hpp"
#include "transport/ucx/provider.hpp"
#include "weft/detail/ucx/status.hpp"

namespace weft::detail::ucx_carrier {

namespace {

// An address: slot, key, window, then the worker's.
constexpr std::size_t kAddressHeadBytes = 12;
// Time that UCX has for a forced cancellation. It takes microseconds, unless the peer's queue in shared
// memory is full; the queue of a stopped peer stays full.
constexpr Duration kForceAtMost = std::chrono::milliseconds{100};
constexpr Duration kForceAtLeast = std::chrono::milliseconds{5};
// Number of polls per reading of the clock.
constexpr unsigned kQuestionsPerLook = 64;

constexpr FixedFailure kOverstayed{
    StatusCode::kUnavailable, Layer::kTransport, Retry::kBackoff,
    "it did not come up in the time that it has while others wait (UcxOptions::bring_ups_max)"};

TimePoint now_and(Duration time) {
  return steady_clock_source().now() + time;
}

// What UCX has had since `began` is given little time more if that is long ago: many that are stuck wait at
// the same time, and not one after the other.
TimePoint end_of_force(TimePoint began) {
  return std::max(began + kReclaimAtMost + kForceAtMost, now_and(kForceAtLeast));
}

}  // namespace

UcxCarrier::UcxCarrier(const Provider& provider, Loop& loop, CarrierEndOwner& owner)
    : provider_(provider),
      bring_up_(&owner),
      capabilities_{.name = "ucx",
                    .lease_bytes_min = provider.options().rendezvous_bytes_min,
                    .piece_bytes = 1024 * 1024,
                    .peer_may_vanish = true,
                    .gathers = true,
                    .gathers_much = true,
                    .landing_runs_max = kLandingRunsMax,
                    .calls_shared_max = 24,
                    .receives_in_place = true},
      conversation_(loop, told_),
      sender_(conversation_, provider.options()),
      inbox_(conversation_, sender_, provider.options().window_bytes) {
  conversation_.protocol().credit().begin(static_cast<std::uint32_t>(provider.options().window_bytes));
  report_to(owner);
}

UcxCarrier::~UcxCarrier() {
  shut();
}

Status UcxCarrier::get_worker() {
  auto worker = provider_.worker_for(conversation_.loop());
  if (!worker.ok()) return std::move(worker).status();
  place_ = (*worker)->enter(*this);  // without memory for that there is no place to leave, nor a worker
  shared_ = *std::move(worker);
  inbox_.begin(*shared_);
  return {};
}

std::string UcxCarrier::address() const {
  std::string text(kAddressHeadBytes, '\0');
  auto* const at = reinterpret_cast<std::byte*>(text.data());
  store_le(at, place_.slot);
  store_le(at + 4, place_.key);
  store_le(at + 8, static_cast<std::uint32_t>(provider_.options().window_bytes));
  return text.append(as_text(shared_->address()));
}

Status UcxCarrier::connect(std::string_view peer_address) {
  if (peer_address.size() <= kAddressHeadBytes) {
    return {StatusCode::kInvalidArgument, Layer::kTransport, "the peer's UCX address is cut short"};
  }
  const auto window = load_le<std::uint32_t>(as_bytes(peer_address).data() + 8);
  if (window < kWindowBytesMin || window > kWindowBytesMax) {
    return {StatusCode::kInvalidArgument, Layer::kTransport,
            "the peer's UCX address has an impossible window"};
  }
  if (Status garbage = ucx::Endpoint::check_address(as_bytes(peer_address.substr(kAddressHeadBytes)));
      !garbage.ok()) {
    return garbage;
  }
  if (shared_ != nullptr) return begin(peer_address);
  room_ = provider_.room_for(conversation_.loop());
  if (room_ == nullptr || room_->enter(*this)) return begin(peer_address);
  waiting_for_ = peer_address;
  return {};
}

void UcxCarrier::on_place(bool given) noexcept {
  if (!given) return bring_up_->on_failed(Status::of<kOverstayed>());
  try {
    Status begun = begin(std::exchange(waiting_for_, {}));
    if (!begun.ok()) return bring_up_->on_failed(std::move(begun));
    bring_up_->on_connected();
  } catch (const std::bad_alloc&) {
    conversation_.fail(UCS_ERR_NO_MEMORY);
  }
}

// The peer's address was looked at, and there is room.
Status UcxCarrier::begin(std::string_view peer_address) {
  if (shared_ == nullptr) {
    if (Status none = get_worker(); !none.ok()) return none;
  }
  if (!shared_->alive()) return ucx::to_status(UCS_ERR_CANCELED, "connecting by a worker that was given up");
  const std::byte* const at = as_bytes(peer_address).data();
  conversation_.protocol().credit().take_terms(load_le<std::uint32_t>(at + 8));
  const bool peer_mode = provider_.options().error_mode == UcxErrorMode::kPeer;
  auto endpoint =
      ucx::Endpoint::connect(shared_->worker(), as_bytes(peer_address.substr(kAddressHeadBytes)),
                             {.error_mode = peer_mode ? ucx::ErrorMode::kPeer : ucx::ErrorMode::kNone,
                              .on_error = [this](const Status& why) {
                                conversation_.fail(static_cast<ucs_status_t>(why.native()));
                              }});
  if (!endpoint.ok()) {
    // Only both lists together show which one lacks a transport, so each side receives the other's list.
    return std::move(endpoint).status().with_context(
        [&] { return "with " + shared_->worker().context().choice() + " on this side"; });
  }
  sender_.begin(*std::move(endpoint), {load_le<std::uint32_t>(at), load_le<std::uint32_t>(at + 4)});
  sender_.want_control(MessageKind::kProbe);
  return {};
}

// Reports the events of UCX outside of its progress. Arrived data comes first: the failure that indicates a
// peer's end may follow its last bytes.
void UcxCarrier::tell() {
  MessageProtocol& protocol = conversation_.protocol();
  sender_.send_control();
  if (protocol.heard() && bring_up_ != nullptr) {
    if (room_ != nullptr) room_->leave(*this);
    std::exchange(bring_up_, nullptr)->on_heard();
  }
  if (!conversation_.is_over() && !protocol.misbehaves() && inbox_.readable()) owner().on_readable();
  inbox_.keep_own_copies();
  if (!conversation_.is_over() && sender_.take_writable()) owner().on_writable();
  if (conversation_.is_over() || (!conversation_.is_lost() && !protocol.ended())) return;
  // After the peer's end only our own bytes can be lost, and send() reports that.
  if (conversation_.is_lost() && (!protocol.end_arrived() || protocol.misbehaves())) {
    return owner().on_failed(conversation_.failure());
  }
  owner().on_writable();
}

bool UcxCarrier::wait_for(const CarrierOperation& operation, TimePoint give_up_at) {
  for (unsigned asked = 0; operation.flies() && shared_->alive(); ++asked) {
    shared_->progress();
    const bool look = asked % kQuestionsPerLook == kQuestionsPerLook - 1;
    if (look && steady_clock_source().now() >= give_up_at) break;
  }
  return !operation.flies();
}

// The memory of `operation` must be returned, at the cost of the carrier or even of the worker.
void UcxCarrier::insist_on(const CarrierOperation& operation) {
  if (wait_for(operation, std::max(operation.began() + kReclaimAtMost, now_and(kReclaimAtLeast)))) return;
  conversation_.fail(UCS_ERR_TIMED_OUT);
  close_endpoint();
  if (!wait_for(operation, end_of_force(operation.began()))) shared_->give_up();
}

Moved UcxCarrier::reclaim(Lent what) {
  if (what == Lent::kAhead) return Moved::blocked();
  if (what == Lent::kSending) {
    if (!sender_.bytes_sent().active()) return Moved::blocked();
    insist_on(sender_.bytes_sent());
    return sender_.sent();
  }
  if (!inbox_.lands_in_place()) return Moved::blocked();
  insist_on(inbox_.landing());
  return inbox_.landed();
}

bool UcxCarrier::gives_back_at_once(Lent what) {
  if (what == Lent::kSending) return !sender_.bytes_sent().flies();
  return !inbox_.lands_in_place() || !inbox_.landing().flies();
}

void UcxCarrier::end_sending() {
  conversation_.protocol().end();
  sender_.send_control();
}

bool UcxCarrier::all_left() const {
  return conversation_.has_failed() || (sender_.all_left() && !inbox_.landing().flies());
}

// Others that share the worker may always have something to say, and their loop has to go on.
void UcxCarrier::catch_up() {
  const MessageProtocol& protocol = conversation_.protocol();
  const TimePoint give_up_at = now_and(kReclaimAtMost);
  unsigned idle = 0;
  while (idle < kIdleQuestions && !protocol.end_arrived() && shared_->alive() &&
         steady_clock_source().now() < give_up_at) {
    const std::uint32_t before = protocol.taken();
    shared_->progress();
    idle = protocol.taken() != before ? 0 : idle + 1;
  }
}

// By force; in error mode none UCX refuses that, and only the end of the worker will do.
void UcxCarrier::close_endpoint() noexcept {
  sender_.disconnect();
  if (provider_.options().error_mode == UcxErrorMode::kNone) shared_->give_up();
}

void UcxCarrier::shut() {
  if (conversation_.is_over()) return;
  conversation_.end();
  if (room_ != nullptr) room_->leave(*this);
  if (shared_ == nullptr) return;
  const bool peer_may_be_dead = sender_.connected() && !conversation_.protocol().end_arrived();
  shared_->leave(place_, peer_may_be_dead);
  inbox_.forget();
  close_endpoint();
  const TimePoint give_up_at = now_and(kForceAtMost);
  while (anything_flies() && shared_->alive() && steady_clock_source().now() < give_up_at) {
    shared_->progress();
  }
  if (anything_flies()) {
    shared_->give_up();
    on_worker_gone();
  }
  inbox_.forget();
}

void UcxCarrier::on_worker_gone() noexcept {
  sender_.give_up();
  inbox_.give_up();
  conversation_.fail(UCS_ERR_CANCELED);
}

}  // namespace weft::detail::ucx_carrier
