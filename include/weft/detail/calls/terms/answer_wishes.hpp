// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "weft/detail/base/unique_function.hpp"

namespace weft {
class TransferProgress;
}  // namespace weft

namespace weft::detail {

/// Callbacks and limits of a handler for sending its answer. Thread: where the handler runs, and then the
/// loop.
struct AnswerWishes {
  /// Called once, with true if the whole answer was sent to the peer.
  UniqueFunction<void(bool)> on_sent;
  /// Counts the sent bytes of the attachment; may be null.
  std::shared_ptr<TransferProgress> progress;
  /// Limit for the attachment in bytes per second; zero: no limit.
  std::uint64_t rate = 0;

  /// Returns true if someone wants to know about progress or completion of sending.
  bool are_to_be_told() const noexcept { return progress != nullptr || static_cast<bool>(on_sent); }

  /// Reports that the answer was sent, or dropped.
  void end(bool sent);
};

}  // namespace weft::detail
