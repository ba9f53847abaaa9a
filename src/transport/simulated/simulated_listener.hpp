// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <memory>

#include "transport/simulated/circuit.hpp"
#include "transport/simulated/network.hpp"
#include "weft/detail/runtime/timer.hpp"
#include "weft/detail/transport/transport.hpp"

namespace weft::detail::simulated {

/// Accepts the connections of one name. It closes when its host crashes, and then accepts nothing more.
class SimulatedListener final : public Listener, private Timer {
 public:
  SimulatedListener(std::shared_ptr<Network> network, Place& place, Url url);
  ~SimulatedListener() override { close(); }

  Url local_url() const override { return url_; }
  void start(UniqueFunction<void(std::unique_ptr<Incoming>)> on_incoming) override;

  bool is_full() const { return waiting_.size() >= network_->options().backlog_max; }
  /// Queues the server's end of `circuit`.
  void offer(std::shared_ptr<Circuit> circuit);
  /// Its host goes on after it was stopped.
  void resume() { accept_soon(); }
  /// Refuses further connections.
  void close();

 private:
  void on_timer() override;
  void accept_soon();

  const std::shared_ptr<Network> network_;
  Place* place_;  // null: closed
  const Url url_;
  std::deque<std::unique_ptr<Incoming>> waiting_;
  UniqueFunction<void(std::unique_ptr<Incoming>)> on_incoming_;
};

}  // namespace weft::detail::simulated
