// SPDX-License-Identifier: Apache-2.0
#include "transport/bring_up.hpp"

#include <algorithm>
#include <utility>

#include "weft/runtime/loop.hpp"

namespace weft {

namespace {

// An offer begins with this byte; what follows is the provider's.
constexpr char kOptional = 0;
constexpr char kRequired = 1;

constexpr std::size_t kPeerTextBytesMax = 500;

// More than this is nobody's way to end a stream.
constexpr std::size_t kStrayBytesMax = 64;

Status out_of_turn(std::string_view what) {
  return {StatusCode::kInvalidArgument, Layer::kTransport,
          std::string{what} + " came while a data path was being brought up"};
}

Status unusable(wire::DataPath kind, std::string_view why) {
  return {StatusCode::kFailedPrecondition, Layer::kTransport,
          "the data path '" + std::string{to_string(kind)} + "' is required and not to be had: " +
              std::string{why} + " (a tcp:// URL does without, unless its policy is kRequire)"};
}

Status demanded_by_peer(wire::DataPath kind, std::string_view why) {
  return {StatusCode::kFailedPrecondition, Layer::kTransport,
          "the peer requires the data path '" + std::string{to_string(kind)} +
              "', and it is not to be had: " + std::string{why}};
}

// The peer's words go to logs and to people: no line of its own, no escape sequences, and not too much.
std::string printable(std::string_view text) {
  std::string safe{text.substr(0, kPeerTextBytesMax)};
  std::replace_if(safe.begin(), safe.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return text.size() > safe.size() ? safe + " ..." : safe;
}

// These say which side has to put right what is wrong.
std::string ours(std::string_view reason) {
  return "this side could not bring it up: " + std::string{reason};
}
std::string of_peer(std::string_view reason) {
  return "the peer could not bring it up, and says: " + std::string{reason};
}

}  // namespace

Status refuse_demands(const std::vector<wire::DataPathOffer>& theirs) {
  for (const wire::DataPathOffer& offer : theirs) {
    if (policy_of(offer) != PathPolicy::kRequire) continue;
    const std::string_view name = to_string(offer.path);
    std::string why = "the peer requires the data path '";
    why.append(name).append("', and this side does not offer it (connect to a ").append(name);
    why += ":// URL or prefer it with tcp://, or let the other side prefer it: PathPolicy)";
    return {StatusCode::kFailedPrecondition, Layer::kTransport, std::move(why)};
  }
  return {};
}

PathPolicy policy_of(const wire::DataPathOffer& offer) noexcept {
  if (offer.parameters.empty()) return PathPolicy::kForbid;
  if (offer.parameters[0] == kRequired) return PathPolicy::kRequire;
  return offer.parameters[0] == kOptional ? PathPolicy::kPrefer : PathPolicy::kForbid;
}

BringUp::~BringUp() {
  shut();
}

void BringUp::shut() {
  loop_.disarm(*this);
  if (path_ != nullptr) path_->shut();
}

Carrier& BringUp::move(CarrierOwner& owner) {
  Carrier& carrier = path_->carrier();
  carrier.report_to(owner);
  stream_.report_to(stream_watch_);
  return carrier;
}

Status BringUp::stray_bytes() const {
  return {StatusCode::kInvalidArgument, Layer::kTransport,
          stream_.remote_endpoint() + " sent on the stream although its bytes go by another path"};
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
  return paths_->connecting ? stream_.remote_endpoint() : std::string{};
}

// A side that requires one offers no other, which might be chosen, and whose failure ends on the stream.
bool BringUp::is_offered(const DataPaths::Choice& choice) const {
  const auto required = [](const DataPaths::Choice& each) { return each.policy == PathPolicy::kRequire; };
  if (required(choice)) return true;
  return choice.policy == PathPolicy::kPrefer &&
         std::none_of(paths_->choices.begin(), paths_->choices.end(), required);
}

std::vector<wire::DataPathOffer> BringUp::offers() const {
  std::vector<wire::DataPathOffer> offers;
  for (const DataPaths::Choice& choice : paths_->choices) {
    if (!is_offered(choice)) continue;
    const char flag = choice.policy == PathPolicy::kRequire ? kRequired : kOptional;
    offers.push_back({choice.provider->kind(), flag + choice.provider->offer()});
  }
  return offers;
}

// Both sides have to come to the same one: the common path of the highest number.
const wire::DataPathOffer* BringUp::choose(const std::vector<wire::DataPathOffer>& theirs) {
  const wire::DataPathOffer* best = nullptr;
  for (const wire::DataPathOffer& offer : theirs) {
    if (policy_of(offer) == PathPolicy::kForbid || (best != nullptr && best->path > offer.path)) continue;
    for (const DataPaths::Choice& choice : paths_->choices) {
      if (!is_offered(choice) || choice.provider->kind() != offer.path) continue;
      best = &offer;
      choice_ = &choice;
    }
  }
  return best;
}

Status BringUp::check_required(const std::vector<wire::DataPathOffer>& theirs) const {
  for (const DataPaths::Choice& choice : paths_->choices) {
    if (choice.policy != PathPolicy::kRequire) continue;
    const wire::DataPath kind = choice.provider->kind();
    return unusable(
        kind, "the peer does not offer it, as it would with a " + std::string{to_string(kind)} + ":// URL");
  }
  return refuse_demands(theirs);
}

Status BringUp::on_hello(Bytes hello) {
  const Result<wire::Hello> theirs = wire::decode_hello(hello);
  if (!theirs.ok()) return theirs.status();
  hello_ = as_text(hello);
  const wire::DataPathOffer* offer = choose(theirs->paths);
  if (offer != nullptr) return open(*offer);
  Status status = check_required(theirs->paths);
  if (!status.ok()) {
    // Our hello: what we require is what the peer's user has to be told.
    host_.send_what_is_queued();
    return status;
  }
  state_ = State::kDecided;
  host_.on_path_decided();
  return {};
}

Status BringUp::open(const wire::DataPathOffer& theirs) {
  state_ = State::kAddress;
  peer_requires_ = policy_of(theirs) == PathPolicy::kRequire;
  loop_.arm(*this, Deadline::after(loop_.now(), paths_->bring_up_timeout).at());
  auto path = choice_->provider->open(loop_, *this, std::string_view{theirs.parameters}.substr(1));
  if (!path.ok()) return give_verdict(Verdict::kDown, path.status().message());
  path_ = *std::move(path);
  return send(wire::PathStep::kAddress, path_->address());
}

Status BringUp::send(wire::PathStep step, std::string_view text) {
  const std::string frame = wire::encode_path_frame({step, choice_->provider->kind(), text});
  if (host_.queue_path_frame(frame)) return {};
  return {StatusCode::kResourceExhausted, Layer::kTransport, "out of memory for a path frame"};
}

Status BringUp::on_frames(std::span<const Frame> frames, const ChunkRef& chunk) {
  if (decided()) return sink_->on_frames(frames, chunk);
  const Frame& frame = frames.front();
  if (frame.header.type != wire::FrameType::kPath) return out_of_turn(to_string(frame.header.type));
  const Result<wire::PathMessage> message = wire::decode_path_body(frame.body);
  return message.ok() ? on_message(*message) : message.status();
}

Status BringUp::on_message(const wire::PathMessage& message) {
  if (choice_ == nullptr || message.path != choice_->provider->kind()) {
    return out_of_turn("a message about another path");
  }
  if (theirs_ != Verdict::kNone) return out_of_turn("a message behind the verdict");
  if (message.step == wire::PathStep::kAddress) return on_address(message.text);
  if (message.step == wire::PathStep::kReady) return on_ready();
  theirs_ = message.step == wire::PathStep::kUp ? Verdict::kUp : Verdict::kDown;
  if (theirs_ == Verdict::kDown) {
    const std::string why = of_peer(printable(message.text));
    if (reason_.empty()) reason_ = why;
    return give_verdict(Verdict::kDown, why);
  }
  return decide();
}

Status BringUp::on_address(std::string_view address) {
  if (ours_ == Verdict::kDown) return {};
  if (state_ != State::kAddress || path_ == nullptr) return out_of_turn("a second address");
  state_ = State::kProbing;
  Status connected = path_->connect(address);
  if (!connected.ok()) return give_verdict(Verdict::kDown, connected.message());
  if (!path_->connecting()) {
    if (Status failed = say_ready(); !failed.ok()) return failed;
  }
  return heard_ ? give_verdict(Verdict::kUp) : Status{};
}

Status BringUp::say_ready() {
  return path_->needs_peer_ready() ? send(wire::PathStep::kReady, {}) : Status{};
}

void BringUp::on_connected() {
  if (ours_ != Verdict::kNone) return;
  Status status = say_ready();
  if (!status.ok()) host_.on_bring_up_failed(std::move(status));
}

Status BringUp::on_ready() {
  if (ours_ == Verdict::kDown) return {};
  // The peer may have heard us, and said so, before it comes to this.
  const bool due = path_ != nullptr && path_->needs_peer_ready() && state_ >= State::kProbing;
  if (!due || std::exchange(peer_ready_, true)) return out_of_turn("that the peer is ready");
  path_->on_peer_ready();
  return {};
}

void BringUp::on_heard() {
  if (std::exchange(heard_, true) || state_ != State::kProbing) return;
  Status status = give_verdict(Verdict::kUp);
  if (!status.ok()) host_.on_bring_up_failed(std::move(status));
}

// A good verdict that was given stands, and the peer's decides: it may be a bad one, for what broke the path
// here has mostly broken it there, and then the stream goes on.
void BringUp::on_failed(Status why) {
  if (decided()) return host_.on_bring_up_failed(std::move(why));
  if (ours_ == Verdict::kUp) {
    if (!lost_.ok()) return;
    lost_ = std::move(why);
    loop_.arm(*this, Deadline::after(loop_.now(), paths_->bring_up_timeout).at());
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
  const auto step = verdict == Verdict::kUp ? wire::PathStep::kUp : wire::PathStep::kDown;
  Status sent = send(step, reason.substr(0, wire::kPathTextMax));
  return sent.ok() ? decide() : sent;
}

Status BringUp::decide() {
  if (decided() || ours_ == Verdict::kNone || theirs_ == Verdict::kNone) return {};
  loop_.disarm(*this);
  if (ours_ == Verdict::kDown || theirs_ == Verdict::kDown) {
    usable_ = false;
    if (path_ != nullptr) path_->shut();
    const wire::DataPath kind = choice_->provider->kind();
    if (choice_->policy == PathPolicy::kRequire) return unusable(kind, reason_);
    // The peer ends the connection, and has no word left to say why.
    if (peer_requires_) return demanded_by_peer(kind, reason_);
  } else if (!lost_.ok()) {
    return lost_;
  }
  state_ = State::kDecided;
  host_.on_path_decided();
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
