// SPDX-License-Identifier: Apache-2.0
#include "transport/bring_up.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "weft/detail/base/peer_text.hpp"
#include "weft/detail/base/saturated.hpp"
#include "weft/detail/runtime/loop.hpp"

namespace weft::detail {

namespace {

constexpr std::size_t kReasonBytesMax = 500;

constexpr FixedFailure kNoMemoryToBringUp{StatusCode::kResourceExhausted, Layer::kTransport,
                                          Retry::kReconnect, "out of memory to bring a carrier up"};

Status out_of_turn(std::string_view what) {
  return {StatusCode::kInvalidArgument, Layer::kTransport,
          [&] { return std::string{what} + " came while a carrier was being brought up"; }};
}

Status too_late(std::string_view what) {
  return {StatusCode::kUnavailable, Layer::kTransport, what};
}

// Behind which side it is, in the report.
Status no_proof(std::string_view why) {
  return {StatusCode::kFailedPrecondition, Layer::kTransport, why};
}

// These texts name the side that must correct the fault.
std::string ours(std::string_view reason) {
  return "this side could not bring it up: " + std::string{reason};
}
std::string of_peer(std::string_view reason) {
  return "the peer could not bring it up, and says: " + std::string{reason};
}

// Memory and descriptors may be available at the next attempt; every other failure is permanent.
StatusCode code_of(const Status& why) {
  return why.code() == StatusCode::kResourceExhausted ? why.code() : StatusCode::kFailedPrecondition;
}

Status send(BringUpHost& host, wire::CarrierKind kind, wire::CarrierStep step, std::string_view text) {
  const std::string frame = wire::encode_carrier_frame({step, kind, text});
  if (host.queue_carrier_frame(frame)) return {};
  return {StatusCode::kResourceExhausted, Layer::kTransport, "out of memory for a carrier frame"};
}

// Runs work for a carrier or the loop, into which no exception may be thrown: when memory is exhausted the
// connection ends.
template <typename Work>
void or_fail(BringUpHost& host, Work work) noexcept {
  try {
    Status status = work();
    if (!status.ok()) host.on_bring_up_failed(std::move(status));
  } catch (const std::bad_alloc&) {
    host.on_bring_up_failed(Status::of<kNoMemoryToBringUp>());
  }
}

}  // namespace

void BringUp::shut() {
  loop_.disarm(*this);
  if (end_ != nullptr) end_->shut();
}

Carrier& BringUp::move(CarrierOwner& owner) {
  Carrier& carrier = end_->carrier();
  carrier.report_to(owner);
  watch_.begin();
  return carrier;
}

std::string BringUp::connected_to() const {
  return candidates_.ours().connecting ? base_.remote_endpoint() : std::string{};
}

Status BringUp::on_hello(const wire::Hello& hello) {
  if (Status unasked = descriptors_.check(); !unasked.ok()) return unasked;
  hello_ = hello;
  end_by_ = Deadline::after(loop_.now(), candidates_.ours().bring_up_timeout).at();
  candidates_.compare(hello.carriers);
  Status status = try_next();
  // Send our hello: it contains our requirements, which the peer's user needs to see.
  if (!status.ok()) host_.send_what_is_queued();
  return status;
}

// The remaining time is divided among the remaining candidates, so that one with a silent peer does not use
// it up.
Status BringUp::try_next() {
  if (!candidates_.next()) {
    if (Status status = candidates_.check_base_will_do(); !status.ok()) return status;
    state_ = State::kDecided;
    descriptors_.end();
    host_.on_carrier_decided();
    return {};
  }
  state_ = State::kAddress;
  attempt_ = {};
  const Duration rest = saturated_difference(end_by_, loop_.now());
  if (rest <= Duration::zero())
    return give_verdict(Verdict::kDown, too_late("those before it took all the time"));
  attempt_.time = rest / static_cast<Duration::rep>(candidates_.left());
  loop_.arm(*this, saturated_sum(loop_.now(), attempt_.time));
  auto end = candidates_.provider().open(loop_, *this, candidates_.peer_offer());
  if (!end.ok()) return give_verdict(Verdict::kDown, end.status());
  end_ = *std::move(end);
  return end_->has_address() ? introduce(false) : Status{};
}

// Says our address, if that was not done, with the descriptors that belong to it (a frame this small is taken
// whole by a Unix socket, or not yet), and of an end that is connected that it is.
Status BringUp::introduce(bool connected) {
  if (!std::exchange(attempt_.address_said, true)) {
    const std::string address = end_->address();
    if (const Status kept = descriptors_.pass(*end_, host_.queued_bytes()); !kept.ok()) {
      return give_verdict(Verdict::kDown, kept);
    }
    if (Status failed = send(host_, candidates_.provider().kind(), wire::CarrierStep::kAddress, address);
        !failed.ok())
      return failed;
  }
  return connected && end_->needs_peer_ready()
             ? send(host_, candidates_.provider().kind(), wire::CarrierStep::kReady, {})
             : Status{};
}

Status BringUp::on_frames(std::span<const Frame> frames, const ChunkRef& chunk) {
  if (decided()) return sink_->on_frames(frames, chunk);
  const Frame& frame = frames.front();
  if (frame.header.type != wire::FrameType::kCarrier) return out_of_turn(to_string(frame.header.type));
  const Result<wire::CarrierMessage> message = wire::decode_carrier_body(frame.body);
  return message.ok() ? on_message(*message) : message.status();
}

Status BringUp::on_message(const wire::CarrierMessage& message) {
  last_end_.reset();
  if (Status unasked = descriptors_.check(); !unasked.ok()) return unasked;
  if (!candidates_.any() || message.kind != candidates_.provider().kind()) {
    return out_of_turn("a message about another carrier");
  }
  if (attempt_.theirs != Verdict::kNone) return out_of_turn("a message behind the verdict");
  if (message.step == wire::CarrierStep::kAddress) return on_address(message.text);
  if (message.step == wire::CarrierStep::kReady) return on_ready();
  attempt_.theirs = message.step == wire::CarrierStep::kUp ? Verdict::kUp : Verdict::kDown;
  if (attempt_.theirs == Verdict::kDown) {
    const std::string why = of_peer(peer_text(message.text, kReasonBytesMax));
    if (attempt_.reason.empty()) attempt_.reason = why;
    return give_verdict(Verdict::kDown, {StatusCode::kUnavailable, Layer::kTransport, why});
  }
  return decide();
}

Status BringUp::on_address(std::string_view address) {
  if (attempt_.ours == Verdict::kDown) {
    descriptors_.drop();
    return {};
  }
  if (state_ != State::kAddress || end_ == nullptr) return out_of_turn("a second address");
  state_ = State::kProbing;
  Status connected = descriptors_.hand_to(*end_);
  if (connected.ok()) connected = end_->connect(address);
  if (!connected.ok()) return give_verdict(Verdict::kDown, connected);
  if (!end_->connecting()) {
    if (Status failed = introduce(true); !failed.ok()) return failed;
  }
  attempt_.waits_for_us = end_->connecting() && !end_->has_address();
  return attempt_.heard ? prove() : Status{};
}

// Its time begins now if it was this side that had no room for it.
void BringUp::on_connected() {
  if (attempt_.ours != Verdict::kNone) return;
  if (attempt_.waits_for_us) {
    const TimePoint whole = saturated_sum(loop_.now(), attempt_.time);
    end_by_ = saturated_sum(end_by_, std::max(saturated_difference(whole, at()), Duration::zero()));
    loop_.arm(*this, whole);
  }
  or_fail(host_, [this] { return introduce(true); });
}

Status BringUp::on_ready() {
  if (attempt_.ours == Verdict::kDown) return {};
  // The peer may have received our message, and confirmed that, before this point.
  const bool due = end_ != nullptr && end_->needs_peer_ready() && state_ >= State::kProbing;
  if (!due || std::exchange(attempt_.peer_ready, true)) return out_of_turn("that the peer is ready");
  end_->on_peer_ready();
  return attempt_.heard && state_ == State::kProbing ? prove() : Status{};
}

void BringUp::on_heard() {
  if (std::exchange(attempt_.heard, true) || state_ != State::kProbing) return;
  or_fail(host_, [this] { return prove(); });
}

// A received message proves knowledge of the address, not identity: an eavesdropper may have the address, and
// any host that reaches this machine may send first. Bytes sent before the peer is ready are lost.
Status BringUp::prove() {
  if (base_.secret() == nullptr) return give_verdict(Verdict::kUp);
  if (end_->needs_peer_ready() && !attempt_.peer_ready) return {};
  if (state_ != State::kProving) {
    attempt_.proof = std::make_unique<CarrierProof>();
    state_ = State::kProving;
    if (!attempt_.proof->begin(*base_.secret(), candidates_.provider().kind(),
                               candidates_.ours().connecting)) {
      return give_verdict(Verdict::kDown, no_proof("this side's TLS gives it none to show"));
    }
  }
  switch (attempt_.proof->exchange(end_->carrier())) {
    case CarrierProof::Outcome::kWaits:
      return {};
    case CarrierProof::Outcome::kProven:
      return give_verdict(Verdict::kUp);
    case CarrierProof::Outcome::kWrong:
      return give_verdict(Verdict::kDown,
                          no_proof("who is there does not know the secret of the TLS session"));
    case CarrierProof::Outcome::kLost:
      return give_verdict(Verdict::kDown, no_proof("it ended before it was known who is there"));
  }
  return {};
}

void BringUp::on_readable() {
  if (state_ != State::kProving) return;
  or_fail(host_, [this] { return prove(); });
}

// A good verdict that was given stands, and the peer's decides: it may be a bad one, for what broke the
// carrier here has mostly broken it there, and then the base carrier goes on.
void BringUp::on_failed(Status why) {
  if (decided()) return host_.on_bring_up_failed(std::move(why));
  if (attempt_.ours == Verdict::kUp) {
    if (!attempt_.lost.ok()) return;
    attempt_.lost = std::move(why);
    loop_.arm(*this, Deadline::after(loop_.now(), candidates_.ours().bring_up_timeout).at());
    return;
  }
  or_fail(host_, [&] { return give_verdict(Verdict::kDown, why); });
}

void BringUp::on_timer() {
  const TimePoint fair = loop_.turn_time().absence().judge_from(candidates_.ours().bring_up_timeout);
  if (fair > loop_.now()) return loop_.arm(*this, fair);
  if (!host_.has_looked(at())) return loop_.arm(*this, at());
  if (!attempt_.lost.ok()) return host_.on_bring_up_failed(attempt_.lost);
  on_failed(too_late("it did not come up in time"));
}

Status BringUp::give_verdict(Verdict verdict, const Status& why) {
  if (attempt_.ours != Verdict::kNone) return decide();
  attempt_.ours = verdict;
  state_ = State::kVerdict;
  loop_.disarm(*this);
  if (attempt_.reason.empty() && verdict == Verdict::kDown) {
    attempt_.code = code_of(why);
    attempt_.reason = ours(why.message());
  }
  // Resources are not kept for a peer that stays silent.
  if (verdict == Verdict::kDown && end_ != nullptr) end_->shut();
  const auto step = verdict == Verdict::kUp ? wire::CarrierStep::kUp : wire::CarrierStep::kDown;
  Status sent =
      send(host_, candidates_.provider().kind(), step, why.message().substr(0, wire::kCarrierTextMax));
  return sent.ok() ? decide() : sent;
}

Status BringUp::decide() {
  if (decided() || attempt_.ours == Verdict::kNone || attempt_.theirs == Verdict::kNone) return {};
  loop_.disarm(*this);
  if (attempt_.ours == Verdict::kDown || attempt_.theirs == Verdict::kDown) {
    if (end_ != nullptr) end_->shut();
    last_end_ = std::move(end_);
    candidates_.pass_over(std::move(attempt_.reason), attempt_.code);
    return try_next();
  }
  if (!attempt_.lost.ok()) return attempt_.lost;
  state_ = State::kDecided;
  descriptors_.end();
  host_.on_carrier_decided();
  return {};
}

Status BringUp::hand_up_hello(FrameSink& sink) {
  return sink.on_hello(hello_);
}

bool BringUp::wants_body(const wire::FrameHeader& header, Bytes arrived) {
  return decided() && sink_->wants_body(header, arrived);
}

Landing BringUp::on_attachment(const Frame& frame) {
  return decided() ? sink_->on_attachment(frame) : Landing::skip();
}

Status BringUp::on_attachment_end(const Frame& frame, const ChunkRef& chunk, bool landed) {
  return decided() ? sink_->on_attachment_end(frame, chunk, landed) : out_of_turn("an attachment");
}

void BringUp::on_drained() {
  sink_->on_drained();
}

void BringUp::on_closed(Status why) {
  sink_->on_closed(std::move(why));
}

}  // namespace weft::detail
