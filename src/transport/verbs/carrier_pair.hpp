// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "transport/verbs/loop_device.hpp"
#include "transport/verbs/send_queue.hpp"
#include "weft/detail/verbs/queue_pair.hpp"

namespace weft::detail::verbs_carrier {

/// The queue pair of one carrier, and whom it leads to.
///
///   empty --make()--> made, known to the LoopDevice --connect()--> connected --retire(), or end()--> empty
///                       '--end()--> empty
///
/// Thread: its loop's.
class CarrierPair {
 public:
  explicit CarrierPair(LoopDevice& loop_device) noexcept : loop_device_(loop_device) {}
  CarrierPair(const CarrierPair&) = delete;
  CarrierPair& operator=(const CarrierPair&) = delete;

  /// Creates the queue pair on the LoopDevice's port, or on `port` if it is not 0. `carrier` receives its
  /// completions. Errors: resources that the device does not grant. Throws std::bad_alloc.
  Status make(std::uint8_t port, VerbsCarrier& carrier);
  bool empty() const noexcept { return pair_ == nullptr; }
  verbs::QueuePair& queue_pair() const noexcept { return *pair_; }
  const CarrierName& name() const noexcept { return name_; }

  /// Connects to a peer that said its address.
  Status connect(const verbs::AddressInfo& peer);
  /// Returns the way to it, which connect() needs.
  verbs::Way way_to(const verbs::AddressInfo& peer) const;
  /// Connects as rdma_cm says.
  Status connect_by(const verbs::Transition& to_receive, const verbs::Transition& to_send);

  /// Returns the device and the way, for people.
  std::string description() const;
  /// Returns our queue pair and the peer's, for people.
  std::string who() const;

  /// Puts it into error and leaves it to the LoopDevice, with the loop's memory that `sends` has under way
  /// and a receive of `promised`. False when it has to end at once.
  bool retire(SendQueue& sends, PromisedReceives& promised) noexcept;
  /// Destroys it, if it is here still, after which the device touches nothing.
  void end() noexcept;

 private:
  verbs::ConnectOptions connect_options() const;

  LoopDevice& loop_device_;
  std::unique_ptr<verbs::QueuePair> pair_;
  CarrierName name_;
  verbs::AddressInfo peer_;
  bool by_cm_ = false;
};

}  // namespace weft::detail::verbs_carrier
