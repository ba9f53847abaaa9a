// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

#include "transport/simulated/circuit.hpp"
#include "transport/simulated/network.hpp"
#include "weft/detail/transport/transport.hpp"

namespace weft::detail::simulated {

/// The network as the programs of one host see it.
class HostTransport final : public Transport {
 public:
  HostTransport(std::shared_ptr<Network> network, Host& host) : network_(std::move(network)), host_(host) {}

  bool handles(std::string_view scheme) const override { return scheme == "memory"; }
  /// Errors: kAlreadyExists if a listener has that name.
  Result<std::unique_ptr<Listener>> listen(Loop& loop, const Url& url) override;
  /// Errors: kUnavailable (ECONNREFUSED), after a round trip, if no listener has that name;
  /// kDeadlineExceeded.
  Task<Result<std::unique_ptr<Connection>>> connect(Loop& loop, Url url, ConnectOptions options) override;

 private:
  const std::shared_ptr<Network> network_;
  Host& host_;
};

}  // namespace weft::detail::simulated
