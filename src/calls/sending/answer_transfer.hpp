// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "calls/sending/outgoing_transfers.hpp"
#include "calls/terms/id_table.hpp"
#include "weft/detail/calls/sending/outgoing_transfer.hpp"
#include "weft/detail/calls/terms/answer_wishes.hpp"
#include "weft/detail/calls/terms/attachment.hpp"
#include "weft/detail/calls/terms/id_table_node.hpp"
#include "weft/detail/calls/terms/left_marks.hpp"

namespace weft::detail {

/// Attachment of an answer that is being sent, or only the callback for when everything before it was sent.
/// An operation record that owns itself: it is destroyed when the connection no longer uses it.
///
///   made --queue_whole() or add()--> leaving --all of it was sent, and its markers came out--> gone
///     |                                |  stop(), or the connection is lost
///     '------------stop()--------------'----> nothing of it is lent any more ---------------> gone
class AnswerTransfer final : public OutgoingTransfer, public IdTableNode<AnswerTransfer> {
 public:
  /// `wishes` may be null; otherwise notified once, at the end. `loop` is the connection's.
  AnswerTransfer(Loop& loop, Outbox& outbox, Attachment attachment, std::unique_ptr<AnswerWishes> wishes);

  /// It goes in pieces, and is found in `table`, which has room for it and outlives it, under its id until it
  /// ends.
  void enter(IdTable<AnswerTransfer>& table);
  /// Queues the whole attachment, or only the callback if there is none. Returns false when memory is
  /// exhausted: it has stopped then.
  bool queue_whole();
  /// Removes it from its list, and queues no more of it. It is destroyed at once, or when the connection has
  /// returned the memory that it reads.
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
