// SPDX-License-Identifier: Apache-2.0
#include "transport/verbs/cm_end.hpp"

#include <netdb.h>
#include <netinet/in.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

#include "transport/verbs/limits.hpp"
#include "weft/detail/transport/url.hpp"
#include "weft/detail/verbs/status.hpp"

namespace weft::detail::verbs_carrier {

namespace {

using Kind = verbs::CmEvent::Kind;

int milliseconds(Duration time) {
  return static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(time).count());
}

constexpr FixedFailure kNoMemoryToComeUp{StatusCode::kResourceExhausted, Layer::kTransport, Retry::kReconnect,
                                         "out of memory to bring RDMA up"};

// Handles an event of the connection manager, where nothing may be thrown.
template <typename Work>
Status without_throwing(Work work) noexcept {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return Status::of<kNoMemoryToComeUp>();
  }
}

Status refused(const char* why) {
  return {StatusCode::kInvalidArgument, Layer::kTransport, why};
}

Status call_failed(const char* what) {
  const int error = errno;
  if (error == ENODEV || error == EADDRNOTAVAIL || error == ENETUNREACH || error == EHOSTUNREACH) {
    return {StatusCode::kUnavailable, Layer::kTransport,
            [&] {
              return std::string{what} + ": no RDMA device leads to the address that the connection goes to";
            },
            error};
  }
  return verbs::call_status(error, what);
}

/// The IP address that a base carrier goes to. Errors: it is none.
Status parse(const std::string& endpoint, sockaddr_storage& to) {
  const auto url = Url::parse(endpoint);
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (!url.ok() || ::getaddrinfo(url->host.c_str(), nullptr, &hints, &found) != 0) {
    return refused("rdma_cm needs a connection that goes to an IP address (a tcp:// or verbs:// URL)");
  }
  std::copy_n(reinterpret_cast<const std::byte*>(found->ai_addr), found->ai_addrlen,
              reinterpret_cast<std::byte*>(&to));
  ::freeaddrinfo(found);
  return {};
}

void set_port(sockaddr_storage& to, std::uint16_t port) {
  if (to.ss_family == AF_INET6) {
    reinterpret_cast<sockaddr_in6*>(&to)->sin6_port = htons(port);
  } else {
    reinterpret_cast<sockaddr_in*>(&to)->sin_port = htons(port);
  }
}

/// Explains an event that ends everything.
Status status_of(const verbs::CmEvent& event) {
  const auto made = [&](const char* why) {
    const auto text = [&] {
      return std::string{"rdma_cm reports "}
          .append(event.words)
          .append(" (")
          .append(std::to_string(event.status))
          .append("): ")
          .append(why);
    };
    return Status{StatusCode::kUnavailable, Layer::kTransport, text, event.status};
  };
  switch (event.kind) {
    case Kind::kRejected:
      return made("the peer's side refused the connection");
    case Kind::kDisconnected:
      return made("the peer has ended the connection");
    case Kind::kDeviceGone:
      return made("the RDMA device goes away");
    default:
      return made("is there RDMA, and a route, between the addresses that the connection goes by?");
  }
}

/// The attributes with which the connection of that id moves its queue pair to `state`.
Result<verbs::Transition> transition_to(ibv_qp_state state, verbs::CmDriver& driver, verbs::CmId* id) {
  verbs::Transition made;
  made.attributes.qp_state = state;
  if (driver.init_qp_attr(id, &made.attributes, &made.mask) != 0) {
    return call_failed("asking rdma_cm for a queue pair's attributes");
  }
  return made;
}

/// Parameters of a carrier's side. Reads go one way in as many as the other side serves.
verbs::CmParameters parameters_of(VerbsCarrier& carrier) {
  const ibv_device_attr& device = carrier.loop_device().device().protection()->device().attributes();
  const auto at_most = [](int granted) {
    return static_cast<std::uint8_t>(std::clamp<int>(granted, 1, static_cast<int>(kOffersMax)));
  };
  return {.queue_pair = carrier.pair().queue_pair().number(),
          .reads_served = at_most(device.max_qp_rd_atom),
          .reads_asked = at_most(device.max_qp_init_rd_atom)};
}

}  // namespace

Result<std::unique_ptr<CarrierEnd>> CmEnd::connecting_to(std::shared_ptr<CmHub> hub, const CmSupport& support,
                                                         Loop& loop, CarrierEndOwner& owner,
                                                         const VerbsOptions& options,
                                                         const std::string& endpoint) {
  auto end = std::make_unique<CmEnd>(std::move(hub), support, loop, owner, options);
  if (Status wrong = parse(endpoint, end->to_); !wrong.ok()) return wrong;
  return std::unique_ptr<CarrierEnd>{std::move(end)};
}

Result<std::unique_ptr<CarrierEnd>> CmEnd::listening(std::shared_ptr<CmHub> hub, const CmSupport& support,
                                                     Loop& loop, CarrierEndOwner& owner,
                                                     const VerbsOptions& options) {
  auto end = std::make_unique<CmEnd>(std::move(hub), support, loop, owner, options);
  auto awaited = end->hub_->await_request(*end);
  if (!awaited.ok()) return std::move(awaited).status();
  end->listening_ = *awaited;
  return std::unique_ptr<CarrierEnd>{std::move(end)};
}

std::string CmEnd::address() const {
  return CmAddress{.terms = {static_cast<std::uint32_t>(options_.message_bytes),
                             static_cast<std::uint32_t>(options_.credits_min)},
                   .listening = listening_}
      .encode();
}

Status CmEnd::connect(std::string_view peer_address) {
  const auto peer = CmAddress::decode(peer_address);
  if (!peer.ok()) return peer.status();
  if (peer->listening.has_value() != connects()) {
    return refused("the peer's address for rdma_cm is that of the same side as ours");
  }
  peer_terms_ = peer->terms;
  if (peer->listening) {
    listening_ = peer->listening;
    return resolve(peer->listening->port);
  }
  if (connection_) return answer();
  state_ = State::kAwaiting;
  return {};
}

void CmEnd::on_peer_ready() {
  peer_ready_ = true;
  if (state_ == State::kConnected) carrier_->sender().peer_ready();
}

Status CmEnd::resolve(std::uint16_t port) {
  auto made = hub_->create(*this);
  if (!made.ok()) return std::move(made).status();
  connection_ = *std::move(made);
  set_port(to_, port);
  const auto* const to = reinterpret_cast<const sockaddr*>(&to_);
  if (hub_->driver().resolve_addr(connection_.id(), to, milliseconds(kResolveAtMost)) != 0) {
    return call_failed("resolving the peer's address for RDMA");
  }
  state_ = State::kResolving;
  return {};
}

void CmEnd::on_cm_event(const verbs::CmEvent& event) {
  switch (event.kind) {
    case Kind::kRejected:
    case Kind::kFailed:
    case Kind::kDisconnected:
    case Kind::kDeviceGone:
      return ended(event);
    default:
      if (Status failed = without_throwing([&] { return take(event); }); !failed.ok())
        fail(std::move(failed));
  }
}

// The connection manager sends no event out of order, so such an event is ignored.
Status CmEnd::take(const verbs::CmEvent& event) {
  if (event.kind == Kind::kAddressResolved && state_ == State::kResolving) {
    if (Status failed = make_carrier(); !failed.ok()) return failed;
    const bool begun = hub_->driver().resolve_route(connection_.id(), milliseconds(kResolveAtMost)) == 0;
    return begun ? Status{} : call_failed("resolving the route to the peer for RDMA");
  }
  if (event.kind == Kind::kRouteResolved && state_ == State::kResolving) return request();
  if (event.kind == Kind::kResponse && state_ == State::kRequested) {
    theirs_ = event.parameters;
    return look_for_way();
  }
  return {};
}

void CmEnd::on_cm_request(CmConnection connection, const verbs::CmEvent& event) {
  connection_ = std::move(connection);
  theirs_ = event.parameters;
  // The peer's terms come by the base carrier, and may come later.
  if (state_ != State::kAwaiting) return;
  if (Status failed = without_throwing([this] { return answer(); }); !failed.ok()) fail(std::move(failed));
}

Status CmEnd::make_carrier() {
  const char* const device = hub_->driver().device_name(connection_.id());
  if (device == nullptr) {
    return {StatusCode::kUnavailable, Layer::kTransport, "rdma_cm knows no device that leads to the peer"};
  }
  const std::uint8_t port = hub_->driver().port(connection_.id());
  auto loop_device = support_.loop_device_of_route(loop_, device, port);
  if (!loop_device.ok()) return std::move(loop_device).status();
  auto carrier = VerbsCarrier::make(*std::move(loop_device), owner_, port);
  if (!carrier.ok()) return std::move(carrier).status();
  carrier_ = *std::move(carrier);
  carrier_->sender().take_terms(*peer_terms_);
  const auto initialised = transition_to(IBV_QPS_INIT, hub_->driver(), connection_.id());
  return initialised.ok() ? carrier_->pair().queue_pair().prepare(*initialised) : initialised.status();
}

Status CmEnd::request() {
  verbs::CmParameters asked = parameters_of(*carrier_);
  const auto content = encode_request(listening_->token);
  std::copy(content.begin(), content.end(), asked.private_data.begin());
  asked.private_bytes = content.size();
  if (hub_->driver().connect(connection_.id(), asked) != 0) return call_failed("connecting by rdma_cm");
  state_ = State::kRequested;
  return {};
}

Status CmEnd::answer() {
  state_ = State::kRequest;
  if (Status failed = make_carrier(); !failed.ok()) return failed;
  return look_for_way();
}

// As without rdma_cm: the kernel may look for a second for an address that a peer made up.
Status CmEnd::look_for_way() {
  auto to_receive = transition_to(IBV_QPS_RTR, hub_->driver(), connection_.id());
  if (!to_receive.ok()) return std::move(to_receive).status();
  to_receive_ = *to_receive;
  auto search = carrier_->loop_device().ways().look_for(carrier_->pair().queue_pair().way_by(to_receive_),
                                                        loop_, [this](const Status& way) { found(way); });
  if (!search.ok()) return std::move(search).status();
  search_ = *std::move(search);
  state_ = State::kSearching;
  return {};
}

void CmEnd::found(const Status& way) {
  if (state_ != State::kSearching) return;
  Status status = way;
  if (status.ok()) status = without_throwing([this] { return connect_pair(); });
  if (status.ok()) status = without_throwing([this] { return finish(); });
  if (!status.ok()) return fail(std::move(status));
  state_ = State::kConnected;
  if (peer_ready_) carrier_->sender().peer_ready();
  owner_.on_connected();
}

Status CmEnd::connect_pair() {
  const auto to_send = transition_to(IBV_QPS_RTS, hub_->driver(), connection_.id());
  if (!to_send.ok()) return to_send.status();
  Status status = carrier_->pair().connect_by(to_receive_, *to_send);
  if (status.ok()) carrier_->sender().connected();
  return status;
}

Status CmEnd::finish() {
  if (connects()) {
    const bool done = hub_->driver().establish(connection_.id()) == 0;
    return done ? Status{} : call_failed("establishing the connection by rdma_cm");
  }
  verbs::CmParameters ours = parameters_of(*carrier_);
  ours.reads_served = std::min(ours.reads_served, theirs_.reads_asked);
  ours.reads_asked = std::min(ours.reads_asked, theirs_.reads_served);
  return hub_->driver().accept(connection_.id(), ours) == 0 ? Status{} : call_failed("accepting by rdma_cm");
}

// Data that the peer sent before it went has arrived already. The base carrier reports the end itself: it
// distinguishes a proper end from a death, and may report it later than rdma_cm; so a disconnect only ends
// the rdma_cm connection here.
void CmEnd::ended(const verbs::CmEvent& event) {
  if (state_ != State::kConnected) return fail(status_of(event));
  if (event.kind == Kind::kDisconnected) return connection_.end();
  carrier_->catch_up();
  carrier_->fail(status_of(event));
}

// The peer is notified at once, and a device that is removed waits for nothing of ours.
void CmEnd::fail(Status why) {
  if (state_ == State::kFailed || state_ == State::kShut) return;
  state_ = State::kFailed;
  connection_.end();
  owner_.on_failed(std::move(why));
}

void CmEnd::shut() {
  if (std::exchange(state_, State::kShut) == State::kShut) return;
  if (!connects() && listening_) hub_->forget(listening_->token);
  search_ = {};
  if (carrier_ != nullptr) carrier_->shut();
  connection_.end();
}

}  // namespace weft::detail::verbs_carrier
