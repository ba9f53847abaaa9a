// SPDX-License-Identifier: Apache-2.0
#include "transport/verbs/verbs_carrier.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "transport/verbs/limits.hpp"

namespace weft::detail::verbs_carrier {

namespace {

constexpr Capabilities kCapabilities{.name = "verbs",
                                     .lease_bytes_min = kLeaseBytesMin,
                                     .piece_bytes = 1024 * 1024,
                                     .peer_may_vanish = true,
                                     .landing_runs_max = kLandingRunsMax,
                                     .calls_shared_max = 24,
                                     .receives_in_place = true};

constexpr std::uint32_t kMessageKinds = kCommonMessageKinds | bit_of(MessageKind::kReclaim) |
                                        bit_of(MessageKind::kReturn) | bit_of(MessageKind::kOffer) |
                                        bit_of(MessageKind::kFetched) | bit_of(MessageKind::kDecline) |
                                        bit_of(MessageKind::kWithdraw) | bit_of(MessageKind::kAgain);

// A device has it now, ours or the peer's.
bool is_lent(Carrier::Lent what, OfferedBytes& offered, FetchedOffers& fetched) noexcept {
  if (what == Carrier::Lent::kSending) return offered.waits_for_answer();
  return fetched.reads_under_way(what == Carrier::Lent::kAhead);
}

}  // namespace

Result<std::unique_ptr<VerbsCarrier>> VerbsCarrier::make(std::shared_ptr<LoopDevice> loop_device,
                                                         CarrierEndOwner& owner, std::uint8_t port) {
  auto carrier = std::make_unique<VerbsCarrier>(std::move(loop_device), owner);
  if (Status failed = carrier->start(port); !failed.ok()) return failed;
  return carrier;
}

VerbsCarrier::VerbsCarrier(std::shared_ptr<LoopDevice> loop_device, CarrierEndOwner& owner)
    : loop_device_(std::move(loop_device)),
      bring_up_(owner),
      protocol_({.kinds = kMessageKinds,
                 .credit_max = kCreditsMax,
                 .all_cost = true,
                 .credit_due = kCreditsMin + 1,
                 .over = "over RDMA"}),
      pair_(*loop_device_),
      send_queue_(loop_device_->completions(), loop_device_->sends(), protocol_, turn_,
                  loop_device_->options()),
      sender_(protocol_, send_queue_, turn_),
      offered_(loop_device_->registrations(), sender_, protocol_,
               {.bytes_min = loop_device_->options().rendezvous_bytes_min}),
      outgoing_(offered_, sender_, turn_, loop_device_->options().message_bytes),
      receiver_(*loop_device_, protocol_, sender_, offered_, turn_) {
  send_queue_.report_reads_to(receiver_.reads());
  report_to(owner);
}

Status VerbsCarrier::start(std::uint8_t port) {
  if (Status full = loop_device_->enter(loop_device_->options().credits_min); !full.ok()) return full;
  receiver_.promised().begin();
  if (Status failed = pair_.make(port, *this); !failed.ok()) return failed;
  send_queue_.use(pair_.queue_pair());
  return {};
}

VerbsCarrier::~VerbsCarrier() {
  shut();
}

const Capabilities& VerbsCarrier::capabilities() const {
  return kCapabilities;
}

std::string VerbsCarrier::description() const {
  if (pair_.empty()) return "a queue pair that was given up";
  return pair_.description() + ", messages of up to " + std::to_string(sender_.peer_message_bytes()) +
         " bytes, up to " + std::to_string(pair_.queue_pair().inline_bytes_max()) + " inline";
}

CarrierTerms VerbsCarrier::terms() const noexcept {
  return {static_cast<std::uint32_t>(loop_device_->options().message_bytes),
          protocol_.credit().peer_may_send()};
}

// Reports the device's events outside of the poll. Arrived data comes first: the failure that indicates a
// peer's end may follow its last bytes.
void VerbsCarrier::deliver() {
  sender_.send_control();
  if (protocol_.heard() && !std::exchange(heard_told_, true)) bring_up_.on_heard();
  if (!turn_.closed() && !protocol_.misbehaves() && !receiver_.empty()) owner().on_readable();
  if (!turn_.closed() && outgoing_.take_writable()) owner().on_writable();
  loop_device_->sends().serve_starved();
  if (turn_.closed() || (!is_lost() && !protocol_.ended())) return;
  if (protocol_.misbehaves()) return owner().on_failed(protocol_.misbehaviour());
  // After the peer's end only our own bytes can be lost, and send() reports that.
  if (turn_.failed() && !protocol_.end_arrived()) {
    const Status& failure = turn_.failure();
    return owner().on_failed(
        {StatusCode::kUnavailable, Layer::kTransport, failure.message(), failure.native()});
  }
  owner().on_writable();
}

Moved VerbsCarrier::receive(std::span<const iovec> into, std::span<const iovec> landing) {
  return receiver_.receive(into, landing);
}

ChunkRef VerbsCarrier::receive_in_place(bool& exhausted) {
  return receiver_.receive_in_place(pair_.name(), exhausted);
}

void VerbsCarrier::read_ahead(std::size_t left, LandingsAhead& ahead) {
  if (!is_lost()) receiver_.read_ahead(left, ahead);
}

std::size_t VerbsCarrier::skip(std::size_t bytes) {
  return receiver_.skip(bytes);
}

Buffer VerbsCarrier::landing_memory(std::size_t bytes) {
  if (bytes < loop_device_->options().rendezvous_bytes_min) return {};
  return loop_device_->landing_memory(bytes);
}

Moved VerbsCarrier::send(std::span<const iovec> from, std::size_t leased) {
  return is_lost() ? Moved::failed(ECONNRESET) : outgoing_.send(from, leased);
}

void VerbsCarrier::end_sending() {
  protocol_.end();
  sender_.send_control();
}

bool VerbsCarrier::all_left() const {
  return sender_.all_left();
}

// Lets the device go on until `done`, for the loop's time for that, or until `latest`. False when the carrier
// is lost, or the time is over: then it cannot be used any more.
template <typename Done>
bool VerbsCarrier::wait_until(Done done, TimePoint latest) {
  if (done()) return true;
  Clock& clock = steady_clock_source();
  ReclaimTime& time = loop_device_->reclaim_time();
  const TimePoint give_up_at = std::min(time.begin(clock.now()), latest);
  bool is_done = false;
  for (bool in_time = true; in_time && !is_done && !is_lost(); in_time = clock.now() < give_up_at) {
    loop_device_->completions().poll();
    sender_.send_control();
    is_done = done();
  }
  time.end(clock.now());
  return is_done;
}

// The peer answers a withdrawal as soon as its device is done, which takes as long as two parts. A withdrawal
// that was requested long ago is not waited for again.
Moved VerbsCarrier::reclaim(Lent what) {
  static_cast<void>(gives_back_at_once(what));  // asks for it
  sender_.hurry();                              // the peer may wait as we do
  const bool sending = what == Lent::kSending;
  const TimePoint latest = sending ? offered_.withdrawn_at() + kAnswerAtMost : TimePoint::max();
  if (!wait_until([&] { return !is_lent(what, offered_, receiver_.offers()); }, latest))
    return give_up_for_memory();
  if (what == Lent::kAhead) return Moved::blocked();
  const std::size_t done = sending ? offered_.take_back() : receiver_.offers().take_landing_back();
  if (sending) turn_.touch();
  if (!sending) sender_.send_control_if_wanted();
  return done > 0 ? Moved::some(done, false) : Moved::blocked();
}

// Memory of a lost connection is given up without a wait.
bool VerbsCarrier::gives_back_at_once(Lent what) {
  if (is_lost() || !is_lent(what, offered_, receiver_.offers())) return true;
  if (what != Lent::kSending) return false;
  offered_.withdraw(steady_clock_source().now());
  sender_.send_control();
  return false;
}

// Without its queue pair the device serves no reads, and makes none.
Moved VerbsCarrier::give_up_for_memory() {
  fail({StatusCode::kUnavailable, Layer::kTransport, "the peer did not give memory back in time"});
  shut();
  return Moved::failed(protocol_.misbehaves() ? EPROTO : ETIMEDOUT);
}

void VerbsCarrier::catch_up() {
  Clock& clock = steady_clock_source();
  const TimePoint give_up_at = clock.now() + kCatchUpAtMost;
  for (unsigned idle = 0; idle < kIdleQuestions && !protocol_.end_arrived() && clock.now() < give_up_at;) {
    const std::uint32_t before = protocol_.taken();
    loop_device_->completions().poll();
    idle = protocol_.taken() != before ? 0 : idle + 1;
  }
}

// After the peer has ended its side no half-sent message can exist. Memory outside the LoopDevice must be
// free at once.
void VerbsCarrier::end_pair() noexcept {
  if (pair_.empty()) return;
  const bool attachment_moves = offered_.waits_for_answer() || receiver_.offers().reads_under_way();
  const bool may_outlive_us = sender_.is_connected() && !protocol_.end_arrived() && !attachment_moves;
  if (!may_outlive_us || !pair_.retire(send_queue_, receiver_.promised())) pair_.end();
}

// A destroyed queue pair accesses no memory, and a retired one only memory of the LoopDevice, so all other
// memory is free afterwards.
void VerbsCarrier::shut() {
  if (turn_.closed()) return;
  turn_.close();
  end_pair();
  send_queue_.end();
  offered_.end();
  loop_device_->sends().serve_starved();
  receiver_.end();
}

}  // namespace weft::detail::verbs_carrier
