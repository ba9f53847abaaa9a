// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "weft/detail/calls/terms/answer_wishes.hpp"
#include "weft/detail/calls/terms/attachment.hpp"
#include "weft/detail/calls/terms/metadata.hpp"
#include "weft/detail/calls/terms/received_attachment.hpp"
#include "weft/detail/memory/buffer.hpp"
#include "weft/detail/transport/identity.hpp"

namespace weft::detail {

class IncomingTransfer;
class PeerTarget;
struct DropIncoming {
  void operator()(IncomingTransfer* transfer) const noexcept;
};
class ServedExchange;
struct DropExchange {
  void operator()(ServedExchange* exchange) const noexcept;
};
class GatePass;
struct DropPass {
  void operator()(GatePass* pass) const noexcept;
};

/// Metadata that a handler gives to its answer.
struct GivenMetadata {
  Metadata initial{};
  /// Size of the first part of `initial`, which was sent.
  std::size_t initial_sent = 0;
  Metadata trailing{};
  bool trailing_sent = false;
};

/// Attachments and options of a served call beside the bodies of request and answer. Thread: where the
/// handler runs, and then the loop.
struct CallEnvelope {
  struct Endpoints {
    std::string local;
    std::string remote;
    Identity identity{};
    std::shared_ptr<PeerTarget> peer{};
  };

  /// The request's attachment, until the handler takes it.
  Buffer attachment{};
  /// Replaces `attachment` for a call that ends at once.
  ReceivedAttachment received{};
  /// Sent after the answer.
  Attachment answer_attachment{};
  /// Null when the handler has none.
  std::unique_ptr<AnswerWishes> wishes{};
  /// Null when the handler gave none. Outlives `pass`, which shows them to interceptors.
  std::unique_ptr<GivenMetadata> metadata{};
  /// Endpoints for a handler that may ask for them off the loop. The URLs are empty if the connection was
  /// gone before the record was made.
  std::unique_ptr<const Endpoints> endpoints{};
  /// The request's attachment, for a handler that receives it itself, instead of `attachment`; null without
  /// one.
  std::unique_ptr<IncomingTransfer, DropIncoming> incoming{};
  /// Items of a stream for a handler on a worker's thread; else null.
  std::unique_ptr<ServedExchange, DropExchange> exchange{};
  /// Notifies interceptors and adaptive limits of the end of the call; null when it passed none.
  std::unique_ptr<GatePass, DropPass> pass{};
  /// Replaces the connection's tag after the connection is gone; created on first use.
  std::unique_ptr<std::shared_ptr<void>> orphan_tag{};
  /// Limit for the answer's attachment in bytes per second, as requested by the caller; zero: none. Accessed
  /// only by the loop.
  std::uint64_t answer_rate = 0;
  /// Close the connection after the answer. Set where the handler runs, read on the loop.
  std::atomic<bool> close_after_answer = false;
};

}  // namespace weft::detail
