// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "transport/tls/context.hpp"
#include "transport/tls/failure.hpp"
#include "transport/tls/handshake_gate.hpp"
#include "transport/tls/handshakes.hpp"
#include "transport/tls/tls_carrier.hpp"
#include "weft/detail/runtime/loop.hpp"
#include "weft/detail/transport/stream_filter.hpp"
#include "weft/detail/transport/tls.hpp"
#include "weft/detail/transport/tls_credentials.hpp"

namespace weft {

namespace detail::tls {
namespace {

Result<std::unique_ptr<BaseCarrier>> carrier_over(Loop& loop, std::unique_ptr<BaseCarrier> base, Side side,
                                                  Owned<SSL> ssl, std::shared_ptr<const void> owner_of_ssl,
                                                  Terms terms) {
  if (ssl == nullptr) return Status::of<kNoMemoryForTls>();
  auto carrier = std::make_unique<TlsCarrier>(loop, std::move(base), side, std::move(ssl),
                                              std::move(owner_of_ssl), std::move(terms));
  if (!carrier->open()) return Status::of<kNoMemoryForTls>();
  return std::unique_ptr<BaseCarrier>{std::move(carrier)};
}

// A certificate cannot name the interface behind an IPv6 address.
std::string without_scope(const std::string& host) {
  return host.find(':') == host.npos ? host : host.substr(0, host.find('%'));
}

class ClientFilter final : public StreamFilter {
 public:
  /// `target` is the server's, with whom a session may be resumed.
  ClientFilter(std::shared_ptr<Credentials> credentials, std::shared_ptr<ClientContext> context,
               std::string host, std::string target)
      : credentials_(std::move(credentials)),
        context_(std::move(context)),
        host_(std::move(host)),
        target_(std::move(target)) {}
  Result<std::unique_ptr<BaseCarrier>> over(Loop& loop, std::unique_ptr<BaseCarrier> base) const override {
    auto target = std::make_shared<ClientTarget>(context_, target_);
    auto ssl = make_client_ssl(context_->context(), host_, !credentials_->options().insecure);
    if (!ssl.ok()) return std::move(ssl).status();
    if (!target->begin(**ssl)) return Status::of<kNoMemoryForTls>();
    Terms terms{credentials_, nullptr, HandshakeTurns::of(loop)};
    return carrier_over(loop, std::move(base), Side::kClient, *std::move(ssl), std::move(target),
                        std::move(terms));
  }

 private:
  const std::shared_ptr<Credentials> credentials_;
  const std::shared_ptr<ClientContext> context_;
  const std::string host_;
  const std::string target_;
};

class ServerFilter final : public StreamFilter {
 public:
  explicit ServerFilter(std::shared_ptr<Credentials> credentials)
      : credentials_(std::move(credentials)),
        handshakes_({.all = credentials_->options().handshakes_max,
                     .of_address = credentials_->options().handshakes_of_address_max}) {}
  Result<std::unique_ptr<BaseCarrier>> over(Loop& loop, std::unique_ptr<BaseCarrier> base) const override {
    auto names = credentials_->server(loop.now());
    if (!names.ok()) return std::move(names).status();
    Owned<SSL> ssl = (*names)->make();
    Terms terms{credentials_, handshakes_.of(loop), HandshakeTurns::of(loop)};
    return carrier_over(loop, std::move(base), Side::kServer, std::move(ssl), *std::move(names),
                        std::move(terms));
  }

 private:
  const std::shared_ptr<Credentials> credentials_;
  mutable HandshakesByLoop handshakes_;
};

class TlsIncoming final : public Incoming {
 public:
  TlsIncoming(std::unique_ptr<Incoming> base, std::shared_ptr<const StreamFilter> filter)
      : base_(std::move(base)), filter_(std::move(filter)) {}
  Result<std::unique_ptr<BaseCarrier>> adopt(Loop& loop, ConnectionOptions& options) override {
    Result<std::unique_ptr<BaseCarrier>> base = base_->adopt(loop, options);
    if (!base.ok()) return base;
    return filter_->over(loop, *std::move(base));
  }
  std::string remote_endpoint() const override { return base_->remote_endpoint(); }

 private:
  const std::unique_ptr<Incoming> base_;
  const std::shared_ptr<const StreamFilter> filter_;
};

class TlsListener final : public Listener {
 public:
  TlsListener(Loop& loop, std::unique_ptr<Listener> base, std::shared_ptr<Credentials> credentials)
      : loop_(loop), base_(std::move(base)), credentials_(std::move(credentials)) {}
  Url local_url() const override {
    Url url = base_->local_url();
    url.scheme = "tls";
    return url;
  }
  void start(UniqueFunction<void(std::unique_ptr<Incoming>)> on_incoming) override {
    auto filter = std::make_shared<const ServerFilter>(credentials_);
    auto gate = std::make_unique<HandshakeGate>(credentials_, local_url().to_string(), loop_.now());
    base_->start([&loop = loop_, hand_on = std::move(on_incoming), filter = std::move(filter),
                  gate = std::move(gate)](std::unique_ptr<Incoming> peer) mutable {
      if (!gate->admits(peer->remote_endpoint(), loop.now())) return;
      hand_on(std::make_unique<TlsIncoming>(std::move(peer), filter));
    });
  }

 private:
  Loop& loop_;
  const std::unique_ptr<Listener> base_;
  const std::shared_ptr<Credentials> credentials_;
};

class TlsTransport final : public detail::Transport {
 public:
  TlsTransport(std::unique_ptr<detail::Transport> base, std::shared_ptr<Credentials> credentials)
      : base_(std::move(base)), credentials_(std::move(credentials)) {}

  bool handles(std::string_view scheme) const override { return scheme == "tls"; }

  Result<std::unique_ptr<Listener>> listen(Loop& loop, const Url& url) override {
    const auto names = credentials_->server(loop.now());
    if (!names.ok()) return names.status().with_context("listen on " + url.to_string());
    auto listener = base_->listen(loop, of_base(url));
    if (!listener.ok()) return listener;
    return std::unique_ptr<Listener>{std::make_unique<TlsListener>(loop, *std::move(listener), credentials_)};
  }

  Task<Result<std::unique_ptr<Connection>>> connect(Loop& loop, Url url, ConnectOptions options) override {
    auto context = credentials_->client(loop.now());
    if (!context.ok()) co_return context.status().with_context("connect to " + url.to_string());
    const std::string& name = credentials_->options().server_name;
    const std::string host = name.empty() ? without_scope(url.host) : name;
    options.connection.filter =
        std::make_shared<const ClientFilter>(credentials_, *std::move(context), host, url.to_string());
    Task<Result<std::unique_ptr<Connection>>> connecting =
        base_->connect(loop, of_base(url), std::move(options));
    Result<std::unique_ptr<Connection>> connection = co_await std::move(connecting);
    if (!connection.ok()) co_return connection.status().with_context(url.to_string());
    co_return connection;
  }

  Result<MemoryLease> register_memory(const Url& url, MutableBytes memory) override {
    return base_->register_memory(of_base(url), memory);
  }

 private:
  static Url of_base(Url url) {
    url.scheme = "tcp";
    return url;
  }

  const std::unique_ptr<detail::Transport> base_;
  const std::shared_ptr<Credentials> credentials_;
};

}  // namespace
}  // namespace detail::tls

namespace detail {

std::unique_ptr<Transport> make_tls_transport(std::unique_ptr<Transport> base, TlsOptions options) {
  return make_tls_transport(std::move(base), std::make_shared<TlsCredentials>(std::move(options)));
}

// Credentials by value, as others that give something away.
std::unique_ptr<Transport> make_tls_transport(std::unique_ptr<Transport> base,
                                              // NOLINTNEXTLINE(performance-unnecessary-value-param)
                                              std::shared_ptr<TlsCredentials> credentials) {
  return std::make_unique<tls::TlsTransport>(std::move(base), credentials->state_);
}

}  // namespace detail

}  // namespace weft
