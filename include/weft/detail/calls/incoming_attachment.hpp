// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <coroutine>
#include <cstddef>
#include <utility>

#include "weft/detail/base/result.hpp"
#include "weft/detail/calls/landing_view.hpp"
#include "weft/detail/coro/cancel.hpp"
#include "weft/detail/coro/executor.hpp"
#include "weft/detail/memory/buffer.hpp"

namespace weft {

class TransferProgress;

namespace detail {
class IncomingTransfer;
class ServedCall;
}  // namespace detail

/// Attachment of a request that its handler has not received yet: the handler reads its arguments and size(),
/// and chooses the memory, or refuses by returning a failure. A coroutine asks for it by a parameter
/// `IncomingAttachment&` before those that travel (behind `CallContext&`, if it has one):
///
///     weft::Task<weft::Result<void>> put(weft::IncomingAttachment& data, std::uint64_t block) {
///       Slot* slot = pool.slot_for(block, data.size());
///       if (slot == nullptr) co_return weft::user_error(1, "no room");  // nothing was sent for nothing
///       co_return co_await data.into(slot->memory);
///     }
///
/// A large attachment, which travels in pieces, stays with the caller until the handler asks for it, if the
/// caller sees the same parameter; then a refusal costs no byte of it. It goes to the chosen memory without a
/// copy where its transport can. A smaller attachment follows its request at once, and a handler that chooses
/// before it suspends gets it without a copy as well. Valid until the handler has ended. Thread: the
/// connection's loop.
class IncomingAttachment {
 public:
  explicit IncomingAttachment(detail::ServedCall& call);
  IncomingAttachment(const IncomingAttachment&) = delete;
  IncomingAttachment& operator=(const IncomingAttachment&) = delete;

  /// Returns its length in bytes; 0: the request brought none.
  std::size_t size() const noexcept;
  /// Returns how many bytes of it are there.
  std::size_t received() const noexcept;

  class Into;
  class Received;

  /// Receives the attachment into the beginning of `memory`, which belongs to the handler and may be
  /// registered (Server::register_memory): `Result<void> whole = co_await data.into(memory)`. The memory is
  /// not accessed any more when this has ended, however it ends. A request without an attachment has nothing
  /// to receive, and this succeeds. Once; into() or receive(), also when that failed or was cancelled. A
  /// refusal before the start, such as for memory that is too small, does not count. `progress`, which may be
  /// null, counts in received() the arrived bytes: this many bytes of `memory`, from its beginning, are the
  /// sent ones. It stays until this has ended, and counts for nothing else meanwhile. It calls back for the
  /// whole before this ends, and not after that. Cancel: ends with kCancelled when the memory is no longer
  /// written: at once, or for memory that a device fills within 250 ms. Errors: kResourceExhausted when the
  /// memory is too small; kInvalidArgument when its blocks are impossible, this was received already, or
  /// `progress` counts for another call; kUnavailable without progress for the server's frame_timeout, or
  /// when the connection is gone.
  Into into(LandingView memory, TransferProgress* progress = nullptr) noexcept;
  /// Receives it into memory of the server's, which counts in its process_memory_max until the Buffer ends:
  /// `Result<Buffer> data = co_await attachment.receive()`. Errors, cancel and `progress` as with into(), and
  /// kResourceExhausted.
  Received receive(TransferProgress* progress = nullptr) noexcept;

 private:
  detail::IncomingTransfer* transfer_;
};

/// Awaitable of IncomingAttachment::into(). Movable before it is awaited.
class [[nodiscard("an attachment is received when this is awaited")]] IncomingAttachment::Into {
 public:
  Into(Into&& other) noexcept
      : transfer_(other.transfer_), memory_(other.memory_), progress_(other.progress_), own_(other.own_) {}
  Into& operator=(Into&&) = delete;
  ~Into();

  bool await_ready() const noexcept { return false; }
  template <typename Promise>
  bool await_suspend(std::coroutine_handle<Promise> coroutine) noexcept {
    resumption_.handle = coroutine;
    return begin(detail::cancel_scope_of(coroutine));
  }
  Result<void> await_resume() noexcept { return take_outcome(); }

 private:
  friend class IncomingAttachment;
  friend class Received;
  Into(detail::IncomingTransfer* transfer, LandingView memory, TransferProgress* progress, bool own) noexcept
      : transfer_(transfer), memory_(memory), progress_(progress), own_(own) {}

  bool begin(CancelScope* scope) noexcept;
  Status misuse() const noexcept;
  void end() noexcept;
  Status take_outcome() noexcept;
  Result<Buffer> take_buffer() noexcept;

  detail::IncomingTransfer* transfer_;
  LandingView memory_;
  /// Null when there is none, and when the wait was refused.
  TransferProgress* progress_;
  /// It goes to memory of the server's.
  bool own_;
  bool waits_ = false;
  Status misuse_;
  detail::Resumption resumption_;
};

/// Awaitable of IncomingAttachment::receive(). Movable before it is awaited.
class [[nodiscard("an attachment is received when this is awaited")]] IncomingAttachment::Received {
 public:
  bool await_ready() const noexcept { return false; }
  template <typename Promise>
  bool await_suspend(std::coroutine_handle<Promise> coroutine) noexcept {
    return into_.await_suspend(coroutine);
  }
  Result<Buffer> await_resume() noexcept { return into_.take_buffer(); }

 private:
  friend class IncomingAttachment;
  explicit Received(Into into) noexcept : into_(std::move(into)) {}

  Into into_;
};

}  // namespace weft
