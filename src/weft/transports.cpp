// SPDX-License-Identifier: Apache-2.0
#include "weft/transports.hpp"

#include <string>
#include <utility>

#include "weft/client_transports.hpp"
#include "weft/detail/transport/memory.hpp"
#include "weft/detail/transport/shared_memory.hpp"

namespace weft {

namespace {

// Without it, connections that never use it pass through no layer for it.
std::unique_ptr<detail::Transport> with_shared_memory(std::unique_ptr<detail::Transport> stream,
                                                      const SharedMemoryOptions& options) {
  const bool unused = options.connecting == CarrierPolicy::kForbid &&
                      options.listening == CarrierPolicy::kForbid && check(options).ok();
  return unused ? std::move(stream) : detail::make_shared_memory_transport(std::move(stream), options);
}

#if WEFT_HAVE_UCX

std::unique_ptr<detail::Transport> with_ucx(std::unique_ptr<detail::Transport> stream,
                                            const UcxOptions& options) {
  return detail::make_ucx_transport(std::move(stream), options);
}

#else

std::unique_ptr<detail::Transport> with_ucx(std::unique_ptr<detail::Transport> stream, const UcxOptions&) {
  return stream;
}

#endif

#if WEFT_HAVE_VERBS

std::unique_ptr<detail::Transport> with_verbs(std::unique_ptr<detail::Transport> stream,
                                              const VerbsOptions& options) {
  return detail::make_verbs_transport(std::move(stream), options);
}

#else

std::unique_ptr<detail::Transport> with_verbs(std::unique_ptr<detail::Transport> stream,
                                              const VerbsOptions&) {
  return stream;
}

#endif

#if WEFT_HAVE_TLS

std::unique_ptr<detail::Transport> under_tls(const TransportOptions& options) {
  auto stream = detail::make_tcp_transport(options.tcp);
  if (options.beside_tls.ucx != CarrierPolicy::kForbid) {
    UcxOptions ucx = options.ucx;
    ucx.connecting = ucx.listening = options.beside_tls.ucx;
    stream = with_ucx(std::move(stream), ucx);
  }
  if (options.beside_tls.verbs != CarrierPolicy::kForbid) {
    VerbsOptions verbs = options.verbs;
    verbs.connecting = verbs.listening = options.beside_tls.verbs;
    stream = with_verbs(std::move(stream), verbs);
  }
  return stream;
}

#endif

#if !WEFT_HAVE_TLS || !WEFT_HAVE_UCX || !WEFT_HAVE_VERBS

// Answers for the URLs of what this build was made without.
class NotBuilt final : public detail::Transport {
 public:
  NotBuilt(std::string scheme, std::string why) : scheme_(std::move(scheme)), why_(std::move(why)) {}
  bool handles(std::string_view scheme) const override { return scheme == scheme_; }
  Result<std::unique_ptr<detail::Listener>> listen(Loop&, const detail::Url& url) override {
    return missing(url);
  }
  Task<Result<std::unique_ptr<detail::Connection>>> connect(Loop&, detail::Url url,
                                                            detail::ConnectOptions) override {
    co_return missing(url);
  }

 private:
  Status missing(const detail::Url& url) const {
    return {StatusCode::kUnimplemented, Layer::kTransport, url.to_string() + ": " + why_};
  }

  const std::string scheme_;
  const std::string why_;
};

#endif

}  // namespace

namespace detail {

Transports make_client_transports(TransportOptions options, std::string_view url) {
  const bool plain = url.starts_with("tcp://") || url.starts_with("unix://");
  Transports transports;
  auto stream = with_shared_memory(make_tcp_transport(options.tcp), options.shared_memory);
  if (!plain || options.ucx.connecting != CarrierPolicy::kForbid) {
    stream = with_ucx(std::move(stream), options.ucx);
  }
  if (!plain || options.verbs.connecting != CarrierPolicy::kForbid) {
    stream = with_verbs(std::move(stream), options.verbs);
  }
  transports.add(std::move(stream));
  if (plain) return transports;
#if WEFT_HAVE_TLS
  // Over a TCP of its own, so that no carrier is offered beside the encrypted stream that was not named.
  auto credentials = options.tls_credentials != nullptr
                         ? std::move(options.tls_credentials)
                         : std::make_shared<TlsCredentials>(std::move(options.tls));
  transports.add(make_tls_transport(under_tls(options), std::move(credentials)));
#else
  transports.add(std::make_unique<NotBuilt>(
      "tls", "this build has no TLS (on Debian, install libssl-dev and build again)"));
#endif
  transports.add(MemoryNetwork::of_process());
#if !WEFT_HAVE_UCX
  transports.add(std::make_unique<NotBuilt>(
      "ucx", "this build has no UCX (on Debian, install libucx-dev and build again)"));
#endif
#if !WEFT_HAVE_VERBS
  transports.add(std::make_unique<NotBuilt>(
      "verbs", "this build has no RDMA (on Debian, install libibverbs-dev and build again)"));
#endif
  return transports;
}

}  // namespace detail

Transports make_transports(TransportOptions options) {
  return detail::make_client_transports(std::move(options), {});
}

}  // namespace weft
