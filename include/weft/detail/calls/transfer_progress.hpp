// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "weft/detail/base/unique_function.hpp"
#include "weft/detail/calls/left_marks.hpp"
#include "weft/detail/coro/executor.hpp"

namespace weft {

class Loop;

/// Progress of the attachments of one call. It is the user's own object: a call is given it by
/// CallOptions::progress, and counts both ways; one that a handler gives to IncomingAttachment::into() counts
/// what has come of the request's attachment; one that it gives to CallContext::report_progress() counts what
/// leaves of the answer's. The counts only grow while the call lasts, by whole pieces of what travels in
/// pieces and all at once otherwise; they stay as they are when it has ended, however it ended. Thread: the
/// loop of the call.
class TransferProgress final : private detail::Ready {
 public:
  TransferProgress() noexcept;

  /// Bytes that have left this side, of how many.
  std::uint64_t sent() const noexcept { return sent_; }
  std::uint64_t to_send() const noexcept { return to_send_; }
  /// Bytes of the attachment that comes, an answer's or to a handler a request's, that are here, of how many.
  /// The whole of an answer's is zero until the answer says it.
  std::uint64_t received() const noexcept { return received_; }
  std::uint64_t to_receive() const noexcept { return to_receive_; }

  /// Calls back from the loop when the counts have grown by `step` bytes together since it did so last, or
  /// one of them is whole. It does so once a turn at most, with what they are by then. It may do what any
  /// code on the loop may, but must not throw, nor destroy this object.
  void on_change(detail::UniqueFunction<void(const TransferProgress&)> callback, std::uint64_t step = 0);

  // From here on: for the library.

  /// A call with so many bytes to send begins.
  void begin(std::uint64_t to_send) noexcept;
  /// A handler receives so many bytes, on `loop`, and counts with it: no other may until it is released.
  void begin_receiving(std::uint64_t to_receive, Loop& loop) noexcept;
  /// A call that is under way counts with it: no other may.
  bool is_taken() const noexcept { return taken_; }
  void set_taken(bool taken) noexcept { taken_ = taken; }
  /// It goes on, on `loop`.
  void run_on(Loop& loop) noexcept { loop_ = &loop; }
  detail::LeftMarks& marks() noexcept { return marks_; }
  void count_sent(std::uint64_t bytes) noexcept;
  /// All that was to be sent has left.
  void all_sent() noexcept { count_sent(to_send_ - sent_); }
  /// An answer with so many bytes has come.
  void expect(std::uint64_t to_receive) noexcept { to_receive_ = to_receive; }
  void count_received(std::uint64_t bytes) noexcept;
  void all_received() noexcept { count_received(to_receive_ - received_); }
  /// Calls back now if that is due.
  void tell() noexcept;
  /// Calls back no more for what was counted so far.
  void stay_silent() noexcept { unlink(); }

 private:
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
  detail::UniqueFunction<void(const TransferProgress&)> callback_;
  detail::LeftMarks marks_;
};

}  // namespace weft
