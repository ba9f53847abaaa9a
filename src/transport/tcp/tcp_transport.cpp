// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <utility>

#include "transport/tcp/connect_wait.hpp"
#include "transport/tcp/look_up.hpp"
#include "transport/tcp/socket.hpp"
#include "transport/tcp/tcp_carrier.hpp"
#include "transport/tcp/tcp_listener.hpp"
#include "weft/transport/tcp.hpp"

namespace weft {

namespace tcp {
namespace {

class TcpTransport final : public Transport {
 public:
  explicit TcpTransport(TcpOptions options) : options_(std::move(options)) {}

  bool handles(std::string_view scheme) const override { return scheme == "tcp" || scheme == "unix"; }
  Result<std::unique_ptr<Listener>> listen(Loop& loop, const Url& url) override {
    return TcpListener::make(loop, url, options_);
  }
  Task<Result<std::unique_ptr<Connection>>> connect(Loop& loop, Url url, ConnectOptions options) override;

 private:
  Task<Result<std::vector<SocketAddress>>> find_addresses(Loop& loop, const Url& url);
  Task<Status> connect_to(Loop& loop, const SocketAddress& address, const ConnectOptions& options,
                          Result<Socket>& socket);

  const TcpOptions options_;
};

Status bind_to(const Socket& socket, int family, const std::string& local_address) {
  if (local_address.empty() || family == AF_UNIX) return {};
  auto address = parse_local_address(local_address);
  if (!address) return std::move(address).status();
  if (address->family() != family) {
    return {StatusCode::kInvalidArgument, Layer::kTransport,
            "the local address " + local_address + " is of another family than the peer's"};
  }
  if (::bind(socket.fd(), address->get(), address->length) == 0) return {};
  return errno_status(Layer::kTransport, "bind to " + local_address, errno);
}

// Opens a socket and begins to connect it. `in_progress` when the answer is still to come.
Result<Socket> begin_connect(const SocketAddress& address, const TcpOptions& options,
                             const std::string& local_address, bool& in_progress) {
  auto socket = open_socket(address.family());
  if (!socket) return socket;
  Status status = apply(options, socket->fd(), address.family());
  if (status.ok()) status = bind_to(*socket, address.family(), local_address);
  if (!status.ok()) return status;
  in_progress = ::connect(socket->fd(), address.get(), address.length) != 0;
  if (!in_progress || errno == EINPROGRESS) return socket;
  Status failure = errno_status(Layer::kTransport, "connect", errno);
  return failure;
}

Task<Result<std::vector<SocketAddress>>> TcpTransport::find_addresses(Loop& loop, const Url& url) {
  auto addresses = addresses_of(url);
  if (!addresses.ok() || !addresses->empty()) co_return addresses;
  LookUp look_up{loop, url.host, url.port};
  auto found = co_await look_up;
  CancelScope* scope = co_await this_cancel_scope();
  if (scope != nullptr && scope->cancelled()) co_return to_status(scope->reason());
  co_return found;
}

// Ends ok when another address is worth a try; then `socket` has the connected socket or the failure.
Task<Status> TcpTransport::connect_to(Loop& loop, const SocketAddress& address, const ConnectOptions& options,
                                      Result<Socket>& socket) {
  bool in_progress = false;
  socket = begin_connect(address, options_, options.local_address, in_progress);
  if (!socket.ok() || !in_progress) co_return Status{};
  ConnectWait wait{loop, socket->fd(), options.deadline};
  Status outcome = co_await wait;
  if (outcome.ok()) co_return Status{};
  if (!wait.answered()) co_return outcome;
  socket = std::move(outcome);
  co_return Status{};
}

Task<Result<std::unique_ptr<Connection>>> TcpTransport::connect(Loop& loop, Url url, ConnectOptions options) {
  CancelScope* scope = co_await this_cancel_scope();
  if (scope != nullptr && scope->cancelled()) co_return to_status(scope->reason());
  if (options.deadline.expired(loop.now())) co_return to_status(CancelReason::kDeadline);
  const std::string what = "connect to " + url.to_string();
  auto addresses = co_await find_addresses(loop, url);
  if (!addresses.ok()) co_return addresses.status().with_context(what);
  Result<Socket> socket = Status{StatusCode::kUnavailable, Layer::kTransport, "the host has no address"};
  for (const SocketAddress& address : *addresses) {
    Status ended = co_await connect_to(loop, address, options, socket);
    if (!ended.ok()) co_return ended.with_context(what);
    if (socket.ok()) co_return TcpCarrier::connection(loop, std::move(*socket), address, options.connection);
  }
  co_return socket.status().with_context(what);
}

}  // namespace
}  // namespace tcp

std::unique_ptr<Transport> make_tcp_transport(TcpOptions options) {
  return std::make_unique<tcp::TcpTransport>(std::move(options));
}

}  // namespace weft
