// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "weft/detail/calls/answer_wishes.hpp"
#include "weft/detail/calls/attachment.hpp"
#include "weft/detail/calls/received_attachment.hpp"
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

/// Attachments and wishes that belong to a served call beside the bodies of request and answer. Thread: where
/// the handler runs, and then the loop.
struct CallEnvelope {
  struct Endpoints {
    std::string local;
    std::string remote;
    Identity identity{};
    std::shared_ptr<PeerTarget> peer{};
  };

  /// The request's attachment, until the handler takes it.
  Buffer attachment{};
  /// Replaces it for a call that ends at once.
  ReceivedAttachment received{};
  /// Goes out behind the answer.
  Attachment answer_attachment{};
  /// Null when the handler has none.
  std::unique_ptr<AnswerWishes> wishes{};
  /// Set for a handler that may ask for them off the loop. Without the URLs when the connection is gone and
  /// its peer was somebody.
  std::unique_ptr<const Endpoints> endpoints{};
  /// The request's attachment, in place of `attachment`, for a handler that receives it itself; null without
  /// one.
  std::unique_ptr<IncomingTransfer, DropIncoming> incoming{};
  /// Items of a stream for a handler on a worker's thread; else null.
  std::unique_ptr<ServedExchange, DropExchange> exchange{};
  /// Pass of a call that passed interceptors or an adaptive limit, which hear of its end; else null.
  std::unique_ptr<GatePass, DropPass> pass{};
  /// Stands in for the connection's tag when the connection is gone; made for the first who asks.
  std::unique_ptr<std::shared_ptr<void>> orphan_tag{};
  /// Bytes of the answer's attachment a second that the caller wants at most; zero: it says nothing. Read
  /// and written by the loop.
  std::uint64_t answer_rate = 0;
  /// The connection is to end behind the answer. Set where the handler runs, read on the loop.
  std::atomic<bool> close_after_answer = false;
};

}  // namespace weft::detail
