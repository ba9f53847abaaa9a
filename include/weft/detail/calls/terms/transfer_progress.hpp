// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "weft/detail/base/unique_function.hpp"
#include "weft/detail/calls/terms/left_marks.hpp"
#include "weft/detail/coro/executor.hpp"

namespace weft {

class Loop;

/// Progress of the attachments of one call, owned by the user. Set as CallOptions::progress it counts both
/// directions of a call; passed by a handler to IncomingAttachment::into() it counts arrived bytes of the
/// request's attachment; passed to CallContext::report_progress() it counts sent bytes of the answer's. The
/// counts only grow while the call lasts, by whole pieces for attachments in pieces and all at once
/// otherwise; they stay when the call has ended, however it ended. Thread: the loop of the call.
class TransferProgress final : private detail::Ready {
 public:
  TransferProgress() noexcept;
  ~TransferProgress() {
    if (telling_ != nullptr) telling_->is_gone = true;
  }

  /// Bytes that have left this side, of how many.
  std::uint64_t sent() const noexcept { return sent_; }
  std::uint64_t to_send() const noexcept { return to_send_; }
  /// Bytes of the attachment that comes, an answer's or to a handler a request's, that are here, of how many.
  /// The whole of an answer's is zero until the answer says it.
  std::uint64_t received() const noexcept { return received_; }
  std::uint64_t to_receive() const noexcept { return to_receive_; }

  /// Calls back from the loop when the sum of the counts has grown by `step` bytes since the last callback,
  /// or when one of them is complete. At most once per turn, with the counts at that moment. The callback may
  /// do anything that code on the loop may do, also set another callback, or end the call and destroy this
  /// object; but it must not throw.
  void on_change(detail::UniqueFunction<void(const TransferProgress&)> callback, std::uint64_t step = 0);

  // From here on: for the library.

  /// Begins a call with `to_send` bytes to send.
  void begin(std::uint64_t to_send) noexcept;
  /// Begins the reception of `to_receive` bytes by a handler, on `loop`: no other call may use this object
  /// until it is released.
  void begin_receiving(std::uint64_t to_receive, Loop& loop) noexcept;
  /// A call that is under way counts with it: no other may.
  bool is_taken() const noexcept { return taken_; }
  void set_taken(bool taken) noexcept { taken_ = taken; }
  /// It goes on, on `loop`.
  void run_on(Loop& loop) noexcept { loop_ = &loop; }
  detail::LeftMarks& marks() noexcept { return marks_; }
  void count_sent(std::uint64_t bytes) noexcept;
  /// Records that every byte has left.
  void all_sent() noexcept { count_sent(to_send_ - sent_); }
  /// Records that an answer with `to_receive` bytes has arrived.
  void expect(std::uint64_t to_receive) noexcept { to_receive_ = to_receive; }
  void count_received(std::uint64_t bytes) noexcept;
  void all_received() noexcept { count_received(to_receive_ - received_); }
  /// Calls back now if that is due.
  void tell() noexcept;
  /// Cancels the callback for the counts so far.
  void stay_silent() noexcept { unlink(); }

 private:
  /// A callback that runs.
  struct Telling {
    bool is_gone = false;
    bool has_another = false;
  };

  void changed(bool whole) noexcept;

  std::uint64_t sent_ = 0;
  std::uint64_t to_send_ = 0;
  std::uint64_t received_ = 0;
  std::uint64_t to_receive_ = 0;
  std::uint64_t step_ = 0;
  /// Both counts when it called back last.
  std::uint64_t told_ = 0;
  Loop* loop_ = nullptr;
  bool taken_ = false;
  Telling* telling_ = nullptr;
  detail::UniqueFunction<void(const TransferProgress&)> callback_;
  detail::LeftMarks marks_;
};

}  // namespace weft
