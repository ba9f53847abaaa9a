// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <map>
#include <span>

#include "transport/ucx/arrival.hpp"
#include "transport/ucx/carrier_operation.hpp"
#include "transport/ucx/conversation.hpp"
#include "transport/ucx/part_landing.hpp"
#include "transport/ucx/sender.hpp"
#include "transport/ucx/shared_worker.hpp"
#include "weft/detail/coro/ring.hpp"
#include "weft/detail/transport/carrier.hpp"

namespace weft::detail::ucx_carrier {

/// Receiving half of a carrier: messages that have arrived and were not received yet, in order; messages that
/// arrived early; and the part that is landing. Validates each message before keeping any of it, and grants
/// room to the peer through the sender. Thread: the loop's.
class Inbox {
 public:
  /// `window_bytes` may be on their way to it.
  Inbox(Conversation& conversation, Sender& sender, std::size_t window_bytes) noexcept
      : conversation_(conversation), sender_(sender), window_bytes_(window_bytes), landing_(conversation) {}

  /// Takes messages from `worker`, which outlives it. Before the first one.
  void begin(SharedWorker& worker) noexcept { worker_ = &worker; }

  /// Takes a message, for the worker, inside progress. True: `data` stays ours.
  bool arrived(const MessageHeader& header, void* data, std::size_t bytes, std::uint64_t attributes) noexcept;
  /// receive() has something to say.
  bool readable() const noexcept { return !queue_.empty() || landing_.operation().is_done(); }
  /// Many messages wait, and each holds a buffer of UCX's: makes copies of them.
  void keep_own_copies() noexcept;

  Moved receive(std::span<const iovec> into, std::span<const iovec> landing);
  ChunkRef receive_in_place(bool& exhausted);
  /// Reports the result of the landing part to its waiter.
  Moved landed();
  /// UCX may write to memory of the owner's.
  bool lands_in_place() const noexcept {
    return landing_.active() && !queue_.empty() && landing_.in_place() > 0;
  }
  const CarrierOperation& landing() const noexcept { return landing_.operation(); }

  /// Releases everything except memory that UCX may be writing to.
  void forget() noexcept;
  /// The worker is gone, and UCX with it.
  void give_up() noexcept;

 private:
  /// A message that came before its turn.
  struct Early {
    MessageHeader header;
    Arrival arrival;
  };

  bool accept(const MessageHeader& header, std::size_t bytes, bool rendezvous) noexcept;
  bool misbehaved(const char* what) noexcept;
  bool no_memory() noexcept;
  bool take_in_order(const MessageHeader& header, const Arrival& arrival) noexcept;
  bool keep_early(const MessageHeader& header, const Arrival& arrival) noexcept;
  bool take_in(const MessageHeader& header, const Arrival& arrival) noexcept;
  void drop(Arrival& arrival) noexcept;
  bool copy_out(Arrival& arrival) noexcept;
  Moved take_bytes(std::span<const iovec> into);
  Moved take_part(std::span<const iovec> landing);
  void taken(const Arrival& arrival) noexcept;
  MessageProtocol& protocol() const noexcept { return conversation_.protocol(); }

  Conversation& conversation_;
  Sender& sender_;
  SharedWorker* worker_ = nullptr;
  const std::size_t window_bytes_;
  weft::detail::Ring<Arrival> queue_;
  std::map<std::uint32_t, Early> early_;
  /// Landing of the part at the front. Without a landing of the session, the part goes to memory of ours.
  PartLanding landing_;
  std::uint32_t asks_queued_ = 0;
  std::uint32_t parts_queued_ = 0;
  bool part_expected_ = false;
};

}  // namespace weft::detail::ucx_carrier
