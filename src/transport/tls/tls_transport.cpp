// SPDX-License-Identifier: Apache-2.0
#include <mutex>
#include <utility>

#include "transport/tls/context.hpp"
#include "transport/tls/handshakes.hpp"
#include "transport/tls/tls_carrier.hpp"
#include "weft/detail/transport/stream_filter.hpp"
#include "weft/runtime/loop.hpp"
#include "weft/transport/tls.hpp"

namespace weft {

namespace detail::tls {
namespace {

constexpr FixedFailure kNoMemoryForSession{StatusCode::kResourceExhausted, Layer::kTransport, Retry::kBackoff,
                                           "out of memory for TLS"};

Result<std::unique_ptr<Carrier>> carrier_over(Loop& loop, std::unique_ptr<Carrier> stream, Side side,
                                              Owned<SSL> ssl, std::shared_ptr<const void> owner_of_ssl,
                                              Duration timeout, std::shared_ptr<Handshakes> handshakes) {
  if (ssl == nullptr) return Status::of<kNoMemoryForSession>();
  auto carrier = std::make_unique<TlsCarrier>(loop, std::move(stream), side, std::move(ssl),
                                              std::move(owner_of_ssl), timeout, std::move(handshakes));
  if (!carrier->open()) return Status::of<kNoMemoryForSession>();
  return std::unique_ptr<Carrier>{std::move(carrier)};
}

class ClientFilter final : public StreamFilter {
 public:
  ClientFilter(std::shared_ptr<SSL_CTX> context, std::string host, bool checked, Duration timeout)
      : context_(std::move(context)), host_(std::move(host)), checked_(checked), timeout_(timeout) {}
  Result<std::unique_ptr<Carrier>> over(Loop& loop, std::unique_ptr<Carrier> stream) const override {
    return carrier_over(loop, std::move(stream), Side::kClient, make_client_ssl(*context_, host_, checked_),
                        nullptr, timeout_, nullptr);
  }

 private:
  const std::shared_ptr<SSL_CTX> context_;
  const std::string host_;
  const bool checked_;
  const Duration timeout_;
};

class ServerFilter final : public StreamFilter {
 public:
  ServerFilter(std::shared_ptr<const ServerNames> names, const TlsOptions& options)
      : names_(std::move(names)), timeout_(options.handshake_timeout), handshakes_(options.handshakes_max) {}
  Result<std::unique_ptr<Carrier>> over(Loop& loop, std::unique_ptr<Carrier> stream) const override {
    return carrier_over(loop, std::move(stream), Side::kServer, names_->make(), names_, timeout_,
                        handshakes_.of(loop));
  }

 private:
  const std::shared_ptr<const ServerNames> names_;
  const Duration timeout_;
  mutable HandshakesByLoop handshakes_;
};

class TlsIncoming final : public Incoming {
 public:
  TlsIncoming(std::unique_ptr<Incoming> stream, std::shared_ptr<const StreamFilter> filter)
      : stream_(std::move(stream)), filter_(std::move(filter)) {}
  Result<std::unique_ptr<Connection>> adopt(Loop& loop, const ConnectionOptions& options) override {
    ConnectionOptions filtered = options;
    filtered.filter = filter_;
    return stream_->adopt(loop, filtered);
  }
  std::string remote_endpoint() const override { return stream_->remote_endpoint(); }

 private:
  const std::unique_ptr<Incoming> stream_;
  const std::shared_ptr<const StreamFilter> filter_;
};

class TlsListener final : public Listener {
 public:
  TlsListener(std::unique_ptr<Listener> stream, std::shared_ptr<const StreamFilter> filter)
      : stream_(std::move(stream)), filter_(std::move(filter)) {}
  Url local_url() const override {
    Url url = stream_->local_url();
    url.scheme = "tls";
    return url;
  }
  void start(UniqueFunction<void(std::unique_ptr<Incoming>)> on_incoming) override {
    stream_->start(
        [hand_on = std::move(on_incoming), filter = filter_](std::unique_ptr<Incoming> peer) mutable {
          hand_on(std::make_unique<TlsIncoming>(std::move(peer), filter));
        });
  }

 private:
  const std::unique_ptr<Listener> stream_;
  const std::shared_ptr<const StreamFilter> filter_;
};

class TlsTransport final : public detail::Transport {
 public:
  TlsTransport(std::unique_ptr<detail::Transport> stream, TlsOptions options)
      : stream_(std::move(stream)), options_(std::move(options)) {}

  bool handles(std::string_view scheme) const override { return scheme == "tls"; }

  Result<std::unique_ptr<Listener>> listen(Loop& loop, const Url& url) override {
    const auto names = make_server_contexts(options_);
    if (!names.ok()) return names.status().with_context("listen on " + url.to_string());
    auto listener = stream_->listen(loop, of_stream(url));
    if (!listener.ok()) return listener;
    auto filter = std::make_shared<const ServerFilter>(*names, options_);
    return std::unique_ptr<Listener>{std::make_unique<TlsListener>(*std::move(listener), std::move(filter))};
  }

  Task<Result<std::unique_ptr<Connection>>> connect(Loop& loop, Url url, ConnectOptions options) override {
    auto context = client_context();
    if (!context.ok()) co_return context.status().with_context("connect to " + url.to_string());
    const std::string& host = options_.server_name.empty() ? url.host : options_.server_name;
    options.connection.filter = std::make_shared<const ClientFilter>(
        *std::move(context), host, !options_.insecure, options_.handshake_timeout);
    Task<Result<std::unique_ptr<Connection>>> connecting =
        stream_->connect(loop, of_stream(url), std::move(options));
    Result<std::unique_ptr<Connection>> connection = co_await std::move(connecting);
    if (!connection.ok()) co_return connection.status().with_context(url.to_string());
    co_return connection;
  }

 private:
  static Url of_stream(Url url) {
    url.scheme = "tcp";
    return url;
  }
  /// A failure is not kept: the files may be there next time.
  Result<std::shared_ptr<SSL_CTX>> client_context() {
    const std::lock_guard lock{mutex_};
    if (client_ == nullptr) {
      auto made = make_client_context(options_);
      if (!made.ok()) return made;
      client_ = *std::move(made);
    }
    return client_;
  }

  const std::unique_ptr<detail::Transport> stream_;
  const TlsOptions options_;
  std::mutex mutex_;
  std::shared_ptr<SSL_CTX> client_;
};

}  // namespace
}  // namespace detail::tls

std::unique_ptr<detail::Transport> make_tls_transport(std::unique_ptr<detail::Transport> stream,
                                                      TlsOptions options) {
  return std::make_unique<detail::tls::TlsTransport>(std::move(stream), std::move(options));
}

}  // namespace weft
