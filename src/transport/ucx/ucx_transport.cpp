// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "transport/ucx/provider.hpp"
#include "weft/transport/ucx.hpp"

namespace weft {

namespace ucx_path {
namespace {

constexpr std::string_view kScheme = "ucx";
constexpr std::string_view kStreamScheme = "tcp";

class UcxIncoming final : public Incoming {
 public:
  UcxIncoming(std::unique_ptr<Incoming> stream, std::shared_ptr<const DataPaths> paths)
      : stream_(std::move(stream)), paths_(std::move(paths)) {}
  Result<std::unique_ptr<Connection>> adopt(Loop& loop, const ConnectionOptions& options) override {
    ConnectionOptions with_paths = options;
    with_paths.paths = paths_;
    return stream_->adopt(loop, with_paths);
  }
  std::string remote_endpoint() const override { return stream_->remote_endpoint(); }

 private:
  const std::unique_ptr<Incoming> stream_;
  const std::shared_ptr<const DataPaths> paths_;
};

class UcxListener final : public Listener {
 public:
  UcxListener(std::unique_ptr<Listener> stream, std::string scheme, std::shared_ptr<const DataPaths> paths)
      : stream_(std::move(stream)), scheme_(std::move(scheme)), paths_(std::move(paths)) {}
  Url local_url() const override {
    Url url = stream_->local_url();
    url.scheme = scheme_;
    return url;
  }
  void start(UniqueFunction<void(std::unique_ptr<Incoming>)> on_incoming) override {
    stream_->start(
        [hand_on = std::move(on_incoming), paths = paths_](std::unique_ptr<Incoming> peer) mutable {
          hand_on(std::make_unique<UcxIncoming>(std::move(peer), paths));
        });
  }

 private:
  const std::unique_ptr<Listener> stream_;
  const std::string scheme_;
  const std::shared_ptr<const DataPaths> paths_;
};

class UcxTransport final : public Transport {
 public:
  UcxTransport(std::unique_ptr<Transport> stream, const UcxOptions& options)
      : stream_(std::move(stream)),
        options_(options),
        misuse_(check(options)),
        provider_(std::make_shared<const Provider>(options)) {
    const auto with = [&](PathPolicy policy) {
      return std::make_shared<const DataPaths>(DataPaths{{{provider_, policy}}, options.bring_up_timeout});
    };
    required_ = with(PathPolicy::kRequire);
    preferred_ = with(PathPolicy::kPrefer);
  }

  bool handles(std::string_view scheme) const override {
    return scheme == kScheme || stream_->handles(scheme);
  }

  Result<std::unique_ptr<Listener>> listen(Loop& loop, const Url& url) override {
    if (!misuse_.ok()) return misuse_;
    const bool ucx = url.scheme == kScheme;
    const PathPolicy policy =
        ucx && options_.listening == PathPolicy::kForbid ? PathPolicy::kPrefer : options_.listening;
    if (policy != PathPolicy::kForbid) {
      if (const Status refused = provider_->try_out(); !refused.ok()) {
        return refused.with_context("listening on " + url.to_string());
      }
    }
    auto listener = stream_->listen(loop, of_stream(url));
    if (!listener.ok() || policy == PathPolicy::kForbid) return listener;
    return std::unique_ptr<Listener>{
        std::make_unique<UcxListener>(*std::move(listener), url.scheme, paths(policy))};
  }

  Task<Result<std::unique_ptr<Connection>>> connect(Loop& loop, Url url, ConnectOptions options) override {
    if (!misuse_.ok()) co_return misuse_;
    const PathPolicy policy = url.scheme == kScheme ? PathPolicy::kRequire : options_.connecting;
    if (policy == PathPolicy::kRequire) {
      if (const Status refused = provider_->make_ready(); !refused.ok()) {
        co_return refused.with_context("connecting to " + url.to_string());
      }
    }
    if (policy != PathPolicy::kForbid) options.connection.paths = paths(policy);
    Task<Result<std::unique_ptr<Connection>>> connecting =
        stream_->connect(loop, of_stream(url), std::move(options));
    Result<std::unique_ptr<Connection>> connection = co_await std::move(connecting);
    if (!connection.ok() && url.scheme == kScheme)
      co_return connection.status().with_context(url.to_string());
    co_return connection;
  }

 private:
  const std::shared_ptr<const DataPaths>& paths(PathPolicy policy) const {
    return policy == PathPolicy::kRequire ? required_ : preferred_;
  }
  static Url of_stream(Url url) {
    if (url.scheme == kScheme) url.scheme = kStreamScheme;
    return url;
  }

  const std::unique_ptr<Transport> stream_;
  const UcxOptions options_;
  const Status misuse_;
  const std::shared_ptr<const Provider> provider_;
  std::shared_ptr<const DataPaths> required_;
  std::shared_ptr<const DataPaths> preferred_;
};

}  // namespace
}  // namespace ucx_path

std::unique_ptr<Transport> make_ucx_transport(std::unique_ptr<Transport> stream, const UcxOptions& options) {
  return std::make_unique<ucx_path::UcxTransport>(std::move(stream), options);
}

}  // namespace weft
