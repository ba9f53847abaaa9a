// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "calls/id_table.hpp"
#include "calls/outgoing_transfers.hpp"
#include "weft/detail/calls/answer_wishes.hpp"
#include "weft/detail/calls/attachment.hpp"
#include "weft/detail/calls/id_table_node.hpp"
#include "weft/detail/calls/left_marks.hpp"
#include "weft/detail/calls/outgoing_transfer.hpp"

namespace weft::detail {

/// Attachment of an answer on its way, or only the wish to hear when everything before it has left. Its own
/// operation record: nobody else owns it, and it is gone when the connection is done with it.
///
///   made --queue_whole() or add()--> leaving --all of it left, and its marks came out--> gone
///     |                                |  stop(), or the connection is lost
///     '------------stop()--------------'----> nothing of it is lent any more -----------> gone
class AnswerTransfer final : public OutgoingTransfer, public IdTableNode<AnswerTransfer> {
 public:
  /// `wishes` may be null; they are told the end, once. `loop` is the connection's.
  AnswerTransfer(Loop& loop, Outbox& outbox, Attachment attachment, std::unique_ptr<AnswerWishes> wishes);

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
  ~AnswerTransfer();
  void on_returned(bool sent) noexcept override;
  void end(bool sent) noexcept;

  Outbox& outbox_;
  const Attachment attachment_;
  std::unique_ptr<AnswerWishes> wishes_;
  LeftMarks marks_;
  IdTable<AnswerTransfer>* table_ = nullptr;
  bool stopped_ = false;
};

}  // namespace weft::detail
