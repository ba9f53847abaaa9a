// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/detail/base/intrusive_list.hpp"
#include "weft/detail/calls/sending/outgoing_transfer.hpp"
#include "weft/detail/calls/terms/pace.hpp"
#include "weft/detail/runtime/timer.hpp"
#include "weft/detail/transport/connection.hpp"

namespace weft::detail {

/// Keeps the transfers of one connection to their rates: each has its own, and the connection has one for all
/// together. A transfer that has used up its rate rests until it is due; while the rate of the connection is
/// used up, all transfers wait. A timer runs only then. Created for the first transfer with a rate. Thread:
/// the connection's loop.
class TransferPacing final : private Timer {
 public:
  using Transfers = IntrusiveList<OutgoingTransfer, OutgoingTransferTag>;

  /// All outlive it. `source` gives `connection` the pieces of the `waiting` transfers; `rate_max` is the
  /// rate of all together, zero for none.
  TransferPacing(Loop& loop, Connection& connection, OutboxSource& source, Transfers& waiting,
                 std::uint64_t rate_max) noexcept
      : loop_(loop), connection_(connection), source_(source), waiting_(waiting), of_all_(rate_max) {}

  /// Returns the first waiting transfer that is due; transfers before it rest from now on. Null when none is
  /// due; `source` is then pulled again when one may be.
  OutgoingTransfer* next_due() noexcept;
  /// A piece of `transfer`, of `bytes`, goes.
  void take(OutgoingTransfer& transfer, std::size_t bytes) noexcept;
  bool has_resting() const noexcept { return !resting_.empty(); }
  /// One of them has left its list.
  void left() noexcept;
  /// None rests any more: all wait.
  void wake_all() noexcept { waiting_.splice_back(resting_); }

 private:
  void on_timer() override;
  void wake_at(TimePoint due) noexcept;

  Loop& loop_;
  Connection& connection_;
  OutboxSource& source_;
  Transfers& waiting_;
  Transfers resting_;
  Pace of_all_;
};

}  // namespace weft::detail
