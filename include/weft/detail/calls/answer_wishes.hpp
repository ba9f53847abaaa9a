// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "weft/detail/base/unique_function.hpp"

namespace weft {
class TransferProgress;
}  // namespace weft

namespace weft::detail {

/// Wishes of a handler for the way of its answer. Thread: where the handler runs, and then the loop.
struct AnswerWishes {
  /// Called once, with true when all has left for the peer.
  UniqueFunction<void(bool)> on_sent;
  /// Counts what leaves of the attachment; may be null.
  std::shared_ptr<TransferProgress> progress;
  /// Bytes of the attachment a second, at most; zero: no limit.
  std::uint64_t rate = 0;

  /// Its way is marked for somebody.
  bool are_to_be_told() const noexcept { return progress != nullptr || static_cast<bool>(on_sent); }

  /// The way of the answer is over.
  void end(bool sent);
};

}  // namespace weft::detail
