// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ucp/api/ucp.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "weft/ucx/endpoint.hpp"
#include "weft/ucx/operation.hpp"
#include "weft/ucx/posted.hpp"
#include "weft/ucx/worker.hpp"

namespace weft::ucx {

/// Takes every bit of a tag into account.
inline constexpr std::uint64_t kWholeTag = std::numeric_limits<std::uint64_t>::max();

/// What a tag receive got.
struct TagReceived {
  std::uint64_t tag = 0;
  std::size_t bytes = 0;
};

namespace detail {

struct TagSend {
  using Value = void;
  static constexpr std::string_view kWhat = "a tag send";
};

struct TagReceive {
  using Value = TagReceived;
  static constexpr std::string_view kWhat = "a tag receive";
  static TagReceived result(const Operation& record) noexcept {
    return {.tag = record.outcome.tag.sender_tag, .bytes = record.outcome.tag.length};
  }
};

/// `kSend` is ucp_tag_send_nbx or ucp_tag_send_sync_nbx.
template <auto kSend>
[[gnu::always_inline]] inline Posted<TagSend> post_tag_send(EndpointRef to, std::uint64_t tag,
                                                            const Memory& memory) noexcept {
  const auto call = [&](Operation& record) {
    ucp_request_param_t params = params_for(record, memory);
    params.cb.send = &Operation::sent;
    return kSend(to.handle, memory.data(), memory.size(), tag, &params);
  };
  return post<TagSend>(to.operations, call, [&](Operation& record) { keep(record, memory); });
}

}  // namespace detail

/// A message that try_tag_probe() took out of the queue. Received once, or discarded when it goes. Ends
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
  Worker* worker_;
  ucp_tag_message_h handle_;
  TagReceived info_;
};

/// Sends `memory` under `tag`. Returns Result<void> when the memory may be used again, which is not yet
/// when it was received. Cancel: the coroutine goes on, the message is sent all the same.
[[gnu::always_inline]] inline detail::Posted<detail::TagSend> tag_send(EndpointRef to, std::uint64_t tag,
                                                                       const Memory& memory) noexcept {
  return detail::post_tag_send<&ucp_tag_send_nbx>(to, tag, memory);
}

/// The same, done when a receive at the other side has matched.
[[gnu::always_inline]] inline detail::Posted<detail::TagSend> tag_send_sync(EndpointRef to, std::uint64_t tag,
                                                                            const Memory& memory) noexcept {
  return detail::post_tag_send<&ucp_tag_send_sync_nbx>(to, tag, memory);
}

/// Receives into `memory` the first message whose tag equals `tag` in the bits of `mask`. Returns
/// Result<TagReceived>. Cancel: total, unless a message was matched before: then it is received. Dropped: a
/// message that matched is lost. Errors: kOutOfRange when the message is longer than `memory`.
[[gnu::always_inline]] inline detail::Posted<detail::TagReceive> tag_receive(Worker& worker,
                                                                             std::uint64_t tag,
                                                                             std::uint64_t mask,
                                                                             const Memory& memory) noexcept {
  using detail::Operation;
  const auto call = [&](Operation& record) {
    ucp_request_param_t params = detail::params_for(record, memory);
    // UCX 1.13 tells tag and length by the completion alone.
    params.op_attr_mask |= UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
    params.cb.recv = &Operation::received_tag;
    return ucp_tag_recv_nbx(worker.handle(), memory.data(), memory.size(), tag, mask, &params);
  };
  const auto keep = [&](Operation& record) { detail::keep(record, memory, /*revocable=*/true); };
  return detail::post_called_back<detail::TagReceive>(worker.operations(), call, keep);
}

/// Whether a message that tag_receive() would match has arrived, and which; it stays in the queue.
std::optional<TagReceived> tag_peek(Worker& worker, std::uint64_t tag, std::uint64_t mask) noexcept;

/// The same, and takes it out of the queue, so that memory of its size can be found. None when there is no
/// such message now: it arrives in a turn of the loop.
std::optional<TagMessage> try_tag_probe(Worker& worker, std::uint64_t tag, std::uint64_t mask) noexcept;

}  // namespace weft::ucx
