// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/transport/transport.hpp"

namespace weft {

/// The transports a program uses, found by a URL's scheme. Filled by main before use, then only read.
class TransportSet {
 public:
  TransportSet& add(std::unique_ptr<Transport> transport) {
    transports_.push_back(std::move(transport));
    return *this;
  }

  /// Errors: kInvalidArgument when none handles the scheme.
  Result<Transport*> find(const Url& url) const;
  /// Transport::register_memory() for all of `urls`. Errors: the first one's; nothing is registered then.
  Result<MemoryLease> register_memory(std::span<const std::string> urls, MutableBytes memory) const;

 private:
  std::vector<std::unique_ptr<Transport>> transports_;
};

}  // namespace weft
