// SPDX-License-Identifier: Apache-2.0
#include "transport/verbs/cm_hub.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/random.h>

#include <cerrno>

#include "transport/verbs/limits.hpp"
#include "weft/detail/base/assert.hpp"
#include "weft/detail/verbs/status.hpp"

namespace weft::detail::verbs_carrier {

namespace {

Status cm_status(int error, std::string_view what) {
  if (error == ENODEV || error == ENOENT || error == ENOSYS) {
    return {StatusCode::kUnavailable, Layer::kTransport,
            std::string{what} + ": the system has no connection manager (modprobe rdma_ucm)", error};
  }
  return verbs::call_status(error, what);
}

}  // namespace

CmConnection& CmConnection::operator=(CmConnection&& other) noexcept {
  end();
  hub_ = std::move(other.hub_);
  id_ = std::exchange(other.id_, nullptr);
  return *this;
}

verbs::CmDriver& CmConnection::driver() const noexcept {
  return hub_->driver();
}

void CmConnection::end() noexcept {
  if (id_ == nullptr) return;
  hub_->destroy(std::exchange(id_, nullptr));
  hub_.reset();
}

Result<std::shared_ptr<CmHub>> CmHub::make(Loop& loop, verbs::CmDriver& driver) {
  auto hub = std::make_shared<CmHub>(Private{}, loop, driver);
  hub->channel_ = driver.create_event_channel();
  if (hub->channel_ == nullptr) return cm_status(errno, "connecting by rdma_cm");
  const int fd = driver.fd(hub->channel_);
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0 || ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0) return cm_status(errno, "rdma_cm's events");
  if (auto watched = loop.watch(*hub, fd); !watched.ok()) {
    return std::move(watched).status();
  }
  return hub;
}

CmHub::~CmHub() {
  WEFT_ASSERT(handlers_.empty(), "a hub ends after its connections");
  loop_.unschedule(rest_);
  if (watched()) loop_.unwatch(*this);
  if (listener_ != nullptr) driver_.destroy_id(listener_);
  if (channel_ != nullptr) driver_.destroy_event_channel(channel_);
}

Result<CmConnection> CmHub::create(CmHandler& handler) {
  verbs::CmId* const id = driver_.create_id(channel_);
  if (id == nullptr) return cm_status(errno, "connecting by rdma_cm");
  handlers_[id] = &handler;
  return CmConnection{shared_from_this(), id};
}

void CmHub::destroy(verbs::CmId* id) noexcept {
  handlers_.erase(id);
  static_cast<void>(driver_.destroy_id(id));
}

Result<CmListening> CmHub::await_request(CmHandler& handler) {
  if (Status failed = listen(); !failed.ok()) return failed;
  CmListening listening{.port = port_};
  if (::getrandom(listening.token.data(), listening.token.size(), 0) !=
      static_cast<ssize_t>(listening.token.size())) {
    return errno_status(Layer::kTransport, "a token for rdma_cm", errno);
  }
  awaited_[listening.token] = &handler;
  return listening;
}

// All addresses of both families, or of IPv4 where the system has no other.
Status CmHub::listen() {
  if (listener_ != nullptr) return {};
  Status failed = listen_on(AF_INET6);
  return failed.ok() ? failed : listen_on(AF_INET);
}

Status CmHub::listen_on(int family) {
  verbs::CmId* const id = driver_.create_id(channel_);
  if (id == nullptr) return cm_status(errno, "listening by rdma_cm");
  sockaddr_storage any{};
  any.ss_family = static_cast<sa_family_t>(family);
  const auto* const address = reinterpret_cast<const sockaddr*>(&any);
  if (driver_.bind_addr(id, address) != 0 || driver_.listen(id, kCmBacklog) != 0) {
    const int error = errno;
    static_cast<void>(driver_.destroy_id(id));
    return cm_status(error, "listening by rdma_cm");
  }
  listener_ = id;
  port_ = driver_.source_port(id);
  return {};
}

void CmHub::on_ready(Readiness) {
  take_events();
}

// Takes a bounded number of events, so that a flood of requests does not block the loop.
void CmHub::take_events() {
  const std::shared_ptr<CmHub> self = shared_from_this();
  verbs::CmEvent event;
  for (unsigned taken = 0; taken < kCmEventsPerTurn; ++taken) {
    if (driver_.get_event(channel_, &event) == 0) {
      dispatch(event);
    } else if (errno != EINTR) {
      return;
    }
  }
  if (!rest_.is_scheduled()) loop_.schedule(rest_);
}

void CmHub::dispatch(const verbs::CmEvent& event) {
  if (event.kind == verbs::CmEvent::Kind::kRequest) return on_request(event);
  const auto found = handlers_.find(event.id);
  if (found != handlers_.end()) found->second->on_cm_event(event);
}

void CmHub::on_request(const verbs::CmEvent& event) {
  CmConnection connection{shared_from_this(), event.id};
  const auto token =
      decode_request(Bytes{event.parameters.private_data}.first(event.parameters.private_bytes));
  const auto found = token ? awaited_.find(*token) : awaited_.end();
  if (found == awaited_.end()) {
    static_cast<void>(driver_.refuse(event.id));
    return;
  }
  CmHandler& handler = *found->second;
  awaited_.erase(found);
  handlers_[event.id] = &handler;
  handler.on_cm_request(std::move(connection), event);
}

}  // namespace weft::detail::verbs_carrier
