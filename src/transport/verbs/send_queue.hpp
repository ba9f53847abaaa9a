// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "transport/message_protocol.hpp"
#include "transport/verbs/carrier_turn.hpp"
#include "transport/verbs/rendezvous_queue.hpp"
#include "transport/verbs/send_memory.hpp"
#include "weft/detail/transport/verbs.hpp"
#include "weft/verbs.hpp"

namespace weft::detail::verbs_carrier {

/// The work requests that one carrier has given to the device, and their memory.
///
///   post(), begin_reads() --> under way, numbered from 0 on --completed--> done: its memory is given back
///
///   number:   ... done | completed_ ... under way ... | posted_ ...
///
/// Not each one is signalled: the completion of one says that all before it are done. Thread: its loop's.
class SendQueue final : private verbs::CompletionHandler {
 public:
  /// `protocol` stamps the messages. A refusal, and a completion with an error, fail `turn`.
  SendQueue(verbs::CompletionQueue& completions, SendMemory& memory, MessageProtocol& protocol,
            CarrierTurn& turn, const VerbsOptions& options);
  SendQueue(const SendQueue&) = delete;
  SendQueue& operator=(const SendQueue&) = delete;
  ~SendQueue();

  /// Called before anything is given to it. The queue pair ends after retire() or before end().
  void use(verbs::QueuePair& pair) noexcept { pair_ = &pair; }
  /// Notifies `owner` of the end of each read.
  void report_reads_to(ReadOwner& owner) noexcept { reads_ = &owner; }

  std::size_t under_way() const noexcept { return posted_ - completed_; }
  /// There is a place for a message with bytes. Messages without have two more.
  bool has_place() const noexcept { return under_way() < options_.sends_max; }
  bool has_place_for_control() const noexcept;
  /// Reads leave a few places to messages.
  std::size_t places_for_reads() const noexcept;

  /// Gives a message with the first `bytes` of `from` to the device. False when there is no memory for it
  /// now, or the device refused it, which has failed the turn.
  bool post(MessageProtocol::Control message, std::span<const iovec> from, std::size_t bytes) noexcept;
  /// Begins to read, as RendezvousQueue says.
  std::size_t begin_reads(std::span<const ReadRequest> reads) noexcept;

  /// Appends the loop's memory that is under way to `sent`, which has room for it: it is not this queue's any
  /// more.
  void retire(std::vector<SentMemory>& sent) noexcept;
  /// Releases all outstanding requests after the queue pair was destroyed. No completion follows.
  void end() noexcept;

 private:
  void on_completion(std::uint32_t sequence, const ibv_wc& completion) noexcept override;
  void on_queue_failed() noexcept override;
  bool give_to_device(ibv_send_wr& request, ibv_sge segment) noexcept;
  void completed_up_to(std::uint32_t end) noexcept;
  bool signal_due() const noexcept;
  SentMemory& entry(std::uint32_t number) noexcept { return sent_[number % sent_.size()]; }

  verbs::CompletionQueue& completions_;
  SendMemory& memory_;
  MessageProtocol& protocol_;
  CarrierTurn& turn_;
  const VerbsOptions& options_;
  verbs::QueuePair* pair_ = nullptr;
  ReadOwner* reads_ = nullptr;
  std::uint32_t posted_ = 0;
  std::uint32_t completed_ = 0;
  /// The last ones, in a row.
  std::uint32_t unsignalled_ = 0;
  /// Memory of those under way, by their numbers; the size is a power of two.
  std::vector<SentMemory> sent_;
  /// Place in the completion queue's list of handlers, until end().
  std::uint32_t place_;
  bool ended_ = false;
};

}  // namespace weft::detail::verbs_carrier
