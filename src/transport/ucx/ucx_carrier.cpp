// SPDX-License-Identifier: Apache-2.0
// Coming up, what UCX tells, and the end. Bytes move in ucx_carrier_receive.cpp and ucx_carrier_send.cpp.
#include "transport/ucx/ucx_carrier.hpp"

#include <algorithm>
#include <utility>

#include "transport/ucx/limits.hpp"
#include "weft/ucx/status.hpp"

namespace weft::ucx_carrier {

namespace {

// An address: slot, key, window, then the worker's.
constexpr std::size_t kAddressHeadBytes = 12;
// How long an end waits for UCX to let go before it is taken to do so never. By force it takes microseconds.
constexpr Duration kForceAtMost = std::chrono::milliseconds{100};
// Clocks are read once in so many questions.
constexpr unsigned kQuestionsPerLook = 64;

}  // namespace

UcxCarrier::UcxCarrier(std::shared_ptr<SharedWorker> shared, CarrierEndOwner& owner,
                       const UcxOptions& options)
    : shared_(std::move(shared)),
      bring_up_(owner),
      options_(options),
      capabilities_{.name = "ucx",
                    .lease_bytes_min = options.rendezvous_bytes_min,
                    .peer_may_vanish = true,
                    .receives_in_place = true},
      place_(shared_->enter(*this)),
      protocol_({.kinds = kCommonMessageKinds | bit_of(MessageKind::kAsk) | bit_of(MessageKind::kPlace) |
                          bit_of(MessageKind::kPiece),
                 .credit_max = static_cast<std::uint32_t>(kWindowBytesMax),
                 .over = "over UCX"}) {
  protocol_.credit().begin(static_cast<std::uint32_t>(options_.window_bytes));
  report_to(owner);
}

UcxCarrier::~UcxCarrier() {
  shut();
}

std::string UcxCarrier::address() const {
  std::string text(kAddressHeadBytes, '\0');
  auto* const at = reinterpret_cast<std::byte*>(text.data());
  store_le(at, place_.slot);
  store_le(at + 4, place_.key);
  store_le(at + 8, static_cast<std::uint32_t>(options_.window_bytes));
  return text.append(as_text(shared_->address()));
}

Status UcxCarrier::connect(std::string_view peer_address) {
  if (!shared_->alive()) return ucx::to_status(UCS_ERR_CANCELED, "connecting by a worker that was given up");
  if (peer_address.size() <= kAddressHeadBytes) {
    return {StatusCode::kInvalidArgument, Layer::kTransport, "the peer's UCX address is cut short"};
  }
  const std::byte* const at = as_bytes(peer_address).data();
  peer_slot_ = load_le<std::uint32_t>(at);
  peer_key_ = load_le<std::uint32_t>(at + 4);
  const auto window = load_le<std::uint32_t>(at + 8);
  if (window < kWindowBytesMin || window > kWindowBytesMax) {
    return {StatusCode::kInvalidArgument, Layer::kTransport,
            "the peer's UCX address has an impossible window"};
  }
  protocol_.credit().take_terms(window);
  const bool peer_mode = options_.error_mode == UcxErrorMode::kPeer;
  auto endpoint = ucx::Endpoint::connect(
      shared_->worker(), as_bytes(peer_address.substr(kAddressHeadBytes)),
      {.error_mode = peer_mode ? ucx::ErrorMode::kPeer : ucx::ErrorMode::kNone,
       .on_error = [this](const Status& why) { fail(static_cast<ucs_status_t>(why.native())); }});
  if (!endpoint.ok()) {
    // Which of two lists is too short can be seen only with both: each side is told the other's.
    const std::string choice = shared_->worker().context().choice();
    return std::move(endpoint).status().with_context("with " + choice + " on this side");
  }
  endpoint_ = *std::move(endpoint);
  want_control(MessageKind::kProbe);
  return {};
}

void UcxCarrier::touch() noexcept {
  if (!shut_ && !deliver_.is_scheduled()) shared_->loop().schedule(deliver_);
}

void UcxCarrier::fail(ucs_status_t status) noexcept {
  if (failed_ == UCS_OK) failed_ = status;
  touch();
}

void UcxCarrier::misbehaved(const char* what) noexcept {
  protocol_.misbehaved(what);
  touch();
}

Status UcxCarrier::failure() const {
  if (protocol_.misbehaves()) return protocol_.misbehaviour();
  const Status status = ucx::to_status(failed_, "the UCX carrier");
  return {StatusCode::kUnavailable, Layer::kTransport, std::string{status.message()}, status.native()};
}

void UcxCarrier::on_sent(void* request, ucs_status_t status, void* operation) noexcept {
  auto& op = *static_cast<Operation*>(operation);
  ucp_request_free(request);
  op.carrier->completed(op, status);
}

void UcxCarrier::on_landed(void* request, ucs_status_t status, std::size_t, void* operation) noexcept {
  on_sent(request, status, operation);
}

// What a later call of the owner fetches stays active until then.
void UcxCarrier::completed(Operation& operation, ucs_status_t status) noexcept {
  operation.done = true;
  operation.status = status;
  if (&operation != &sending_ && &operation != &landing_) operation.active = false;
  if (&operation == &flush_) flushed_ = true;
  if (status != UCS_OK) return fail(status);
  touch();
}

// What UCX said inside progress, told outside of it. What arrived comes first: the failure that a peer's end
// looks like may stand behind its last bytes.
void UcxCarrier::deliver() {
  send_control();
  if (protocol_.heard() && !std::exchange(heard_told_, true)) bring_up_.on_heard();
  if (!shut_ && !protocol_.misbehaves() && (!inbox_.empty() || landing_.done)) owner().on_readable();
  if (inbox_.size() > kHeldMessagesMax) keep_own_copies();
  const bool may_send = send_blocked_ && (sending_.active ? sending_.done
                                          : asked_        ? has_place()
                                                          : room() > 0);
  if (!shut_ && may_send) {
    send_blocked_ = false;
    owner().on_writable();
  }
  const bool failed = failed_ != UCS_OK || protocol_.misbehaves();
  if (shut_ || (!failed && !protocol_.ended())) return;
  // After the peer's end only our own bytes can be lost, and send() says so.
  if (failed && (!protocol_.end_arrived() || protocol_.misbehaves())) return owner().on_failed(failure());
  owner().on_writable();
}

bool UcxCarrier::anything_in_flight() const noexcept {
  const auto flies = [](const Operation& operation) { return operation.active && !operation.done; };
  return flies(sending_) || flies(landing_) || flies(flush_) ||
         std::any_of(controls_.begin(), controls_.end(), flies);
}

bool UcxCarrier::wait_for(const Operation& operation, Duration at_most) {
  Clock& clock = steady_clock_source();
  const TimePoint give_up_at = clock.now() + at_most;
  for (unsigned asked = 0; operation.active && !operation.done && shared_->alive(); ++asked) {
    shared_->progress();
    if (asked % kQuestionsPerLook == kQuestionsPerLook - 1 && clock.now() >= give_up_at) break;
  }
  return !operation.active || operation.done;
}

// The memory of `operation` has to come back, whatever that costs the carrier, or the worker.
void UcxCarrier::insist_on(const Operation& operation) {
  if (wait_for(operation, kReclaimAtMost)) return;
  fail(UCS_ERR_TIMED_OUT);
  close_endpoint();
  if (!wait_for(operation, kForceAtMost)) shared_->give_up();
}

// Others that share the worker may always have something to say, and their loop has to go on.
void UcxCarrier::catch_up() {
  Clock& clock = steady_clock_source();
  const TimePoint give_up_at = clock.now() + kReclaimAtMost;
  unsigned idle = 0;
  while (idle < kIdleQuestions && !protocol_.end_arrived() && shared_->alive() && clock.now() < give_up_at) {
    const std::uint32_t before = protocol_.taken();
    shared_->progress();
    idle = protocol_.taken() != before ? 0 : idle + 1;
  }
}

// By force; in error mode none UCX refuses that, and only the end of the worker will do.
void UcxCarrier::close_endpoint() noexcept {
  if (!endpoint_) return;
  endpoint_ = {};
  if (options_.error_mode == UcxErrorMode::kNone) shared_->give_up();
}

void UcxCarrier::shut() {
  if (std::exchange(shut_, true)) return;
  shared_->loop().unschedule(deliver_);
  shared_->leave(place_, !protocol_.end_arrived());
  forget_arrivals();
  close_endpoint();
  Clock& clock = steady_clock_source();
  const TimePoint give_up_at = clock.now() + kForceAtMost;
  while (anything_in_flight() && shared_->alive() && clock.now() < give_up_at) shared_->progress();
  if (anything_in_flight()) {
    shared_->give_up();
    on_worker_gone();
  }
  forget_arrivals();
}

// But for the first one, while UCX may be writing to its memory.
void UcxCarrier::forget_arrivals() noexcept {
  const bool first_is_landing = landing_.active && !landing_.done;
  for (std::size_t i = first_is_landing ? 1 : 0; i < inbox_.size(); ++i) drop(inbox_[i]);
  for (auto& [sequence, early] : early_) drop(early.arrival);
  early_.clear();
  if (!first_is_landing) inbox_.clear();
}

void UcxCarrier::on_worker_gone() noexcept {
  const auto end = [this](Operation& operation) {
    if (operation.active && !operation.done) completed(operation, UCS_ERR_CANCELED);
  };
  end(sending_);
  end(landing_);
  end(flush_);
  std::for_each(controls_.begin(), controls_.end(), end);
  forget_arrivals();
  fail(UCS_ERR_CANCELED);
}

}  // namespace weft::ucx_carrier
