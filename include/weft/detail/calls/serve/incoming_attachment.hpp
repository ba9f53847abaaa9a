// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <coroutine>
#include <cstddef>
#include <utility>

#include "weft/detail/base/result.hpp"
#include "weft/detail/calls/terms/landing_view.hpp"
#include "weft/detail/coro/cancel.hpp"
#include "weft/detail/coro/executor.hpp"
#include "weft/detail/memory/buffer.hpp"

namespace weft {

class TransferProgress;

namespace detail {
class IncomingTransfer;
class ServedCall;
}  // namespace detail

/// Attachment of a request that its handler has not received yet. The handler reads its arguments and size(),
/// and then chooses the memory, or refuses by returning a failure. A coroutine asks for it with a parameter
/// `IncomingAttachment&` before the encoded ones (after `CallContext&`, if there is one):
///
///     weft::Task<weft::Result<void>> put(weft::IncomingAttachment& data, std::uint64_t block) {
///       Slot* slot = pool.slot_for(block, data.size());
///       if (slot == nullptr) co_return weft::user_error(1, "no room");  // no byte of data was sent
///       co_return co_await data.into(slot->memory);
///     }
///
/// A large attachment, which is sent in pieces, stays with the caller until the handler asks for it, if the
/// caller's declaration has the same parameter; a refusal then costs no byte of it. It is received into the
/// chosen memory without a copy if the transport supports that. A smaller attachment follows its request at
/// once, and a handler that chooses the memory before it first suspends gets it without a copy too. Valid
/// until the handler has ended. Thread: the connection's loop.
class IncomingAttachment {
 public:
  explicit IncomingAttachment(detail::ServedCall& call);
  IncomingAttachment(const IncomingAttachment&) = delete;
  IncomingAttachment& operator=(const IncomingAttachment&) = delete;

  /// Returns the length in bytes; 0 if the request has no attachment.
  std::size_t size() const noexcept;
  /// Returns the number of bytes received so far.
  std::size_t received() const noexcept;

  class Into;
  class Received;

  /// Receives the attachment into the beginning of `memory`, which belongs to the handler and may be
  /// registered (Server::register_memory): `Result<void> whole = co_await data.into(memory)`. The memory is
  /// not accessed after this has completed, with any result. Succeeds at once if the request has no
  /// attachment. Only one call of into() or receive() is allowed, even if that call failed or was cancelled;
  /// a refusal before the start, such as for memory that is too small, does not count.
  ///
  /// `progress` may be null. Its received() counts arrived bytes: that many bytes from the beginning of
  /// `memory` are valid. It must outlive this operation and not be used for another one meanwhile. It calls
  /// back for the whole attachment before this completes, and never afterwards.
  ///
  /// Cancel: ends with kCancelled when the memory is no longer written to: at once, or within 250 ms for
  /// memory that a device fills. Errors: kResourceExhausted when the memory is too small; kInvalidArgument
  /// when its blocks are invalid, the attachment was received already, or `progress` is used by another call;
  /// kUnavailable after the server's frame_timeout without progress, or when the connection is gone.
  Into into(LandingView memory, TransferProgress* progress = nullptr) noexcept;
  /// Receives the attachment into memory of the server, which counts in process_memory_max until the Buffer
  /// is destroyed: `Result<Buffer> data = co_await attachment.receive()`. Errors, cancel and `progress` as
  /// for into(), and kResourceExhausted.
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
    return begin(detail::cancel_scope_of(coroutine)) || detail::gives_way(resumption_, coroutine);
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
  /// Null without one, or when the wait was refused.
  TransferProgress* progress_;
  /// Receive into memory of the server.
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
