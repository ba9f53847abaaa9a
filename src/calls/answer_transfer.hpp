// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "calls/id_table.hpp"
#include "calls/outgoing_transfers.hpp"
#include "weft/detail/base/unique_function.hpp"
#include "weft/detail/calls/id_table_node.hpp"
#include "weft/detail/calls/outgoing_transfer.hpp"
#include "weft/memory/buffer.hpp"

namespace weft::detail {

/// Attachment of an answer on its way, or only the wish to hear when everything before it has left. Its own
/// operation record: nobody else owns it, and it is gone when the connection is done with it.
///
///   made --queue_whole() or add()--> leaving --all of it left--> marked --all before it left--> gone
///     |                                |  stop(), or the connection is lost
///     '------------stop()--------------'----> nothing of it is lent any more ------------------> gone
class AnswerTransfer final : public OutgoingTransfer, public IdTableNode<AnswerTransfer> {
 public:
  /// `on_sent` may be empty; it is called once, with true when all has left for the peer.
  AnswerTransfer(Outbox& outbox, Buffer attachment, UniqueFunction<void(bool)> on_sent);

  /// It goes in pieces, and is found in `table`, which has room for it and outlives it, under its id until it
  /// ends.
  void enter(IdTable<AnswerTransfer>& table);
  /// Queues all of it, also when that is nothing but the wish. False when memory is out: it
  /// has stopped then.
  bool queue_whole();
  /// It is in no list, and no more of it is queued. It is gone at once, or when the connection has given back
  /// what it reads.
  void stop() noexcept;
  void on_dropped() noexcept override { stop(); }

 private:
  /// Stands in the queue behind all that leaves before it.
  struct Mark final : detail::SendLease {
    explicit Mark(AnswerTransfer& its) : transfer(its) {}
    void on_released(bool sent) noexcept override { transfer.end(sent); }
    AnswerTransfer& transfer;
  };

  ~AnswerTransfer();
  void on_returned(bool sent) noexcept override;
  void end(bool sent) noexcept;

  Outbox& outbox_;
  const Buffer attachment_;
  UniqueFunction<void(bool)> on_sent_;
  Mark mark_{*this};
  IdTable<AnswerTransfer>* table_ = nullptr;
  bool stopped_ = false;
};

}  // namespace weft::detail
