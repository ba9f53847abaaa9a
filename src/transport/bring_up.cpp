// SPDX-License-Identifier: Apache-2.0
#include "transport/bring_up.hpp"

#include <utility>

#include "weft/base/peer_text.hpp"
#include "weft/runtime/loop.hpp"

namespace weft {

namespace {

// An offer begins with this byte; what follows is the provider's.
constexpr char kOptional = 0;
constexpr char kRequired = 1;

constexpr std::size_t kReasonBytesMax = 500;

// More than this is nobody's way to end a stream.
constexpr std::size_t kStrayBytesMax = 64;

Status out_of_turn(std::string_view what) {
  return {StatusCode::kInvalidArgument, Layer::kTransport,
          std::string{what} + " came while a carrier was being brought up"};
}

Status unusable(wire::CarrierKind kind, std::string_view why) {
  return {StatusCode::kFailedPrecondition, Layer::kTransport,
          "the carrier '" + std::string{to_string(kind)} + "' is required and not to be had: " +
              std::string{why} + " (a tcp:// URL does without, unless its policy is kRequire)"};
}

Status demanded_by_peer(wire::CarrierKind kind, std::string_view why) {
  return {StatusCode::kFailedPrecondition, Layer::kTransport,
          "the peer requires the carrier '" + std::string{to_string(kind)} +
              "', and it is not to be had: " + std::string{why}};
}

// These say which side has to put right what is wrong.
std::string ours(std::string_view reason) {
  return "this side could not bring it up: " + std::string{reason};
}
std::string of_peer(std::string_view reason) {
  return "the peer could not bring it up, and says: " + std::string{reason};
}

}  // namespace

Status refuse_demands(const std::vector<wire::CarrierOffer>& theirs) {
  for (const wire::CarrierOffer& offer : theirs) {
    if (policy_of(offer) != CarrierPolicy::kRequire) continue;
    const std::string_view name = to_string(offer.kind);
    std::string why = "the peer requires the carrier '";
    why.append(name).append("', and this side does not offer it (connect to a ").append(name);
    why += ":// URL or prefer it with tcp://, or let the other side prefer it: CarrierPolicy)";
    return {StatusCode::kFailedPrecondition, Layer::kTransport, std::move(why)};
  }
  return {};
}

CarrierPolicy policy_of(const wire::CarrierOffer& offer) noexcept {
  if (offer.parameters.empty()) return CarrierPolicy::kForbid;
  if (offer.parameters[0] == kRequired) return CarrierPolicy::kRequire;
  return offer.parameters[0] == kOptional ? CarrierPolicy::kPrefer : CarrierPolicy::kForbid;
}

BringUp::~BringUp() {
  shut();
}

void BringUp::shut() {
  loop_.disarm(*this);
  if (end_ != nullptr) end_->shut();
}

Carrier& BringUp::move(CarrierOwner& owner) {
  Carrier& carrier = end_->carrier();
  carrier.report_to(owner);
  stream_.report_to(stream_watch_);
  return carrier;
}

Status BringUp::stray_bytes() const {
  return {StatusCode::kInvalidArgument, Layer::kTransport,
          stream_.remote_endpoint() + " sent on the stream although its bytes go by another carrier"};
}

void BringUp::check_stream() {
  if (stream_gone_) return;
  std::byte stray[kStrayBytesMax];
  const iovec place{stray, sizeof stray};
  const Moved moved = stream_.receive({&place, 1}, {});
  if (moved.waits()) return;
  if (moved.kind == Moved::Kind::kSome) return host_.on_bring_up_failed(stray_bytes());
  stream_gone_ = true;
  host_.on_peer_gone(moved.error);
}

std::string BringUp::connected_to() const {
  return carriers_->connecting ? stream_.remote_endpoint() : std::string{};
}

// A side that requires one offers no other, which might be chosen, and whose failure ends on the stream.
bool BringUp::is_offered(const CarrierChoices::Choice& choice) const {
  const auto required = [](const CarrierChoices::Choice& each) {
    return each.policy == CarrierPolicy::kRequire;
  };
  if (required(choice)) return true;
  return choice.policy == CarrierPolicy::kPrefer &&
         std::none_of(carriers_->choices.begin(), carriers_->choices.end(), required);
}

std::vector<wire::CarrierOffer> BringUp::offers() const {
  std::vector<wire::CarrierOffer> offers;
  for (const CarrierChoices::Choice& choice : carriers_->choices) {
    if (!is_offered(choice)) continue;
    const char flag = choice.policy == CarrierPolicy::kRequire ? kRequired : kOptional;
    offers.push_back({choice.provider->kind(), flag + choice.provider->offer()});
  }
  return offers;
}

// Both sides have to come to the same one: the common carrier of the highest number.
const wire::CarrierOffer* BringUp::choose(const std::vector<wire::CarrierOffer>& theirs) {
  const wire::CarrierOffer* best = nullptr;
  for (const wire::CarrierOffer& offer : theirs) {
    if (policy_of(offer) == CarrierPolicy::kForbid || (best != nullptr && best->kind > offer.kind)) continue;
    for (const CarrierChoices::Choice& choice : carriers_->choices) {
      if (!is_offered(choice) || choice.provider->kind() != offer.kind) continue;
      best = &offer;
      choice_ = &choice;
    }
  }
  return best;
}

Status BringUp::check_required(const std::vector<wire::CarrierOffer>& theirs) const {
  for (const CarrierChoices::Choice& choice : carriers_->choices) {
    if (choice.policy != CarrierPolicy::kRequire) continue;
    const wire::CarrierKind kind = choice.provider->kind();
    return unusable(
        kind, "the peer does not offer it, as it would with a " + std::string{to_string(kind)} + ":// URL");
  }
  return refuse_demands(theirs);
}

Status BringUp::on_hello(Bytes hello) {
  const Result<wire::Hello> theirs = wire::decode_hello(hello);
  if (!theirs.ok()) return theirs.status();
  hello_ = as_text(hello);
  const wire::CarrierOffer* offer = choose(theirs->carriers);
  if (offer != nullptr) return open(*offer);
  Status status = check_required(theirs->carriers);
  if (!status.ok()) {
    // Our hello: what we require is what the peer's user has to be told.
    host_.send_what_is_queued();
    return status;
  }
  state_ = State::kDecided;
  host_.on_carrier_decided();
  return {};
}

Status BringUp::open(const wire::CarrierOffer& theirs) {
  state_ = State::kAddress;
  peer_requires_ = policy_of(theirs) == CarrierPolicy::kRequire;
  loop_.arm(*this, Deadline::after(loop_.now(), carriers_->bring_up_timeout).at());
  auto end = choice_->provider->open(loop_, *this, std::string_view{theirs.parameters}.substr(1));
  if (!end.ok()) return give_verdict(Verdict::kDown, end.status().message());
  end_ = *std::move(end);
  return send(wire::CarrierStep::kAddress, end_->address());
}

Status BringUp::send(wire::CarrierStep step, std::string_view text) {
  const std::string frame = wire::encode_carrier_frame({step, choice_->provider->kind(), text});
  if (host_.queue_carrier_frame(frame)) return {};
  return {StatusCode::kResourceExhausted, Layer::kTransport, "out of memory for a carrier frame"};
}

Status BringUp::on_frames(std::span<const Frame> frames, const ChunkRef& chunk) {
  if (decided()) return sink_->on_frames(frames, chunk);
  const Frame& frame = frames.front();
  if (frame.header.type != wire::FrameType::kCarrier) return out_of_turn(to_string(frame.header.type));
  const Result<wire::CarrierMessage> message = wire::decode_carrier_body(frame.body);
  return message.ok() ? on_message(*message) : message.status();
}

Status BringUp::on_message(const wire::CarrierMessage& message) {
  if (choice_ == nullptr || message.kind != choice_->provider->kind()) {
    return out_of_turn("a message about another carrier");
  }
  if (theirs_ != Verdict::kNone) return out_of_turn("a message behind the verdict");
  if (message.step == wire::CarrierStep::kAddress) return on_address(message.text);
  if (message.step == wire::CarrierStep::kReady) return on_ready();
  theirs_ = message.step == wire::CarrierStep::kUp ? Verdict::kUp : Verdict::kDown;
  if (theirs_ == Verdict::kDown) {
    const std::string why = of_peer(peer_text(message.text, kReasonBytesMax));
    if (reason_.empty()) reason_ = why;
    return give_verdict(Verdict::kDown, why);
  }
  return decide();
}

Status BringUp::on_address(std::string_view address) {
  if (ours_ == Verdict::kDown) return {};
  if (state_ != State::kAddress || end_ == nullptr) return out_of_turn("a second address");
  state_ = State::kProbing;
  Status connected = end_->connect(address);
  if (!connected.ok()) return give_verdict(Verdict::kDown, connected.message());
  if (!end_->connecting()) {
    if (Status failed = say_ready(); !failed.ok()) return failed;
  }
  return heard_ ? give_verdict(Verdict::kUp) : Status{};
}

Status BringUp::say_ready() {
  return end_->needs_peer_ready() ? send(wire::CarrierStep::kReady, {}) : Status{};
}

void BringUp::on_connected() {
  if (ours_ != Verdict::kNone) return;
  Status status = say_ready();
  if (!status.ok()) host_.on_bring_up_failed(std::move(status));
}

Status BringUp::on_ready() {
  if (ours_ == Verdict::kDown) return {};
  // The peer may have heard us, and said so, before it comes to this.
  const bool due = end_ != nullptr && end_->needs_peer_ready() && state_ >= State::kProbing;
  if (!due || std::exchange(peer_ready_, true)) return out_of_turn("that the peer is ready");
  end_->on_peer_ready();
  return {};
}

void BringUp::on_heard() {
  if (std::exchange(heard_, true) || state_ != State::kProbing) return;
  Status status = give_verdict(Verdict::kUp);
  if (!status.ok()) host_.on_bring_up_failed(std::move(status));
}

// A good verdict that was given stands, and the peer's decides: it may be a bad one, for what broke the
// carrier here has mostly broken it there, and then the stream goes on.
void BringUp::on_failed(Status why) {
  if (decided()) return host_.on_bring_up_failed(std::move(why));
  if (ours_ == Verdict::kUp) {
    if (!lost_.ok()) return;
    lost_ = std::move(why);
    loop_.arm(*this, Deadline::after(loop_.now(), carriers_->bring_up_timeout).at());
    return;
  }
  Status status = give_verdict(Verdict::kDown, why.message());
  if (!status.ok()) host_.on_bring_up_failed(std::move(status));
}

void BringUp::on_timer() {
  if (!lost_.ok()) return host_.on_bring_up_failed(lost_);
  on_failed({StatusCode::kUnavailable, Layer::kTransport, "it did not come up in time"});
}

Status BringUp::give_verdict(Verdict verdict, std::string_view reason) {
  if (ours_ != Verdict::kNone) return decide();
  ours_ = verdict;
  state_ = State::kVerdict;
  loop_.disarm(*this);
  if (reason_.empty() && verdict == Verdict::kDown) reason_ = ours(reason);
  const auto step = verdict == Verdict::kUp ? wire::CarrierStep::kUp : wire::CarrierStep::kDown;
  Status sent = send(step, reason.substr(0, wire::kCarrierTextMax));
  return sent.ok() ? decide() : sent;
}

Status BringUp::decide() {
  if (decided() || ours_ == Verdict::kNone || theirs_ == Verdict::kNone) return {};
  loop_.disarm(*this);
  if (ours_ == Verdict::kDown || theirs_ == Verdict::kDown) {
    usable_ = false;
    if (end_ != nullptr) end_->shut();
    const wire::CarrierKind kind = choice_->provider->kind();
    if (choice_->policy == CarrierPolicy::kRequire) return unusable(kind, reason_);
    // The peer ends the connection, and has no word left to say why.
    if (peer_requires_) return demanded_by_peer(kind, reason_);
  } else if (!lost_.ok()) {
    return lost_;
  }
  state_ = State::kDecided;
  host_.on_carrier_decided();
  return {};
}

Status BringUp::hand_up_hello(FrameSink& sink) {
  return sink.on_hello(as_bytes(hello_));
}

bool BringUp::wants_body(const wire::FrameHeader& header) {
  return decided() && sink_->wants_body(header);
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

}  // namespace weft
