// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/base/time.hpp"

namespace weft::verbs_path {

inline constexpr std::size_t kMessageBytesMin = 1024;
inline constexpr std::size_t kMessageBytesMax = 1024 * 1024;
/// Fewer could not carry data and the news of credit at the same time.
inline constexpr std::size_t kCreditsMin = 3;
inline constexpr std::size_t kCreditsMax = 4096;
/// The last credit is for saying that there is new credit: without it both sides could wait for each other.
inline constexpr std::uint32_t kCreditKept = 1;
/// All that is sent is copied into the message once, so bytes that stay where they are until then are not
/// copied before; below this the entry of their own costs more.
inline constexpr std::size_t kLeaseBytesMin = 1024;
/// Memory of a message that holds no bytes, where the device takes none inline.
inline constexpr std::size_t kControlBytes = 64;
/// What holds no memory is signalled once in so many messages at most, so that the device reports fewer
/// completions.
inline constexpr std::uint32_t kSignalEvery = 8;
/// Work requests that a path keeps free for control messages.
inline constexpr std::size_t kControlSends = 2;
/// Whoever floods us without credit takes the receives of others for as long as our loop does not look: they
/// try again six times after 10 ms (the InfiniBand code), which is long enough.
inline constexpr std::uint8_t kReceiverNotReadyTimer = 20;
/// How long an end waits for the device to say what has arrived.
inline constexpr Duration kCatchUpAtMost = std::chrono::milliseconds{50};
inline constexpr unsigned kIdleQuestions = 64;

}  // namespace weft::verbs_path
