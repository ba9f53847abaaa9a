// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "calls/terms/getting_on.hpp"
#include "calls/terms/refusals.hpp"
#include "weft/detail/base/intrusive_list.hpp"
#include "weft/detail/base/status.hpp"
#include "weft/detail/base/time.hpp"
#include "weft/detail/calls/terms/id_table_node.hpp"
#include "weft/detail/runtime/timer.hpp"
#include "weft/detail/transport/frame_sink.hpp"
#include "weft/detail/wire/heads.hpp"

namespace weft::detail {

class ArrivingCalls;
struct ArrivingAttachmentTag;

/// Attachment of a request while it arrives: how much has arrived, and whether it makes progress, independent
/// of its destination. An entry of ArrivingCalls, linked while more of it is expected; ArrivingCalls calls
/// the virtual functions. At most one of the functions for its end is called, after it has left the table,
/// and that may destroy it; none is called after ArrivingCalls::remove(). Thread: the connection's loop.
class ArrivingAttachment : public IdTableNode<ArrivingAttachment>,
                           public ListHook<ArrivingAttachmentTag>,
                           private Timer {
 public:
  /// `calls` is notified when one of its time limits has passed.
  ArrivingAttachment(ArrivingCalls& calls, std::uint64_t id, std::size_t bytes, Deadline deadline,
                     std::size_t received = 0) noexcept
      : calls_(calls), id_(id), bytes_(bytes), deadline_(deadline), received_(received) {}
  ArrivingAttachment(const ArrivingAttachment&) = delete;
  ArrivingAttachment& operator=(const ArrivingAttachment&) = delete;

  /// Returns the id of its request.
  std::uint64_t id() const noexcept { return id_; }
  std::size_t bytes() const noexcept { return bytes_; }
  Deadline deadline() const noexcept { return deadline_; }
  Timer& timer() noexcept { return *this; }

  /// Number of bytes that have arrived in complete pieces.
  std::size_t received() const noexcept { return received_; }
  /// It is the piece that comes next.
  bool expects(wire::PieceView piece) const noexcept { return piece.fits(received_, bytes_); }
  void landed(std::size_t bytes) noexcept {
    received_ += bytes;
    on_landed(bytes);
  }
  bool is_whole() const noexcept { return received_ == bytes_; }
  GettingOn& getting_on() noexcept { return getting_on_; }

  /// The attachment is no longer wanted. It stays until no device writes to its memory, but no longer than
  /// `latest`.
  void give_up(TimePoint latest) noexcept { given_up_until_ = latest; }
  bool is_given_up() const noexcept { return given_up_until_ != TimePoint{}; }
  TimePoint given_up_until() const noexcept { return given_up_until_; }

  /// Bytes of the server's memory that it may use; zero if it goes to a handler's own memory.
  virtual std::size_t announced() const noexcept = 0;
  /// The place of the next `bytes`.
  virtual Landing place(std::size_t bytes) noexcept = 0;
  /// Charges its first `arrived` bytes; or returns the refusal.
  virtual std::optional<Refusal> charge(std::size_t arrived) noexcept = 0;
  /// The `bytes` of the last place() have arrived.
  virtual void on_landed(std::size_t bytes) noexcept { static_cast<void>(bytes); }
  virtual void on_whole() = 0;
  /// The caller wants the attachment of the answer at no more than this rate.
  virtual void want_answer_rate(std::uint64_t bytes_per_second) noexcept {
    static_cast<void>(bytes_per_second);
  }
  /// There was no room for more of it.
  virtual void on_refused(const Refusal& refusal) = 0;
  /// It came too late, or not at all.
  virtual void on_failed(const Status& failure) = 0;
  /// Nothing writes to its memory any more, after give_up().
  virtual void on_given_up() = 0;
  /// The connection is gone.
  virtual void on_lost() noexcept = 0;

 protected:
  ~ArrivingAttachment() = default;

 private:
  void on_timer() override;

  ArrivingCalls& calls_;
  const std::uint64_t id_;
  const std::size_t bytes_;
  const Deadline deadline_;
  TimePoint given_up_until_{};
  std::size_t received_;
  GettingOn getting_on_;
};

}  // namespace weft::detail
