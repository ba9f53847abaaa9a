// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ucp/api/ucp.h>

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "weft/detail/base/result.hpp"
#include "weft/detail/coro/cancel.hpp"
#include "weft/detail/coro/waiter.hpp"
#include "weft/detail/ucx/memory.hpp"
#include "weft/detail/ucx/posted.hpp"
#include "weft/detail/ucx/tag.hpp"
#include "weft/detail/ucx/worker.hpp"

namespace weft::ucx {

/// A message that a probe took out of the queue. Received once, or discarded when it goes. Ends
/// before its worker. Thread: the worker's loop's.
class TagMessage {
 public:
  TagMessage(Worker& worker, ucp_tag_message_h handle, const ucp_tag_recv_info_t& info) noexcept
      : worker_(&worker), handle_(handle), info_{.tag = info.sender_tag, .bytes = info.length} {}
  TagMessage(TagMessage&& other) noexcept
      : worker_(other.worker_), handle_(std::exchange(other.handle_, nullptr)), info_(other.info_) {}
  TagMessage& operator=(TagMessage&& other) noexcept {
    TagMessage taken{std::move(other)};
    std::swap(worker_, taken.worker_);
    std::swap(handle_, taken.handle_);
    std::swap(info_, taken.info_);
    return *this;
  }
  ~TagMessage() { discard(); }

  std::uint64_t tag() const noexcept { return info_.tag; }
  std::size_t bytes() const noexcept { return info_.bytes; }
  /// Returns Result<TagReceived>. The message is used up. Cancel: terminal, the memory stays with UCX until
  /// it is done. Errors: kOutOfRange when `memory` is too small.
  [[nodiscard]] detail::Posted<detail::TagReceive> receive(const Memory& memory) && noexcept;
  void discard() noexcept;

 private:
  friend detail::TagProbeAwaiter;
  Worker* worker_;
  ucp_tag_message_h handle_;
  TagReceived info_;
};

/// Tells whether a message that tag_receive() would match has arrived, and which; it stays in the queue.
std::optional<TagReceived> tag_peek(Worker& worker, std::uint64_t tag, std::uint64_t mask) noexcept;

/// The same, and takes it out of the queue, so that memory of its size can be found. None when there is no
/// such message now.
std::optional<TagMessage> try_tag_probe(Worker& worker, std::uint64_t tag, std::uint64_t mask) noexcept;

namespace detail {

/// UCX has no callback for a message that no receive waits for: the worker lets every probe look again after
/// it has progressed.
class [[nodiscard]] TagProbeAwaiter final : private weft::detail::Waiter,
                                            public weft::detail::ListHook<FoundProbeTag> {
 public:
  using value_type = TagMessage;
  TagProbeAwaiter(Worker& worker, std::uint64_t tag, std::uint64_t mask) noexcept
      : worker_(worker), tag_(tag), mask_(mask) {}
  TagProbeAwaiter(TagProbeAwaiter&& other) noexcept
      : Waiter(static_cast<Waiter&&>(other)), worker_(other.worker_), tag_(other.tag_), mask_(other.mask_) {}
  ~TagProbeAwaiter() { leave(); }

  bool await_ready() noexcept { return false; }
  template <typename Promise>
  bool await_suspend(std::coroutine_handle<Promise> coroutine) noexcept {
    if (find()) return gives_way(coroutine);
    CancelScope* scope = weft::detail::cancel_scope_of(coroutine);
    if (refused_by(scope)) return gives_way(coroutine);
    if (worker_.operations().progress_until([this] { return find(); })) return gives_way(coroutine);
    enqueue(worker_.probes().waiting, coroutine, scope);
    return true;
  }
  Result<TagMessage> await_resume();

  /// Wakes the probes with a message that has arrived.
  static void look(TagProbes& probes) noexcept;
  /// The worker ends.
  static void close(TagProbes& probes) noexcept;

 private:
  bool find() noexcept;

  Worker& worker_;
  std::uint64_t tag_;
  std::uint64_t mask_;
  std::optional<TagMessage> found_;
};

}  // namespace detail

/// Waits for a message that tag_receive() would match, and takes it out of the queue. Returns
/// Result<TagMessage>. Of several probes that match one message the oldest gets it. Cancel: total; a message
/// that was found and not taken is lost. Errors: kCancelled when the worker ends.
inline detail::TagProbeAwaiter tag_probe(Worker& worker, std::uint64_t tag, std::uint64_t mask) noexcept {
  return {worker, tag, mask};
}

}  // namespace weft::ucx
