// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "weft/detail/base/status.hpp"
#include "weft/detail/coro/executor.hpp"

namespace weft::detail {

class ExchangeTable;
class SessionLink;

/// Calls of one loop which one turn ends because of their connections: about 100 us.
inline constexpr std::size_t kCallsEndedAtOnce = 512;

/// Ends the exchanges from one position of the byte stream on, while the connection stays up: the peer will
/// not answer them. A part of them ends in each turn. Exchanges that remain when this is destroyed are not
/// notified. The status of a goaway is kept when the peer also ends its side.
///
/// Thread: its loop's.
class StandingEnd final : private Ready {
 public:
  /// Ends the exchanges of `table` with `why`, except those for which `before` (may be null) has a status
  /// already. `link`, of the session with the table, must outlive this.
  StandingEnd(SessionLink& link, ExchangeTable& table, std::uint64_t position, Status why,
              std::unique_ptr<StandingEnd>&& before) noexcept;

  /// Ends the first or the next part, and schedules the rest.
  void end_part() noexcept;
  /// Lets the first part end in another turn.
  void put_off() noexcept;
  /// Something was put off.
  bool is_under_way() const noexcept { return is_scheduled(); }
  /// Returns the status of an exchange that begins at `position`, null if it is not one of them.
  const Status* of(std::uint64_t position) const noexcept;

 private:
  static void run(Ready* node) noexcept;

  SessionLink& link_;
  ExchangeTable& table_;
  const std::uint64_t position_;
  const Status why_;
  const std::unique_ptr<StandingEnd> before_;
  std::uint32_t slot_ = 0;
};

}  // namespace weft::detail
