// SPDX-License-Identifier: Apache-2.0
#include "transport/tcp/tcp_transport.hpp"

#include <utility>

#include "transport/tcp/connect_race.hpp"
#include "transport/tcp/look_up.hpp"
#include "transport/tcp/tcp_carrier.hpp"
#include "transport/tcp/tcp_listener.hpp"
#include "weft/detail/transport/stream_filter.hpp"

namespace weft {

namespace detail::tcp {
namespace {

class TcpTransport final : public detail::Transport {
 public:
  TcpTransport(TcpOptions options, std::shared_ptr<HostNames> names)
      : options_(std::move(options)), resolver_(std::move(names)) {}

  bool handles(std::string_view scheme) const override { return scheme == "tcp" || scheme == "unix"; }
  Result<std::unique_ptr<detail::Listener>> listen(Loop& loop, const detail::Url& url) override {
    return TcpListener::make(loop, url, options_);
  }
  Task<Result<std::unique_ptr<detail::Connection>>> connect(Loop& loop, detail::Url url,
                                                            detail::ConnectOptions options) override;

 private:
  Task<Addresses> find_addresses(Loop& loop, const detail::Url& url, Deadline deadline);

  const TcpOptions options_;
  Resolver resolver_;
};

Task<Addresses> TcpTransport::find_addresses(Loop& loop, const detail::Url& url, Deadline deadline) {
  auto addresses = addresses_of(url);
  if (!addresses.ok() || !addresses->empty()) co_return addresses;
  LookUp look_up{loop, resolver_, url.host, url.port, deadline};
  auto found = co_await look_up;
  if (found.ok() && found->empty()) {
    co_return Status{StatusCode::kUnavailable, Layer::kTransport, "the host has no address"};
  }
  co_return found;
}

Task<Result<std::unique_ptr<detail::Connection>>> TcpTransport::connect(Loop& loop, detail::Url url,
                                                                        detail::ConnectOptions options) {
  CancelScope* scope = co_await this_cancel_scope();
  if (scope != nullptr && scope->cancelled()) co_return to_status(scope->reason());
  if (options.deadline.expired(loop.now())) co_return to_status(CancelReason::kDeadline);
  const std::string what = "connect to " + url.to_string();
  auto addresses = co_await find_addresses(loop, url, options.deadline);
  if (!addresses.ok()) co_return addresses.status().with_context(what);
  ConnectRace race{loop, *addresses, options_, options};
  auto winner = co_await race;
  if (!winner.ok()) co_return winner.status().with_context(what);
  const SocketAddress peer = (*winner)->address();
  auto carrier = TcpCarrier::make(loop, (*winner)->take_socket(), peer);
  if (!carrier.ok()) co_return carrier.status();
  co_return make_connection(loop, options.connection, *std::move(carrier));
}

}  // namespace

std::unique_ptr<detail::Transport> make_transport(TcpOptions options, std::shared_ptr<HostNames> names) {
  return std::make_unique<TcpTransport>(std::move(options), std::move(names));
}

}  // namespace detail::tcp

namespace detail {

std::unique_ptr<Transport> make_tcp_transport(TcpOptions options) {
  return tcp::make_transport(std::move(options), tcp::system_names());
}

}  // namespace detail

}  // namespace weft
