// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/base/time.hpp"
#include "weft/detail/calls/terms/attachment_view.hpp"
#include "weft/detail/calls/terms/landing_view.hpp"
#include "weft/detail/calls/terms/metadata.hpp"

namespace weft {

class AnswerMetadata;
class TransferProgress;

/// Options of one call. Trivially copyable on purpose: g++ 12 destroys a braced temporary inside a co_await
/// expression twice, which is harmless only for such a type (docs/pitfalls).
struct CallOptions {
  /// Time that the call may take, from its beginning; zero: ClientOptions::call_timeout. The earliest of
  /// this, `deadline` and the deadline that the calling coroutine carries counts. kNoTimeout: only these two.
  /// Negative, such as the rest of an expired time: the call fails at once.
  Duration timeout = Duration::zero();
  Deadline deadline{};
  /// Sent behind the request, leased until the call has ended.
  AttachmentView attachment{};
  /// Memory in which the attachment of the answer lands, in one run or several; it fails the call when the
  /// answer brings more than fits. Leased until the call has ended.
  LandingView landing{};
  /// Travels beside the arguments, and stays as it is until the call has ended. A call that a coroutine
  /// awaits while it serves another one carries that one's when it is given none; with an empty Metadata it
  /// carries none.
  MetadataView metadata{};
  /// Progress of the attachments of the call; null: none. Must stay until the call has ended, and belongs to
  /// one call at a time.
  TransferProgress* progress = nullptr;
  /// Filled with the metadata of the answer, or of the failure, when the call ends; initial metadata of a
  /// stream when they arrive. Null: they are dropped. It must stay until the call has ended, and belongs to
  /// one call at a time. A call that is made again has those of its last attempt.
  AnswerMetadata* answer_metadata = nullptr;
  /// Limit for `attachment` in bytes per second; zero: no limit. An attachment no longer than a piece (128
  /// KiB; 1 MiB over UCX and RDMA) is not held back. The call fails for a rate so low that the server would
  /// consider the attachment stalled (RpcLimits::frame_timeout).
  std::uint64_t attachment_rate = 0;
  /// Maximum rate of the answer's attachment in bytes per second; zero: as fast as the handler allows. The
  /// server keeps to it as to a handler's own rate (CallContext::set_attachment_rate()): it raises a rate at
  /// which the attachment would make no progress for its frame_timeout, and does not slow down an attachment
  /// of a single piece. A server of an earlier build sends as fast as it can.
  std::uint64_t landing_rate = 0;
  /// Running the call twice does what running it once does: a ConnectionPool may begin it again although it
  /// may have run. The same as calling `idempotent<f>`. A client of one connection repeats no call.
  bool idempotent = false;
};

}  // namespace weft
