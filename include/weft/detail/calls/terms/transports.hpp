// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "weft/detail/transport/transport.hpp"

namespace weft {

/// The transports that clients and servers use, found by a URL's scheme. Copies refer to the same transports,
/// and each client and server keeps a copy, so their lifetime needs no attention. Clients that share
/// transports also share their workers, devices and memory.
/// Thread: add() before they are shared, the rest from any.
class Transports {
 public:
  Transports& add(std::unique_ptr<detail::Transport> transport) {
    all_->push_back(std::move(transport));
    return *this;
  }

  /// Returns the first transport that handles the URL's scheme. Errors: kInvalidArgument when there is none.
  Result<detail::Transport*> find(const detail::Url& url) const;
  /// Transport::register_memory() for all of `urls`. Errors: the first one's; nothing is registered then.
  Result<MemoryLease> register_memory(std::span<const std::string> urls, MutableBytes memory) const;

 private:
  std::shared_ptr<std::vector<std::unique_ptr<detail::Transport>>> all_ =
      std::make_shared<std::vector<std::unique_ptr<detail::Transport>>>();
};

}  // namespace weft
