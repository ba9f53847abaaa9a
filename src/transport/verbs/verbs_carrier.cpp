// SPDX-License-Identifier: Apache-2.0
// Coming up, what the device tells, and the end. Bytes move in verbs_carrier_receive.cpp and
// verbs_carrier_send.cpp.
#include "transport/verbs/verbs_carrier.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <utility>

#include "transport/verbs/limits.hpp"

namespace weft::verbs_carrier {

namespace {

constexpr std::uint32_t kMessageKinds = kCommonMessageKinds | bit_of(MessageKind::kReclaim) |
                                        bit_of(MessageKind::kReturn) | bit_of(MessageKind::kOffer) |
                                        bit_of(MessageKind::kFetched) | bit_of(MessageKind::kDecline) |
                                        bit_of(MessageKind::kWithdraw);

// An address: the queue pair's, then the terms.
constexpr std::size_t kAddressBytes = verbs::AddressInfo::kEncodedBytes + CarrierTerms::kEncodedBytes;

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
      options_(loop_device_->options()),
      capabilities_{.name = "verbs",
                    .lease_bytes_min = kLeaseBytesMin,
                    .peer_may_vanish = true,
                    .receives_in_place = true},
      serial_(loop_device_->next_serial()),
      protocol_({.kinds = kMessageKinds,
                 .credit_max = kCreditsMax,
                 .all_cost = true,
                 .credit_due = kCreditsMin + 1,
                 .over = "over RDMA"}),
      inbox_(options_.credits_max + 1 + kOffersKeptMax),
      offers_(kOffersKeptMax),
      sent_messages_(std::bit_ceil(options_.sends_max + kControlSends)),
      place_(loop_device_->completions().add(*this)) {
  report_to(owner);
}

Status VerbsCarrier::start(std::uint8_t port) {
  if (Status full = loop_device_->enter(options_.credits_min); !full.ok()) return full;
  promised_ = options_.credits_min;
  protocol_.credit().begin(static_cast<std::uint32_t>(options_.credits_min));
  verbs::QueuePairOptions of_pair;
  of_pair.port = port != 0 ? port : loop_device_->port();
  of_pair.gid_index = options_.gid_index;
  of_pair.sends_max = options_.sends_max + kControlSends;
  of_pair.segments_max = 1;
  of_pair.inline_bytes = options_.inline_bytes;
  of_pair.shared_receives = &loop_device_->receives();
  of_pair.access = {.remote_read = true};
  auto pair = verbs::QueuePair::create(loop_device_->protection(), loop_device_->completions(), of_pair);
  if (!pair.ok()) return std::move(pair).status();
  pair_ = *std::move(pair);
  loop_device_->join(pair_->number(), *this);
  return {};
}

VerbsCarrier::~VerbsCarrier() {
  shut();
}

std::string VerbsCarrier::description() const {
  verbs::Gid gid;
  gid.raw = pair_->address().gid;
  return std::string{loop_device_->protection()->device().name()} + ", port " +
         std::to_string(pair_->port()) + ", from " + gid.to_string() + ", reliable connection" +
         (by_cm_ ? " by rdma_cm" : "") + ", MTU " + std::to_string(verbs::mtu_bytes(pair_->mtu())) +
         ", messages of up to " + std::to_string(peer_message_bytes_) + " bytes, up to " +
         std::to_string(pair_->inline_bytes_max()) + " inline";
}

std::string VerbsCarrier::who() const {
  std::string text = "queue pair " + std::to_string(pair_->number());
  if (peer_.queue_pair == 0) return text + ", which no peer was named to";
  verbs::Gid gid;
  gid.raw = peer_.gid;
  text += ", whose peer is queue pair " + std::to_string(peer_.queue_pair) + " of ";
  return text + (gid.empty() ? "LID " + std::to_string(peer_.lid) : gid.to_string());
}

std::string VerbsCarrier::address() const {
  const auto encoded = pair_->address().encode();
  std::string text{as_text(encoded)};
  text.resize(kAddressBytes);
  auto* const at = reinterpret_cast<std::byte*>(text.data()) + verbs::AddressInfo::kEncodedBytes;
  CarrierTerms{static_cast<std::uint32_t>(options_.message_bytes), protocol_.credit().peer_may_send()}.encode(
      at);
  return text;
}

Status VerbsCarrier::connect(std::string_view peer_address) {
  if (peer_address.size() != kAddressBytes) {
    return {StatusCode::kInvalidArgument, Layer::kTransport, "the peer's RDMA address is of another length"};
  }
  const Bytes bytes = as_bytes(peer_address);
  const auto peer = verbs::AddressInfo::decode(bytes.first(verbs::AddressInfo::kEncodedBytes));
  if (!peer.ok()) return peer.status();
  peer_ = *peer;
  const auto terms = CarrierTerms::decode(bytes.subspan(verbs::AddressInfo::kEncodedBytes));
  if (!terms.ok()) return terms.status();
  take_terms(*terms);
  const verbs::ConnectOptions how = connect_options();
  if (!peer->ethernet) return connect_pair(*peer, how);
  auto search = loop_device_->ways().look_for(pair_->way_to(*peer, how), loop_device_->loop(),
                                              [this, to = *peer, how](const Status& found) {
                                                Status status = found.ok() ? connect_pair(to, how) : found;
                                                if (!status.ok()) return fail(std::move(status));
                                                bring_up_.on_connected();
                                              });
  if (!search.ok()) return std::move(search).status();
  search_ = *std::move(search);
  return {};
}

void VerbsCarrier::take_terms(const CarrierTerms& peers) noexcept {
  peer_message_bytes_ = peers.message_bytes;
  protocol_.credit().take_terms(peers.granted);
}

verbs::ConnectOptions VerbsCarrier::connect_options() const {
  verbs::ConnectOptions how;
  how.hop_limit = options_.hop_limit;
  how.traffic_class = options_.traffic_class;
  how.service_level = options_.service_level;
  how.partition_index = options_.partition_index;
  how.ack_timeout = options_.ack_timeout;
  how.retries = options_.retries;
  how.receiver_not_ready_timer = kReceiverNotReadyTimer;
  how.reads_max = kOffersMax;
  return how;
}

Status VerbsCarrier::connect_pair(const verbs::AddressInfo& peer, const verbs::ConnectOptions& how) {
  return connected(pair_->connect(peer, how));
}

Status VerbsCarrier::connect_by(const verbs::Transition& to_receive, const verbs::Transition& to_send) {
  by_cm_ = true;
  const ibv_ah_attr& way = to_receive.attributes.ah_attr;
  peer_.queue_pair = to_receive.attributes.dest_qp_num;
  peer_.lid = way.dlid;
  if (way.is_global != 0) std::memcpy(peer_.gid.data(), way.grh.dgid.raw, peer_.gid.size());
  return connected(pair_->connect(to_receive, to_send, connect_options()));
}

Status VerbsCarrier::connected(Status status) {
  connected_ = status.ok();
  send_control();
  return status;
}

void VerbsCarrier::on_peer_ready() {
  if (!std::exchange(peer_ready_, true)) want_control(MessageKind::kProbe);
}

void VerbsCarrier::touch() noexcept {
  if (!shut_ && !deliver_.is_scheduled()) loop_device_->loop().schedule(deliver_);
}

void VerbsCarrier::fail(Status why) noexcept {
  if (failure_.ok()) failure_ = std::move(why);
  touch();
}

void VerbsCarrier::on_queue_failed() noexcept {
  fail({StatusCode::kUnavailable, Layer::kTransport, "the RDMA device does not say any more what completed"});
}

void VerbsCarrier::misbehaved(const char* what) noexcept {
  protocol_.misbehaved(what);
  touch();
}

// What the device said inside a poll, told outside of it. What arrived comes first: the failure that a peer's
// end looks like may stand behind its last bytes.
void VerbsCarrier::deliver() {
  send_control();
  if (protocol_.heard() && !std::exchange(heard_told_, true)) bring_up_.on_heard();
  if (!shut_ && !protocol_.misbehaves() && inbox_.size() > 0) owner().on_readable();
  if (!shut_ && send_blocked_ && may_get_on()) {
    send_blocked_ = false;
    owner().on_writable();
  }
  loop_device_->serve_starved();
  const bool failed = !failure_.ok() || protocol_.misbehaves();
  if (shut_ || (!failed && !protocol_.ended())) return;
  if (protocol_.misbehaves()) return owner().on_failed(protocol_.misbehaviour());
  // After the peer's end only our own bytes can be lost, and send() says so.
  if (failed && !protocol_.end_arrived()) {
    return owner().on_failed(
        {StatusCode::kUnavailable, Layer::kTransport, std::string{failure_.message()}, failure_.native()});
  }
  owner().on_writable();
}

void VerbsCarrier::catch_up() {
  Clock& clock = steady_clock_source();
  const TimePoint give_up_at = clock.now() + kCatchUpAtMost;
  for (unsigned idle = 0; idle < kIdleQuestions && !protocol_.end_arrived() && clock.now() < give_up_at;) {
    const std::uint32_t before = protocol_.taken();
    loop_device_->progress();
    idle = protocol_.taken() != before ? 0 : idle + 1;
  }
}

// Whoever has ended sends no message that could have come in half. Memory that is not the LoopDevice's has to
// be free at once.
void VerbsCarrier::end_pair() {
  const std::uint32_t number = pair_->number();
  const bool attachment_moves = waits_for_answer() || reads_under_way();
  if (!connected_ || protocol_.end_arrived() || attachment_moves || !retire_pair()) pair_.reset();
  loop_device_->leave(number);
}

// What the device was given of the LoopDevice goes with the queue pair. False when it has to end at once.
bool VerbsCarrier::retire_pair() noexcept {
  LoopDevice::Retired retired;
  try {
    retired.sends.reserve(sends_under_way());
    retired.controls.reserve(sends_under_way());
  } catch (const std::bad_alloc&) {
    return false;
  }
  if (!pair_->fail().ok()) return false;
  for (; completed_ != posted_; ++completed_) {
    const Sent sent = std::exchange(sent_messages_[completed_ % sent_messages_.size()], {});
    if (sent.memory == Sent::Memory::kBytes) retired.sends.push_back(sent.slot);
    if (sent.memory == Sent::Memory::kControl) retired.controls.push_back(sent.slot);
  }
  retired.credits = promised_ > lent_ ? 1 : 0;
  promised_ -= retired.credits;
  retired.pair = std::move(pair_);
  loop_device_->retire(std::move(retired));
  return true;
}

// A destroyed queue pair touches nothing, and one that is retired only what is the LoopDevice's: so
// everything else that it was given is free then.
void VerbsCarrier::shut() {
  if (std::exchange(shut_, true)) return;
  search_ = {};
  loop_device_->loop().unschedule(deliver_);
  static_cast<ListHook<StarvedTag>&>(*this).unlink();
  loop_device_->note_spare(*this, false);
  if (pair_ != nullptr) end_pair();
  loop_device_->completions().remove(place_);
  completed_up_to(posted_);
  landing_registration_.reset();
  offering_.memory.reset();
  loop_device_->serve_starved();
  while (inbox_.size() > 0) {
    const Arrival arrival = inbox_.pop_front();
    if (arrival.kind == Arrival::Kind::kBytes) loop_device_->give_back(arrival.slot);
  }
  // What is lent comes back later, and is not there for others until then.
  loop_device_->unpromise(promised_ - std::min(promised_, lent_));
}

}  // namespace weft::verbs_carrier
