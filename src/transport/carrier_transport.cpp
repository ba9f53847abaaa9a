// SPDX-License-Identifier: Apache-2.0
#include "transport/carrier_transport.hpp"

#include <algorithm>
#include <utility>

namespace weft::detail {

namespace {

constexpr std::string_view kBaseScheme = "tcp";

/// `carriers`, and what others offered already.
std::shared_ptr<const CarrierChoices> with_others(const std::shared_ptr<const CarrierChoices>& carriers,
                                                  const std::shared_ptr<const CarrierChoices>& others) {
  if (others == nullptr) return carriers;
  auto all = std::make_shared<CarrierChoices>(*carriers);
  all->choices.insert(all->choices.end(), others->choices.begin(), others->choices.end());
  all->bring_up_timeout = std::max(carriers->bring_up_timeout, others->bring_up_timeout);
  return all;
}

class CarrierIncoming final : public Incoming {
 public:
  CarrierIncoming(std::unique_ptr<Incoming> base, std::shared_ptr<const CarrierChoices> carriers)
      : base_(std::move(base)), carriers_(std::move(carriers)) {}
  Result<std::unique_ptr<BaseCarrier>> adopt(Loop& loop, ConnectionOptions& options) override {
    options.carriers = with_others(carriers_, options.carriers);
    return base_->adopt(loop, options);
  }
  std::string remote_endpoint() const override { return base_->remote_endpoint(); }

 private:
  const std::unique_ptr<Incoming> base_;
  const std::shared_ptr<const CarrierChoices> carriers_;
};

class CarrierListener final : public Listener {
 public:
  CarrierListener(std::unique_ptr<Listener> base, std::string scheme,
                  std::shared_ptr<const CarrierChoices> carriers)
      : base_(std::move(base)), scheme_(std::move(scheme)), carriers_(std::move(carriers)) {}
  Url local_url() const override {
    Url url = base_->local_url();
    url.scheme = scheme_;
    return url;
  }
  void start(UniqueFunction<void(std::unique_ptr<Incoming>)> on_incoming) override {
    base_->start(
        [hand_on = std::move(on_incoming), carriers = carriers_](std::unique_ptr<Incoming> peer) mutable {
          hand_on(std::make_unique<CarrierIncoming>(std::move(peer), carriers));
        });
  }

 private:
  const std::unique_ptr<Listener> base_;
  const std::string scheme_;
  const std::shared_ptr<const CarrierChoices> carriers_;
};

class CarrierTransport final : public Transport {
 public:
  CarrierTransport(std::unique_ptr<Transport> base, CarrierTransportOptions options)
      : base_(std::move(base)), options_(std::move(options)) {
    const auto with = [&](CarrierPolicy policy, bool connecting) {
      return std::make_shared<const CarrierChoices>(
          CarrierChoices{{{options_.provider, policy}}, options_.bring_up_timeout, connecting});
    };
    connecting_ = {with(CarrierPolicy::kPrefer, true), with(CarrierPolicy::kRequire, true)};
    listening_ = {with(CarrierPolicy::kPrefer, false), with(CarrierPolicy::kRequire, false)};
  }

  bool handles(std::string_view scheme) const override {
    return scheme == options_.scheme || base_->handles(scheme);
  }

  Result<std::unique_ptr<Listener>> listen(Loop& loop, const Url& url) override {
    if (!options_.misuse.ok()) return options_.misuse;
    const bool own = url.scheme == options_.scheme;
    CarrierPolicy policy = policy_for(url, options_.listening);
    if (own && policy == CarrierPolicy::kForbid) policy = CarrierPolicy::kPrefer;
    if (const Status refused = try_out(policy, own); !refused.ok()) {
      return refused.with_context("listening on " + url.to_string());
    }
    auto listener = base_->listen(loop, of_base(url));
    if (!listener.ok() || policy == CarrierPolicy::kForbid) return listener;
    return std::unique_ptr<Listener>{
        std::make_unique<CarrierListener>(*std::move(listener), url.scheme, listening_.of(policy))};
  }

  Task<Result<std::unique_ptr<Connection>>> connect(Loop& loop, Url url, ConnectOptions options) override {
    if (!options_.misuse.ok()) co_return options_.misuse;
    const bool own = url.scheme == options_.scheme;
    const CarrierPolicy policy = own ? CarrierPolicy::kRequire : policy_for(url, options_.connecting);
    if (policy == CarrierPolicy::kRequire) {
      if (const Status refused = options_.provider->require(); !refused.ok()) {
        co_return refused.with_context("connecting to " + url.to_string());
      }
    }
    if (policy != CarrierPolicy::kForbid) {
      options.connection.carriers = with_others(connecting_.of(policy), options.connection.carriers);
    }
    Task<Result<std::unique_ptr<Connection>>> connecting =
        base_->connect(loop, of_base(url), std::move(options));
    Result<std::unique_ptr<Connection>> connection = co_await std::move(connecting);
    if (!connection.ok() && own) co_return connection.status().with_context(url.to_string());
    co_return connection;
  }

  Result<MemoryLease> register_memory(const Url& url, MutableBytes memory) override {
    if (!options_.misuse.ok()) return options_.misuse;
    auto lease = base_->register_memory(of_base(url), memory);
    const bool used = url.scheme == options_.scheme || options_.connecting != CarrierPolicy::kForbid ||
                      options_.listening != CarrierPolicy::kForbid;
    if (!lease.ok() || !used) return lease;
    auto of_carrier = options_.provider->register_memory(memory);
    if (!of_carrier.ok()) return of_carrier;
    lease->add(std::move(*of_carrier));
    return lease;
  }

 private:
  /// Choices of connections that begin alike.
  struct Carriers {
    std::shared_ptr<const CarrierChoices> preferred;
    std::shared_ptr<const CarrierChoices> required;
    const std::shared_ptr<const CarrierChoices>& of(CarrierPolicy policy) const {
      return policy == CarrierPolicy::kRequire ? required : preferred;
    }
  };

  CarrierPolicy policy_for(const Url& url, CarrierPolicy policy) const {
    const bool offered = options_.base_scheme.empty() || url.scheme == options_.base_scheme;
    return offered ? policy : CarrierPolicy::kForbid;
  }
  /// A URL with the carrier's own scheme requests it, even if the policy would make it optional for others.
  Status try_out(CarrierPolicy policy, bool own) const {
    if (policy == CarrierPolicy::kForbid) return {};
    Status refused = options_.provider->try_out();
    if (!refused.ok() || (policy != CarrierPolicy::kRequire && !own)) return refused;
    return options_.provider->require();
  }
  Url of_base(Url url) const {
    if (url.scheme == options_.scheme) url.scheme = kBaseScheme;
    return url;
  }

  const std::unique_ptr<Transport> base_;
  const CarrierTransportOptions options_;
  Carriers connecting_;
  Carriers listening_;
};

}  // namespace

std::unique_ptr<Transport> make_carrier_transport(std::unique_ptr<Transport> base,
                                                  CarrierTransportOptions options) {
  return std::make_unique<CarrierTransport>(std::move(base), std::move(options));
}

}  // namespace weft::detail
