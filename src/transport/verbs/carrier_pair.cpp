// SPDX-License-Identifier: Apache-2.0
#include "transport/verbs/carrier_pair.hpp"

#include <cstring>
#include <new>
#include <utility>

#include "transport/verbs/limits.hpp"
#include "transport/verbs/promised_receives.hpp"

namespace weft::detail::verbs_carrier {

Status CarrierPair::make(std::uint8_t port, VerbsCarrier& carrier) {
  const VerbsOptions& options = loop_device_.options();
  verbs::QueuePairOptions of_pair;
  of_pair.port = port != 0 ? port : loop_device_.port();
  of_pair.gid_index = options.gid_index;
  of_pair.sends_max = options.sends_max + kControlSends;
  of_pair.segments_max = loop_device_.device().read_segments_max();
  of_pair.inline_bytes = options.inline_bytes;
  of_pair.shared_receives = &loop_device_.receives().queue();
  of_pair.access = {.remote_read = true};
  auto pair =
      verbs::QueuePair::create(loop_device_.device().protection(), loop_device_.completions(), of_pair);
  if (!pair.ok()) return std::move(pair).status();
  pair_ = *std::move(pair);
  name_ = loop_device_.carriers().join(pair_->number(), carrier);
  return {};
}

verbs::ConnectOptions CarrierPair::connect_options() const {
  const VerbsOptions& options = loop_device_.options();
  verbs::ConnectOptions how;
  how.hop_limit = options.hop_limit;
  how.traffic_class = options.traffic_class;
  how.service_level = options.service_level;
  how.partition_index = options.partition_index;
  how.ack_timeout = options.ack_timeout;
  how.retries = options.retries;
  how.receiver_not_ready_timer = kReceiverNotReadyTimer;
  how.reads_max = kOffersMax;
  return how;
}

verbs::Way CarrierPair::way_to(const verbs::AddressInfo& peer) const {
  return pair_->way_to(peer, connect_options());
}

Status CarrierPair::connect(const verbs::AddressInfo& peer) {
  peer_ = peer;
  return pair_->connect(peer, connect_options());
}

Status CarrierPair::connect_by(const verbs::Transition& to_receive, const verbs::Transition& to_send) {
  by_cm_ = true;
  const ibv_ah_attr& way = to_receive.attributes.ah_attr;
  peer_.queue_pair = to_receive.attributes.dest_qp_num;
  peer_.lid = way.dlid;
  if (way.is_global != 0) std::memcpy(peer_.gid.data(), way.grh.dgid.raw, peer_.gid.size());
  return pair_->connect(to_receive, to_send, connect_options());
}

std::string CarrierPair::description() const {
  verbs::Gid gid;
  gid.raw = pair_->address().gid;
  return std::string{loop_device_.device().protection()->device().name()} + ", port " +
         std::to_string(pair_->port()) + ", from " + gid.to_string() + ", reliable connection" +
         (by_cm_ ? " by rdma_cm" : "") + ", MTU " + std::to_string(verbs::mtu_bytes(pair_->mtu()));
}

std::string CarrierPair::who() const {
  std::string text = "queue pair " + std::to_string(pair_->number());
  if (peer_.queue_pair == 0) return text + ", which no peer was named to";
  verbs::Gid gid;
  gid.raw = peer_.gid;
  text += ", whose peer is queue pair " + std::to_string(peer_.queue_pair) + " of ";
  return text + (gid.empty() ? "LID " + std::to_string(peer_.lid) : gid.to_string());
}

bool CarrierPair::retire(SendQueue& sends, PromisedReceives& promised) noexcept {
  RetiredPair retired;
  try {
    retired.sent.reserve(sends.under_way());
  } catch (const std::bad_alloc&) {
    return false;
  }
  if (!pair_->fail().ok()) return false;
  sends.retire(retired.sent);
  retired.credits = promised.leave_one();
  retired.pair = std::move(pair_);
  loop_device_.retired().add(std::move(retired));
  loop_device_.carriers().leave(name_.queue_pair);
  return true;
}

void CarrierPair::end() noexcept {
  if (pair_ == nullptr) return;
  pair_.reset();
  loop_device_.carriers().leave(name_.queue_pair);
}

}  // namespace weft::detail::verbs_carrier
