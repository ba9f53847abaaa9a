// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/detail/base/time.hpp"

namespace weft::detail::ucx_carrier {

/// Bounds of a side's window.
inline constexpr std::size_t kWindowBytesMin = 64 * 1024;
inline constexpr std::size_t kWindowBytesMax = 256 * 1024 * 1024;
/// Bytes of the window that each message takes beside its own, so that small ones are bounded too.
inline constexpr std::size_t kMessageCost = 64;
/// Attachments go in parts, so that taking memory back waits for one part and not for all.
inline constexpr std::size_t kPartBytes = 1024 * 1024;
/// Maximum number of landing runs per part: a part fills up to this many blocks of 4 KiB.
inline constexpr std::size_t kLandingRunsMax = 256;
/// Runs that are shorter on an average are not worth an entry of UCX's list for each.
inline constexpr std::size_t kLandingRunMin = 512;
/// Time for which UCX may have had that part before the carrier is given up for it, and for which it is
/// waited for in any case: a peer that lives has it in less.
inline constexpr Duration kReclaimAtMost = std::chrono::milliseconds{50};
inline constexpr Duration kReclaimAtLeast = std::chrono::microseconds{250};
/// Messages that may stay in UCX's own memory, which is a whole buffer for each; more are copied.
inline constexpr std::size_t kHeldMessagesMax = 64;
/// Lets a small call with its overhead fit an element of the shared memory's queue. Measured: 128 bytes
/// echoed take 1.4 us instead of 1.8. UCX assumes the same size at the peer, so it is part of the version of
/// the messages.
inline constexpr std::size_t kSharedMemoryElementBytes = 512;
/// Size of the parts in which lists of runs go over UCX's TCP. Measured: a 4 KiB block in a list takes half
/// as long as with UCX's own 8 KiB.
inline constexpr std::size_t kTcpSegmentBytes = 64 * 1024;
/// Number of messages of a worker that may be looked at in UCX's own memory at a time; more are copied.
inline constexpr std::size_t kLentMessagesMax = 256;
/// Number of parts that may be in the inbox: the one that lands, and the next, because its sender may be
/// notified first.
inline constexpr std::uint32_t kPartsMax = 2;
/// Number of asks that may wait in the inbox: each is followed by the bytes of a whole attachment.
inline constexpr std::uint32_t kAsksMax = 4096;
/// Distance by which a message may be ahead of the one that is due.
inline constexpr std::uint32_t kEarlyMax = 4096;
/// Number of consecutive polls without an event after which UCX counts as idle, for one carrier or in total.
inline constexpr unsigned kIdleQuestions = 64;

/// Interval at which a worker whose peer died is looked at whether it is stuck, and after how many looks in a
/// row it is.
inline constexpr Duration kWatchInterval = std::chrono::milliseconds{250};
inline constexpr unsigned kStuckAfter = 4;
/// Number of times that UCX is asked in one look.
inline constexpr unsigned kWatchQuestions = 64;

}  // namespace weft::detail::ucx_carrier
