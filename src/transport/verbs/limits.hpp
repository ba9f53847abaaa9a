// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/detail/base/time.hpp"

namespace weft::detail::verbs_carrier {

inline constexpr std::size_t kMessageBytesMin = 1024;
inline constexpr std::size_t kMessageBytesMax = 1024 * 1024;
/// Two that are kept, and two so that one message may travel while the other is taken.
inline constexpr std::size_t kCreditsMin = 4;
inline constexpr std::size_t kCreditsMax = 4096;
/// Minimum size for a lease. Every sent byte is copied into a message once, so a leased byte is not copied
/// earlier; below this size the extra queue entry costs more than the copy.
inline constexpr std::size_t kLeaseBytesMin = 1024;
/// Memory of a message that holds no bytes, where the device takes none inline.
inline constexpr std::size_t kControlBytes = 64;
inline constexpr std::size_t kControlBlockBytes = kControlBytes * 1024;
/// Inline messages hold no memory: a completion is requested for every 8th of them only, so that the device
/// reports fewer.
inline constexpr std::uint32_t kSignalEvery = 8;
/// Work requests that a carrier keeps free for control messages.
inline constexpr std::size_t kControlSends = 2;
/// Interval after which a sender that found no receive tries again, six times: 10 ms, in InfiniBand's code.
/// A peer that floods us without credit takes the receives of others for as long as our loop does not look,
/// and this is long enough for them.
inline constexpr std::uint8_t kReceiverNotReadyTimer = 20;
/// Fetching less costs more than copying it, on any device.
inline constexpr std::size_t kRendezvousBytesMin = 4 * 1024;
/// Attachments are offered in parts of 1 MiB, two outstanding: the completion of one shows progress while the
/// other transfers. Of smaller attachments more offers may be outstanding, with the same total size: that
/// limits the data that a peer may still have to read before it can answer.
inline constexpr std::size_t kOfferBytes = 1024 * 1024;
inline constexpr std::size_t kOfferedBytesMax = 2 * kOfferBytes;
inline constexpr std::size_t kOffersMax = 8;
/// Runs of memory in one offer, and their minimum length: a read takes about as long as copying 1 KiB at both
/// sides, and each run needs one more. A connection has at most two such offers of a list outstanding.
inline constexpr std::size_t kRunsOfferedMax = 32;
inline constexpr std::size_t kRunBytesMin = 2 * 1024;
/// Pieces of bytes that go in the message of the offer behind them: what heads and small frames are made of.
inline constexpr std::size_t kPiecesBeforeMax = 8;
/// Fetched bytes that may go unreported until the end of the turn. A sender with more unreported bytes may be
/// waiting for its memory.
inline constexpr std::size_t kFetchedWaitsMax = 256 * 1024;
/// Number of offers that a receiver keeps: offers withdrawn while they were read and not yet taken, and as
/// many new offers.
inline constexpr std::size_t kOffersKeptMax = 2 * kOffersMax;
/// Maximum number of read requests that a device executes at once. A quarter of the send queue stays reserved
/// for messages, so that messages can pass a long list.
inline constexpr std::size_t kReadsAtOnce = 16;
/// Runs of a landing that one read fills. Each run takes 16 bytes in every entry of a queue pair: 16 runs
/// make 5 KiB for each connection, and twice as many would save hardly a hundredth of the time.
inline constexpr std::size_t kReadSegmentsMax = 16;
/// Runs of a landing that a connection shows us at a time.
inline constexpr std::size_t kLandingRunsMax = 64;
/// Number of bytes of reads begun together after which one of them is reported, besides the last: so the next
/// ones begin while some are still under way.
inline constexpr std::size_t kReadBytesPerReport = 32 * 1024;
/// Limit of the back-off after declined offers: a sender whose offers were declined offers every second, then
/// every fourth, ... attachment for a while.
inline constexpr unsigned kDeclinesCountedMax = 6;
/// Total time for which the carriers of one loop wait for a device to return memory. The first carrier gets
/// half of it and is then given up. The allowance grows again slowly with time (see ReclaimTime).
inline constexpr Duration kReclaimInAll = std::chrono::milliseconds{100};
inline constexpr int kReclaimRest = 20;
/// Time that a peer has to answer when offers are withdrawn.
inline constexpr Duration kAnswerAtMost = kReclaimInAll / 2;
/// Interval at which unused memory is looked for.
inline constexpr Duration kTrimInterval = std::chrono::seconds{5};
/// Time for which a closing end waits for the device to report arrived messages.
inline constexpr Duration kCatchUpAtMost = std::chrono::milliseconds{50};
inline constexpr unsigned kIdleQuestions = 64;
/// Time for which a queue pair outlives its carrier at most, for the device to give back a receive that it
/// had taken for a message that came in half. Not all devices say when they have.
inline constexpr Duration kRetirement = std::chrono::milliseconds{100};
/// Time for which the system may look for the address and for the route that rdma_cm connects by.
inline constexpr Duration kResolveAtMost = std::chrono::seconds{2};
/// Requests that may wait for a loop to look at them; more are refused by the system.
inline constexpr int kCmBacklog = 256;
/// Events of rdma_cm that are taken before the loop's other work.
inline constexpr unsigned kCmEventsPerTurn = 64;

}  // namespace weft::detail::verbs_carrier
