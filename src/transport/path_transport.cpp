// SPDX-License-Identifier: Apache-2.0
#include "transport/path_transport.hpp"

#include <algorithm>
#include <utility>

namespace weft {

namespace {

constexpr std::string_view kStreamScheme = "tcp";

/// `paths`, and what others offered already.
std::shared_ptr<const DataPaths> with_others(const std::shared_ptr<const DataPaths>& paths,
                                             const std::shared_ptr<const DataPaths>& others) {
  if (others == nullptr) return paths;
  auto all = std::make_shared<DataPaths>(*paths);
  all->choices.insert(all->choices.end(), others->choices.begin(), others->choices.end());
  all->bring_up_timeout = std::max(paths->bring_up_timeout, others->bring_up_timeout);
  return all;
}

class PathIncoming final : public Incoming {
 public:
  PathIncoming(std::unique_ptr<Incoming> stream, std::shared_ptr<const DataPaths> paths)
      : stream_(std::move(stream)), paths_(std::move(paths)) {}
  Result<std::unique_ptr<Connection>> adopt(Loop& loop, const ConnectionOptions& options) override {
    ConnectionOptions with_paths = options;
    with_paths.paths = with_others(paths_, options.paths);
    return stream_->adopt(loop, with_paths);
  }
  std::string remote_endpoint() const override { return stream_->remote_endpoint(); }

 private:
  const std::unique_ptr<Incoming> stream_;
  const std::shared_ptr<const DataPaths> paths_;
};

class PathListener final : public Listener {
 public:
  PathListener(std::unique_ptr<Listener> stream, std::string scheme, std::shared_ptr<const DataPaths> paths)
      : stream_(std::move(stream)), scheme_(std::move(scheme)), paths_(std::move(paths)) {}
  Url local_url() const override {
    Url url = stream_->local_url();
    url.scheme = scheme_;
    return url;
  }
  void start(UniqueFunction<void(std::unique_ptr<Incoming>)> on_incoming) override {
    stream_->start(
        [hand_on = std::move(on_incoming), paths = paths_](std::unique_ptr<Incoming> peer) mutable {
          hand_on(std::make_unique<PathIncoming>(std::move(peer), paths));
        });
  }

 private:
  const std::unique_ptr<Listener> stream_;
  const std::string scheme_;
  const std::shared_ptr<const DataPaths> paths_;
};

class PathTransport final : public Transport {
 public:
  PathTransport(std::unique_ptr<Transport> stream, PathTransportParts parts)
      : stream_(std::move(stream)), parts_(std::move(parts)) {
    const auto with = [&](PathPolicy policy, bool connecting) {
      return std::make_shared<const DataPaths>(
          DataPaths{{{parts_.provider, policy}}, parts_.bring_up_timeout, connecting});
    };
    connecting_ = {with(PathPolicy::kPrefer, true), with(PathPolicy::kRequire, true)};
    listening_ = {with(PathPolicy::kPrefer, false), with(PathPolicy::kRequire, false)};
  }

  bool handles(std::string_view scheme) const override {
    return scheme == parts_.scheme || stream_->handles(scheme);
  }

  Result<std::unique_ptr<Listener>> listen(Loop& loop, const Url& url) override {
    if (!parts_.misuse.ok()) return parts_.misuse;
    const bool own = url.scheme == parts_.scheme;
    const PathPolicy policy =
        own && parts_.listening == PathPolicy::kForbid ? PathPolicy::kPrefer : parts_.listening;
    if (const Status refused = try_out(policy, own); !refused.ok()) {
      return refused.with_context("listening on " + url.to_string());
    }
    auto listener = stream_->listen(loop, of_stream(url));
    if (!listener.ok() || policy == PathPolicy::kForbid) return listener;
    return std::unique_ptr<Listener>{
        std::make_unique<PathListener>(*std::move(listener), url.scheme, listening_.of(policy))};
  }

  Task<Result<std::unique_ptr<Connection>>> connect(Loop& loop, Url url, ConnectOptions options) override {
    if (!parts_.misuse.ok()) co_return parts_.misuse;
    const bool own = url.scheme == parts_.scheme;
    const PathPolicy policy = own ? PathPolicy::kRequire : parts_.connecting;
    if (policy == PathPolicy::kRequire) {
      if (const Status refused = parts_.provider->require(); !refused.ok()) {
        co_return refused.with_context("connecting to " + url.to_string());
      }
    }
    if (policy != PathPolicy::kForbid) {
      options.connection.paths = with_others(connecting_.of(policy), options.connection.paths);
    }
    Task<Result<std::unique_ptr<Connection>>> connecting =
        stream_->connect(loop, of_stream(url), std::move(options));
    Result<std::unique_ptr<Connection>> connection = co_await std::move(connecting);
    if (!connection.ok() && own) co_return connection.status().with_context(url.to_string());
    co_return connection;
  }

  Result<MemoryLease> register_memory(const Url& url, MutableBytes memory) override {
    if (!parts_.misuse.ok()) return parts_.misuse;
    auto lease = stream_->register_memory(of_stream(url), memory);
    const bool used = url.scheme == parts_.scheme || parts_.connecting != PathPolicy::kForbid ||
                      parts_.listening != PathPolicy::kForbid;
    if (!lease.ok() || !used) return lease;
    auto of_path = parts_.provider->register_memory(memory);
    if (!of_path.ok()) return of_path;
    lease->add(std::move(*of_path));
    return lease;
  }

 private:
  /// Of connections that begin alike.
  struct Paths {
    std::shared_ptr<const DataPaths> preferred;
    std::shared_ptr<const DataPaths> required;
    const std::shared_ptr<const DataPaths>& of(PathPolicy policy) const {
      return policy == PathPolicy::kRequire ? required : preferred;
    }
  };

  /// A URL of the path's own asks for it, however the policy serves those who come without.
  Status try_out(PathPolicy policy, bool own) const {
    if (policy == PathPolicy::kForbid) return {};
    Status refused = parts_.provider->try_out();
    if (!refused.ok() || (policy != PathPolicy::kRequire && !own)) return refused;
    return parts_.provider->require();
  }
  Url of_stream(Url url) const {
    if (url.scheme == parts_.scheme) url.scheme = kStreamScheme;
    return url;
  }

  const std::unique_ptr<Transport> stream_;
  const PathTransportParts parts_;
  Paths connecting_;
  Paths listening_;
};

}  // namespace

std::unique_ptr<Transport> make_path_transport(std::unique_ptr<Transport> stream, PathTransportParts parts) {
  return std::make_unique<PathTransport>(std::move(stream), std::move(parts));
}

}  // namespace weft
