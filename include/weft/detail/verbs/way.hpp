// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <infiniband/verbs.h>

#include <memory>
#include <utility>

#include "weft/detail/base/status.hpp"
#include "weft/detail/verbs/device.hpp"

namespace weft::verbs {

/// The way to a peer, which the kernel has to know before a queue pair on Ethernet can be connected.
/// Independent of the queue pair. Thread: any.
class Way {
 public:
  Way(std::shared_ptr<ProtectionDomain> domain, const ibv_ah_attr& attributes) noexcept
      : domain_(std::move(domain)), attributes_(attributes) {}

  /// Has the kernel resolve the route. Blocks until an answer arrives, or for a second. Errors: kUnavailable
  /// without an answer. connect() reports every other failure.
  Status look_for();

 private:
  std::shared_ptr<ProtectionDomain> domain_;
  ibv_ah_attr attributes_;
};

}  // namespace weft::verbs
