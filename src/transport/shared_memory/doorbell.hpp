// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/base/descriptor.hpp"
#include "weft/detail/base/result.hpp"
#include "weft/detail/base/status.hpp"

namespace weft::detail::shared_memory {

/// A descriptor by which the other side wakes this side's loop: an eventfd that starts with a huge count. The
/// other side rings by reading one of it, which makes the descriptor report that it is writable; this side
/// only watches it, and neither reads nor writes it.
///
/// Both sides share the flags and the count of an eventfd. A peer that clears O_NONBLOCK and fills the count
/// could make a write wait without end, and with it this side's loop; a read with RWF_NOWAIT never waits. A
/// peer that empties the count, or rings without end, hurts its own connection.
///
/// Errors: kResourceExhausted with errno.
Result<Descriptor> make_doorbell();

/// Checks that a descriptor which the other side passed can be rung without waiting for anyone. Errors:
/// kInvalidArgument.
Status check_doorbell(const Descriptor& doorbell);

/// Wakes the side that made `doorbell`; nothing happens if that side made the doorbell unusable. Never waits.
/// One system call.
void ring(const Descriptor& doorbell) noexcept;

}  // namespace weft::detail::shared_memory
