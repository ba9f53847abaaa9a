// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/base/intrusive_list.hpp"
#include "weft/detail/coro/executor.hpp"

namespace weft::detail {

struct StreamWaitTag;

/// A coroutine that waits on a stream which this side opened. A callback may destroy the stream meanwhile:
/// the wait then ends, and its awaiter leaves the stream alone. Thread: the stream's loop.
class StreamWait : public ListHook<StreamWaitTag> {
 public:
  /// `node` resumes the coroutine.
  void begin(Ready& node) noexcept { node_ = &node; }
  /// The stream is being destroyed: resumes the coroutine from `executor`.
  void lose_stream(Executor& executor) noexcept {
    lost_ = true;
    if (!node_->is_scheduled()) executor.schedule(*node_);
  }
  bool has_lost_stream() const noexcept { return lost_; }
  /// The coroutine goes on.
  void end() noexcept { unlink(); }

 private:
  Ready* node_ = nullptr;
  bool lost_ = false;
};

}  // namespace weft::detail
