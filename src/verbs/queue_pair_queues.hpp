// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>

#include "verbs/atomic_words.hpp"
#include "verbs/posting.hpp"
#include "weft/detail/verbs/queue_pair.hpp"

namespace weft::verbs {

/// The half of a queue pair that sends, writes, reads and changes. Every work request is signalled, so the
/// device's queue has room for another one as soon as one has completed.
struct QueuePair::SendQueue final : detail::WorkQueue {
  SendQueue(QueuePair& of, std::size_t capacity)
      : WorkQueue(capacity), pair(of), words(new detail::AtomicWords(of.device_.domain())) {}
  ~SendQueue() { words->close(); }

  int post(detail::Operation& operation) noexcept override;
  void connection_failed() noexcept override { pair.failed_ = true; }

  QueuePair& pair;
  detail::AtomicWords* const words;
};

/// The half that receives; of no use with shared receives.
struct QueuePair::ReceiveQueue final : detail::WorkQueue {
  ReceiveQueue(QueuePair& of, std::size_t capacity) : WorkQueue(capacity), pair(of) {}

  int post(detail::Operation& operation) noexcept override {
    if (pair.failed_) return ESHUTDOWN;
    return detail::post_receive(operation, [&](ibv_recv_wr* request, ibv_recv_wr** refused) {
      return ibv_post_recv(pair.handle(), request, refused);
    });
  }

  void connection_failed() noexcept override { pair.failed_ = true; }

  QueuePair& pair;
};

}  // namespace weft::verbs
