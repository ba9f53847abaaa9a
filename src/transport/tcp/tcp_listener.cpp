// SPDX-License-Identifier: Apache-2.0
#include "transport/tcp/tcp_listener.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "transport/tcp/tcp_connection.hpp"
#include "weft/base/assert.hpp"

namespace weft::tcp {

namespace {

constexpr int kAcceptsPerTurn = 64;
constexpr Duration kPause = std::chrono::milliseconds{250};

class TcpIncoming final : public Incoming {
 public:
  TcpIncoming(Socket socket, const SocketAddress& peer, const SocketAddress& local)
      : socket_(std::move(socket)), peer_(peer), local_(local) {}

  Result<std::unique_ptr<Connection>> adopt(Loop& loop, const ConnectionOptions& options) override {
    WEFT_ASSERT(socket_, "an incoming peer is adopted once");
    return TcpConnection::make(loop, std::move(socket_), peer_, options);
  }
  std::string remote_endpoint() const override {
    const Url url = url_of(peer_);
    return (url.host.empty() ? url_of(local_) : url).to_string();
  }

 private:
  Socket socket_;
  const SocketAddress peer_;
  const SocketAddress local_;
};

bool out_of_resources(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

// Removes the file of a Unix socket that nobody listens on any more; leaves everything else alone.
void remove_stale_socket(const SocketAddress& address) {
  const std::string path = url_of(address).host;
  struct stat info{};
  if (::lstat(path.c_str(), &info) != 0 || !S_ISSOCK(info.st_mode)) return;
  auto probe = open_socket(AF_UNIX);
  if (!probe) return;
  const bool refused = ::connect(probe->fd(), address.get(), address.length) != 0 && errno == ECONNREFUSED;
  if (refused) ::unlink(path.c_str());
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
  const int on = 1;
  if (address.family() == AF_UNIX) {
    remove_stale_socket(address);
  } else {
    ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (options.reuse_port && ::setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) != 0) {
      return errno_status(Layer::kTransport, "set socket option SO_REUSEPORT", errno);
    }
  }
  Status status = apply(options, fd, address.family());
  if (!status.ok()) return status;
  if (::bind(fd, address.get(), address.length) != 0) return errno_status(Layer::kTransport, "bind", errno);
  if (address.family() == AF_UNIX) path_to_remove_ = url_of(address).host;
  if (::listen(fd, options.backlog) != 0) return errno_status(Layer::kTransport, "listen", errno);
  socket_ = *std::move(socket);
  address_ = local_address_of(fd);
  return loop_.watch(*this, fd).status();
}

TcpListener::~TcpListener() {
  loop_.unwatch(*this);
  if (!path_to_remove_.empty()) ::unlink(path_to_remove_.c_str());
}

void TcpListener::start(UniqueFunction<void(std::unique_ptr<Incoming>)> on_incoming) {
  on_incoming_ = std::move(on_incoming);
  if (!again_.is_scheduled()) loop_.schedule(again_);
}

void TcpListener::on_ready(Readiness) {
  if (on_incoming_ && !Timer::armed()) accept_some();
}

void TcpListener::on_timer() {
  accept_some();
}

void TcpListener::accept_some() {
  for (int accepted = 0; accepted < kAcceptsPerTurn;) {
    SocketAddress peer;
    peer.length = sizeof peer.storage;
    Socket socket{::accept4(socket_.fd(), peer.get(), &peer.length, SOCK_NONBLOCK | SOCK_CLOEXEC)};
    if (socket) {
      ++accepted;
      paused_ = false;
      on_incoming_(std::make_unique<TcpIncoming>(std::move(socket), peer, address_));
      continue;
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK) return;
    if (out_of_resources(errno)) return pause(errno);
    // Anything else is about that one peer, which is gone: the next.
    ++accepted;
  }
  if (!again_.is_scheduled()) loop_.schedule(again_);
}

void TcpListener::pause(int error) {
  loop_.arm(*this, loop_.now() + kPause);
  if (std::exchange(paused_, true) || logger_ == nullptr) return;
  const Status status = errno_status(Layer::kTransport, local_url().to_string() + " cannot accept", error);
  logger_->write(LogLevel::kError, status.to_string() + "; peers wait until there is room");
}

}  // namespace weft::tcp
