// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weft/detail/calls/gate/client_interceptor.hpp"

namespace weft::detail {

/// Interceptors that the calls of a target pass before they are sent. Outlives them. Thread: the target's
/// loop.
class ClientGate {
 public:
  ClientGate(std::string target, const std::vector<std::shared_ptr<ClientInterceptor>>& interceptors)
      : target_(std::move(target)), interceptors_(interceptors) {
    std::erase(interceptors_, nullptr);
  }

  const std::string& target() const { return target_; }
  const std::vector<std::shared_ptr<ClientInterceptor>>& interceptors() const { return interceptors_; }

 private:
  const std::string target_;
  std::vector<std::shared_ptr<ClientInterceptor>> interceptors_;
};

/// Returns null when there is nothing to pass.
inline std::shared_ptr<const ClientGate> gate_to(
    const std::string& target, const std::vector<std::shared_ptr<ClientInterceptor>>& interceptors) {
  return interceptors.empty() ? nullptr : std::make_shared<const ClientGate>(target, interceptors);
}

}  // namespace weft::detail
