// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/base/status.hpp"
#include "weft/calls/call_options.hpp"
#include "weft/detail/transport/frame_sink.hpp"
#include "weft/detail/transport/outbox.hpp"
#include "weft/memory/buffer.hpp"

namespace weft::detail {

class Session;

/// State of a call that was given options, kept apart so that the others need not carry it: the options, the
/// attachment on its way out, and the one that came with the answer.
class CallDetails {
 public:
  CallDetails(const CallOptions& its, bool gives) : options(its), returns_attachment(gives) {}

  /// Queues the attachment behind its request. False when memory is out; what was queued stays leased.
  bool queue_attachment(Outbox& outbox);
  /// Copies what the outbox has not sent of the attachment, so that the caller's memory is no longer read.
  /// False when memory for the copy is out.
  bool take_over(Outbox& outbox);
  /// The connection still reads from the attachment.
  bool attachment_is_lent() const { return lease_.pieces != 0; }
  /// It comes first of all that is to be sent, so a device may be reading it.
  bool attachment_leads(const Outbox& outbox) const { return outbox.leads(lease_); }

  /// False when nobody asked for the attachment of the answer: it is read and dropped.
  bool wants_attachment() const { return returns_attachment || !options.landing.empty(); }
  /// Chooses the place of an attachment of `bytes`; where there is none, take_landing_refusal() says why.
  Landing land(std::size_t bytes, Session& session);
  /// Returns the reason for which the last attachment was not given a place, once.
  Status take_landing_refusal();

  CallOptions options;
  /// True if the awaiting side can be given the answer's attachment.
  bool returns_attachment;
  /// The answer's attachment: in the caller's buffer if one was named, else in this.
  std::size_t answer_attachment_bytes = 0;
  Buffer answer_attachment;

 private:
  /// Counts the pieces of the attachment that the connection still reads from.
  struct AttachmentLease final : SendLease {
    void on_released(bool) noexcept override { --pieces; }
    std::uint32_t pieces = 0;
  };

  AttachmentLease lease_;
  Status landing_refusal_;
};

}  // namespace weft::detail
