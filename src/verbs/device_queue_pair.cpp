// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/verbs/device_queue_pair.hpp"

#include <algorithm>
#include <cerrno>
#include <random>
#include <string>
#include <utility>

#include "weft/detail/verbs/queue_pair.hpp"
#include "weft/detail/verbs/status.hpp"

namespace weft::verbs::detail {

namespace {

// Attributes that the manager gives for each state, in part from the peer; none is of an alternate path.
constexpr int kInitialised = IBV_QP_PKEY_INDEX | IBV_QP_PORT;
constexpr int kToReceive = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                           IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
constexpr int kToSend =
    IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;

constexpr std::uint32_t kPacketSequenceMask = 0xFF'FFFF;
// The three-bit code 7 means an unlimited number of retries.
constexpr std::uint8_t kRetriesMax = 6;
// Codes of five bits.
constexpr std::uint8_t kTimeCodeMax = 31;

constexpr const char* kConnecting = "connecting a queue pair";

Status refused(const char* why) {
  return {StatusCode::kInvalidArgument, Layer::kTransport, why};
}

int access_flags_of(Access access) {
  int flags = 0;
  if (access.remote_read) flags |= IBV_ACCESS_REMOTE_READ;
  if (access.remote_write) flags |= IBV_ACCESS_REMOTE_WRITE;
  if (access.remote_atomic) flags |= IBV_ACCESS_REMOTE_ATOMIC;
  return flags;
}

bool same_subnet(const AddressInfo& a, const AddressInfo& b) {
  return std::equal(a.gid.begin(), a.gid.begin() + 8, b.gid.begin());
}

std::string text_of(const AddressInfo& address) {
  Gid gid;
  gid.raw = address.gid;
  return gid.to_string();
}

bool is_ipv4(const AddressInfo& address) {
  return text_of(address).find(':') == std::string::npos;
}

Status no_gid_at(unsigned index, const Port& port, const Device& device) {
  return {StatusCode::kInvalidArgument, Layer::kTransport, [&] {
            return "there is no GID " + std::to_string(index) + " at port " + std::to_string(port.number) +
                   " of " + std::string{device.name()} +
                   " (gid_index, --rdma-gid-index): weft info lists those that there are";
          }};
}

Status check_connect_options(const ConnectOptions& options) {
  if (options.retries > kRetriesMax || options.receiver_not_ready_retries > kRetriesMax) {
    return refused("ConnectOptions: up to 6 retries are possible; 7 would mean for ever");
  }
  if (options.ack_timeout == 0 || options.ack_timeout > kTimeCodeMax) {
    return refused("ConnectOptions::ack_timeout: from 1 to 31 is possible; 0 would mean for ever");
  }
  if (options.receiver_not_ready_timer > kTimeCodeMax || options.reads_max == 0 || options.hop_limit == 0) {
    return refused("ConnectOptions: a timer code above 31, no reads or a hop limit of 0");
  }
  return {};
}

}  // namespace

Status DeviceQueuePair::choose_address(const QueuePairOptions& options) {
  auto port = domain_->device().port(options.port);
  if (!port.ok()) return std::move(port).status();
  if (!port->active) {
    return {StatusCode::kUnavailable, Layer::kTransport, [&] {
              return "port " + std::to_string(options.port) + " of " + std::string{domain_->device().name()} +
                     " is not active: is its network interface up?";
            }};
  }
  std::optional<Gid> gid = best_gid(port->gids);
  if (options.gid_index) {
    const auto found = std::find_if(port->gids.begin(), port->gids.end(),
                                    [&](const Gid& each) { return each.index == *options.gid_index; });
    if (found == port->gids.end()) return no_gid_at(*options.gid_index, *port, domain_->device());
    gid = *found;
  }
  address_.lid = port->lid;
  address_.mtu = port->mtu;
  address_.ethernet = port->ethernet;
  if (gid) {
    address_.gid = gid->raw;
    gid_index_ = gid->index;
  } else if (port->ethernet) {
    return {StatusCode::kUnavailable, Layer::kTransport,
            "the port has no GID: give its network interface an address"};
  }
  return {};
}

Status DeviceQueuePair::make(const QueuePairOptions& options, ibv_cq* completions, std::size_t receives_max) {
  if (Status failed = create(options, completions, receives_max); !failed.ok()) return failed;
  address_.queue_pair = handle_->qp_num;
  address_.packet_sequence = std::random_device{}() & kPacketSequenceMask;
  return initialise(options);
}

// How much a device takes inline it says by refusing more.
Status DeviceQueuePair::create(const QueuePairOptions& options, ibv_cq* completions,
                               std::size_t receives_max) {
  ibv_qp_init_attr attributes{};
  for (std::size_t inline_bytes = options.inline_bytes;; inline_bytes /= 2) {
    attributes = {};
    attributes.qp_type = IBV_QPT_RC;
    attributes.send_cq = attributes.recv_cq = completions;
    if (options.shared_receives != nullptr) attributes.srq = options.shared_receives->handle();
    attributes.cap.max_send_wr = static_cast<std::uint32_t>(options.sends_max);
    attributes.cap.max_recv_wr = static_cast<std::uint32_t>(receives_max);
    attributes.cap.max_send_sge = attributes.cap.max_recv_sge =
        static_cast<std::uint32_t>(options.segments_max);
    attributes.cap.max_inline_data = static_cast<std::uint32_t>(inline_bytes);
    handle_ = domain_->driver().create_qp(domain_->handle(), &attributes);
    if (handle_ != nullptr) break;
    if (errno != EINVAL || inline_bytes == 0) return call_status(errno, "making a queue pair");
  }
  inline_bytes_max_ = attributes.cap.max_inline_data;
  return {};
}

Status DeviceQueuePair::initialise(const QueuePairOptions& options) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.port_num = port_;
  attributes.qp_access_flags = static_cast<unsigned>(access_flags_of(options.access));
  constexpr int kMask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
  const int error = domain_->driver().modify_qp(handle_, &attributes, kMask);
  return error == 0 ? Status{} : call_status(error, "initialising a queue pair");
}

Status DeviceQueuePair::connect(const AddressInfo& peer, const ConnectOptions& options) {
  if (Status wrong = check_connect_options(options); !wrong.ok()) return wrong;
  if (connected_) {
    return {StatusCode::kFailedPrecondition, Layer::kTransport, "the queue pair is connected already"};
  }
  if (peer.ethernet != address_.ethernet) {
    return refused("the peer's port is of the other kind: InfiniBand here, Ethernet there, or the reverse");
  }
  if (Status failed = to_ready_to_receive(peer, options); !failed.ok()) return failed;
  if (Status failed = to_ready_to_send(options); !failed.ok()) return failed;
  connected_ = true;
  return {};
}

ibv_ah_attr DeviceQueuePair::route_to(const AddressInfo& peer, const ConnectOptions& options) const {
  ibv_ah_attr route{};
  route.port_num = port_;
  route.sl = options.service_level;
  route.dlid = peer.lid;
  route.is_global = peer.ethernet || !same_subnet(address_, peer) ? 1 : 0;
  std::copy(peer.gid.begin(), peer.gid.end(), std::begin(route.grh.dgid.raw));
  route.grh.sgid_index = gid_index_;
  route.grh.hop_limit = options.hop_limit;
  route.grh.traffic_class = options.traffic_class;
  return route;
}

Way DeviceQueuePair::way_to(const AddressInfo& peer, const ConnectOptions& options) const {
  return {domain_, route_to(peer, options)};
}

Status DeviceQueuePair::to_ready_to_receive(const AddressInfo& peer, const ConnectOptions& options) {
  const int reads_granted = domain_->device().attributes().max_qp_rd_atom;
  mtu_ = std::min(address_.mtu, peer.mtu);
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTR;
  attributes.path_mtu = mtu_;
  attributes.dest_qp_num = peer.queue_pair;
  attributes.rq_psn = peer.packet_sequence;
  attributes.max_dest_rd_atomic = static_cast<std::uint8_t>(std::min<int>(options.reads_max, reads_granted));
  attributes.min_rnr_timer = options.receiver_not_ready_timer;
  attributes.ah_attr = route_to(peer, options);
  constexpr int kMask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                        IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
  const int error = domain_->driver().modify_qp(handle_, &attributes, kMask);
  if (error == 0) return {};
  Status failure = call_status(error, kConnecting);
  if (!address_.ethernet) return failure;
  const auto text = [&] {
    std::string what{kConnecting};
    what += " from " + text_of(address_) + " (GID " + std::to_string(gid_index_) + ") to " + text_of(peer);
    // The device says no more.
    if (is_ipv4(address_) != is_ipv4(peer)) what += ", which have to be of one kind";
    return std::string{call_status(error, what).message()};
  };
  return {failure.code(), failure.layer(), text, failure.native(), failure.retry()};
}

Status DeviceQueuePair::to_ready_to_send(const ConnectOptions& options) {
  const int reads_granted = domain_->device().attributes().max_qp_init_rd_atom;
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTS;
  attributes.timeout = options.ack_timeout;
  attributes.retry_cnt = options.retries;
  attributes.rnr_retry = options.receiver_not_ready_retries;
  attributes.sq_psn = address_.packet_sequence;
  attributes.max_rd_atomic = static_cast<std::uint8_t>(std::min<int>(options.reads_max, reads_granted));
  constexpr int kMask = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                        IBV_QP_MAX_QP_RD_ATOMIC;
  const int error = domain_->driver().modify_qp(handle_, &attributes, kMask);
  return error == 0 ? Status{} : call_status(error, "letting a queue pair send");
}

Status DeviceQueuePair::move_to(ibv_qp_state state, Transition by, const char* what) {
  by.attributes.qp_state = state;
  const int error = domain_->driver().modify_qp(handle_, &by.attributes, by.mask | IBV_QP_STATE);
  return error == 0 ? Status{} : call_status(error, what);
}

// The rights of the peer are this side's alone to say, and were said when it was made.
Status DeviceQueuePair::prepare(const Transition& initialised) {
  return move_to(IBV_QPS_INIT, {initialised.attributes, initialised.mask & kInitialised},
                 "preparing a queue pair");
}

Status DeviceQueuePair::connect(const Transition& to_receive, const Transition& to_send,
                                const ConnectOptions& options) {
  if (Status wrong = check_connect_options(options); !wrong.ok()) return wrong;
  if (connected_) {
    return {StatusCode::kFailedPrecondition, Layer::kTransport, "the queue pair is connected already"};
  }
  const auto at_most = [&](std::uint8_t asked, int granted) {
    return static_cast<std::uint8_t>(std::min<int>({asked, options.reads_max, granted}));
  };
  const ibv_device_attr& device = domain_->device().attributes();
  Transition receiving{to_receive.attributes, to_receive.mask & kToReceive};
  receiving.attributes.max_dest_rd_atomic =
      at_most(to_receive.attributes.max_dest_rd_atomic, device.max_qp_rd_atom);
  receiving.attributes.min_rnr_timer = options.receiver_not_ready_timer;
  if (Status failed = move_to(IBV_QPS_RTR, receiving, "connecting a queue pair"); !failed.ok()) return failed;
  Transition sending{to_send.attributes, to_send.mask & kToSend};
  sending.attributes.max_rd_atomic = at_most(to_send.attributes.max_rd_atomic, device.max_qp_init_rd_atom);
  sending.attributes.timeout = options.ack_timeout;
  sending.attributes.retry_cnt = options.retries;
  sending.attributes.rnr_retry = options.receiver_not_ready_retries;
  if (Status failed = move_to(IBV_QPS_RTS, sending, "letting a queue pair send"); !failed.ok()) return failed;
  mtu_ = receiving.attributes.path_mtu;
  note_gid(receiving.attributes.ah_attr);
  connected_ = true;
  return {};
}

Way DeviceQueuePair::way_by(const Transition& to_receive) const {
  return {domain_, to_receive.attributes.ah_attr};
}

// For people: the manager may have chosen another one than best_gid().
void DeviceQueuePair::note_gid(const ibv_ah_attr& way) {
  if (way.is_global == 0) return;
  const auto port = domain_->device().port(port_);
  if (!port.ok()) return;
  for (const Gid& gid : port->gids) {
    if (gid.index == way.grh.sgid_index) address_.gid = gid.raw;
  }
}

Status DeviceQueuePair::fail() {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_ERR;
  const int error = domain_->driver().modify_qp(handle_, &attributes, IBV_QP_STATE);
  return error == 0 ? Status{} : call_status(error, "ending a queue pair's connection");
}

void DeviceQueuePair::destroy() noexcept {
  const int error = domain_->driver().destroy_qp(std::exchange(handle_, nullptr));
  WEFT_ASSERT(has_ended(error), "a device does not refuse the end of a queue pair");
}

}  // namespace weft::verbs::detail
