// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/base/status.hpp"
#include "weft/calls/call_options.hpp"
#include "weft/detail/calls/arriving_answer.hpp"
#include "weft/detail/calls/outgoing_transfer.hpp"
#include "weft/detail/transport/frame_sink.hpp"
#include "weft/memory/buffer.hpp"

namespace weft::detail {

class Session;

/// State of a call that was given options, kept apart so that the others need not carry it: the options, the
/// attachment on its way out, and the one that came with the answer.
class CallDetails {
 public:
  CallDetails(const CallOptions& its, bool gives) : options(its), returns_attachment(gives) {}
  /// Before the call begins.
  CallDetails(const CallDetails& other) : CallDetails(other.options, other.returns_attachment) {}
  CallDetails& operator=(const CallDetails&) = delete;

  /// The attachment on its way to the peer.
  OutgoingTransfer& attachment() { return attachment_; }
  const OutgoingTransfer& attachment() const { return attachment_; }
  /// Attachment of the answer, when that comes in pieces.
  ArrivingAnswer& arriving() { return arriving_; }

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
  struct RequestTransfer final : OutgoingTransfer {};

  RequestTransfer attachment_;
  ArrivingAnswer arriving_;
  Status landing_refusal_;
};

}  // namespace weft::detail
