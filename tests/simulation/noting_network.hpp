// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "simulation/world.hpp"

namespace weft::simulation {

/// A network in memory that notes the time of each attempt to connect, and refuses attempts on request.
class NotingNetwork final : public detail::Transport {
 public:
  bool handles(std::string_view scheme) const override { return network.handles(scheme); }
  Result<std::unique_ptr<detail::Listener>> listen(Loop& loop, const detail::Url& url) override {
    return network.listen(loop, url);
  }
  Task<Result<std::unique_ptr<detail::Connection>>> connect(Loop& loop, detail::Url url,
                                                            detail::ConnectOptions options) override {
    attempts.push_back(loop.now());
    if (refuses) return refuse();
    return network.connect(loop, std::move(url), std::move(options));
  }

  MemoryNetwork network;
  std::vector<TimePoint> attempts;
  bool refuses = false;

 private:
  static Task<Result<std::unique_ptr<detail::Connection>>> refuse() {
    co_return Status{StatusCode::kUnavailable, Layer::kTransport, "refused"};
  }
};

}  // namespace weft::simulation
