// SPDX-License-Identifier: Apache-2.0
#include "transport/tcp/tcp_listener.hpp"

#include <unistd.h>

#include <cerrno>
#include <new>
#include <utility>

#include "transport/tcp/tcp_carrier.hpp"
#include "weft/detail/base/assert.hpp"

namespace weft::detail::tcp {

namespace {

constexpr int kAcceptsPerTurn = 64;
constexpr Duration kPause = std::chrono::milliseconds{250};
constexpr Duration kBetweenReports = std::chrono::seconds{1};

class TcpIncoming final : public Incoming {
 public:
  TcpIncoming(Socket socket, const SocketAddress& peer, const SocketAddress& local)
      : socket_(std::move(socket)), peer_(peer), local_(local) {}

  Result<std::unique_ptr<BaseCarrier>> adopt(Loop& loop, ConnectionOptions&) override {
    WEFT_ASSERT(socket_, "an incoming peer is adopted once");
    return TcpCarrier::make(loop, std::move(socket_), peer_);
  }
  std::string remote_endpoint() const override { return endpoint_text(peer_, local_); }

 private:
  Socket socket_;
  const SocketAddress peer_;
  const SocketAddress local_;
};

// Errors of accept about a single peer, or the route to it: the next accept may succeed. Every other error
// may last: no descriptors, no memory, a filter that forbids it, a socket that no longer listens.
bool is_about_one_peer(int error) {
  switch (error) {
    case EINTR:
    case ECONNABORTED:
    case EPROTO:
    case ENOPROTOOPT:
    case ENETDOWN:
    case ENETUNREACH:
    case EHOSTDOWN:
    case EHOSTUNREACH:
    case ENONET:
      return true;
    default:
      return false;
  }
}

Status listen_on_port(int fd, const SocketAddress& address, const TcpOptions& options) {
  const int on = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (options.reuse_port && ::setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) != 0) {
    return errno_status(Layer::kTransport, "set socket option SO_REUSEPORT", errno);
  }
  if (::bind(fd, address.get(), address.length) != 0) return errno_status(Layer::kTransport, "bind", errno);
  return ::listen(fd, options.backlog) == 0 ? Status{} : errno_status(Layer::kTransport, "listen", errno);
}

}  // namespace

Result<std::unique_ptr<Listener>> TcpListener::make(Loop& loop, const Url& url, const TcpOptions& options) {
  auto addresses = addresses_of(url);
  if (!addresses) return addresses.status().with_context("listen on " + url.to_string());
  if (addresses->empty()) {
    return Status{StatusCode::kInvalidArgument, Layer::kTransport,
                  "listen on " + url.to_string() + ": the host has to be a numeric address or localhost"};
  }
  std::unique_ptr<TcpListener> listener{new TcpListener(loop, options.logger)};
  Status status = listener->open(addresses->front(), options);
  if (!status.ok()) return status.with_context("listen on " + url.to_string());
  return std::unique_ptr<Listener>{std::move(listener)};
}

Status TcpListener::open(const SocketAddress& address, const TcpOptions& options) {
  auto socket = open_socket(address.family());
  if (!socket) return std::move(socket).status();
  const int fd = socket->fd();
  Status status = apply(options, fd, address.family());
  if (!status.ok()) return status;
  if (address.family() == AF_UNIX) {
    status = path_.listen(fd, address, options.backlog, options.take_over);
    address_ = address;
  } else {
    status = listen_on_port(fd, address, options);
    address_ = local_address_of(fd);
  }
  if (!status.ok()) return status;
  socket_ = *std::move(socket);
  return loop_.watch(*this, fd).status();
}

TcpListener::~TcpListener() {
  loop_.unwatch(*this);
}

void TcpListener::start(UniqueFunction<void(std::unique_ptr<Incoming>)> on_incoming) {
  on_incoming_ = std::move(on_incoming);
  loop_.at_turn_end(*this);
}

void TcpListener::on_ready(Readiness) {
  if (on_incoming_ && !Timer::armed() && !TurnEndHook::queued()) accept_some();
}

void TcpListener::on_timer() {
  accept_some();
}

void TcpListener::on_turn_end() {
  accept_some();
}

void TcpListener::accept_some() {
  int accepted = 0;
  int error = 0;
  for (int attempt = 0; attempt < kAcceptsPerTurn; ++attempt) {
    SocketAddress peer;
    peer.length = sizeof peer.storage;
    Socket socket{::accept4(socket_.fd(), peer.get(), &peer.length, SOCK_NONBLOCK | SOCK_CLOEXEC)};
    if (socket) {
      ++accepted;
      if (!hand_over(std::move(socket), peer)) return pause(ENOMEM);
      continue;
    }
    error = errno;
    if (error == EAGAIN || error == EWOULDBLOCK) return;
    if (!is_about_one_peer(error)) return pause(error);
  }
  // Many failed accepts without a single success: not departed peers, but a lasting error.
  if (accepted == 0) return pause(error);
  loop_.at_turn_end(*this);
}

// Returns false, and drops the peer, when memory is exhausted.
bool TcpListener::hand_over(Socket socket, const SocketAddress& peer) {
  try {
    on_incoming_(std::make_unique<TcpIncoming>(std::move(socket), peer, address_));
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

void TcpListener::pause(int error) {
  const TimePoint now = loop_.now();
  loop_.arm(*this, now + kPause);
  if (logger_ == nullptr || now < report_again_at_) return;
  report_again_at_ = now + kBetweenReports;
  write_line(*logger_, LogLevel::kError, [&] {
    const std::string what = local_url().to_string() + " cannot accept";
    return errno_status(Layer::kTransport, what, error).to_string() + "; peers wait until it can";
  });
}

}  // namespace weft::detail::tcp
