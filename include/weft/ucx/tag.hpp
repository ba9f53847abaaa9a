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

template <auto kSend>
class TagSendAwaiter final : public OperationAwaiter<TagSendAwaiter<kSend>, void> {
  using Base = OperationAwaiter<TagSendAwaiter<kSend>, void>;

 public:
  static constexpr std::string_view kWhat = "a tag send";
  TagSendAwaiter(EndpointRef endpoint, std::uint64_t tag, const Memory& memory) noexcept
      : Base(endpoint.operations), handle_(endpoint.handle), tag_(tag), memory_(memory) {}

 private:
  friend Base;
  ucs_status_ptr_t issue(Operation& operation) const noexcept {
    ucp_request_param_t params = params_for(operation, memory_);
    params.cb.send = &Operation::sent;
    return kSend(handle_, memory_.data(), memory_.size(), tag_, &params);
  }
  void hand_over(Operation& operation) noexcept { keep(operation, memory_); }

  ucp_ep_h handle_;
  std::uint64_t tag_;
  Memory memory_;
};

class TagReceiveAwaiter final : public OperationAwaiter<TagReceiveAwaiter, TagReceived> {
 public:
  static constexpr std::string_view kWhat = "a tag receive";
  TagReceiveAwaiter(OperationPool& pool, std::uint64_t tag, std::uint64_t mask, const Memory& memory) noexcept
      : OperationAwaiter(&pool), worker_(pool.worker()), tag_(tag), mask_(mask), memory_(memory) {}

 private:
  friend OperationAwaiter;
  ucs_status_ptr_t issue(Operation& operation) const noexcept {
    ucp_request_param_t params = params_for(operation, memory_);
    params.op_attr_mask |= UCP_OP_ATTR_FIELD_RECV_INFO;
    params.cb.recv = &Operation::received_tag;
    params.recv_info.tag_info = &operation.outcome.tag;
    return ucp_tag_recv_nbx(worker_, memory_.data(), memory_.size(), tag_, mask_, &params);
  }
  void hand_over(Operation& operation) noexcept { keep(operation, memory_, /*revocable=*/true); }
  static TagReceived result(const Operation& operation) noexcept {
    return {.tag = operation.outcome.tag.sender_tag, .bytes = operation.outcome.tag.length};
  }

  ucp_worker_h worker_;
  std::uint64_t tag_;
  std::uint64_t mask_;
  Memory memory_;
};

class TagMessageAwaiter final : public OperationAwaiter<TagMessageAwaiter, TagReceived> {
 public:
  static constexpr std::string_view kWhat = "receiving a probed message";
  TagMessageAwaiter(OperationPool& pool, ucp_tag_message_h message, TagReceived info,
                    const Memory& memory) noexcept
      : OperationAwaiter(&pool), worker_(pool.worker()), message_(message), info_(info), memory_(memory) {}

 private:
  friend OperationAwaiter;
  // The message is UCX's from here on, so the record must not be refused.
  Operation* record(OperationPool& pool) const noexcept { return pool.peek_surely(); }
  ucs_status_ptr_t issue(Operation& operation) const noexcept {
    ucp_request_param_t params = params_for(operation, memory_);
    params.cb.recv = &Operation::received_tag;
    // UCX 1.13 leaves recv_info as it is here when it is done at once; the probe has said it all.
    operation.outcome.tag = {.sender_tag = info_.tag, .length = info_.bytes};
    return ucp_tag_msg_recv_nbx(worker_, memory_.data(), memory_.size(), message_, &params);
  }
  void hand_over(Operation& operation) noexcept { keep(operation, memory_); }
  static TagReceived result(const Operation& operation) noexcept {
    return {.tag = operation.outcome.tag.sender_tag, .bytes = operation.outcome.tag.length};
  }

  ucp_worker_h worker_;
  ucp_tag_message_h message_;
  TagReceived info_;
  Memory memory_;
};

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
  [[nodiscard]] detail::TagMessageAwaiter receive(const Memory& memory) && noexcept {
    return {worker_->operations(), std::exchange(handle_, nullptr), info_, memory};
  }
  void discard() noexcept;

 private:
  Worker* worker_;
  ucp_tag_message_h handle_;
  TagReceived info_;
};

/// Sends `memory` under `tag`. Returns Result<void> when the memory may be used again, which is not yet
/// when it was received. Cancel: the coroutine goes on, the message is sent all the same.
inline detail::TagSendAwaiter<&ucp_tag_send_nbx> tag_send(EndpointRef to, std::uint64_t tag,
                                                          const Memory& memory) noexcept {
  return {to, tag, memory};
}

/// The same, done when a receive at the other side has matched.
inline detail::TagSendAwaiter<&ucp_tag_send_sync_nbx> tag_send_sync(EndpointRef to, std::uint64_t tag,
                                                                    const Memory& memory) noexcept {
  return {to, tag, memory};
}

/// Receives into `memory` the first message whose tag equals `tag` in the bits of `mask`. Returns
/// Result<TagReceived>. Cancel: total, unless a message was matched before: then it is received. Dropped: a
/// message that matched is lost. Errors: kOutOfRange when the message is longer than `memory`.
inline detail::TagReceiveAwaiter tag_receive(Worker& worker, std::uint64_t tag, std::uint64_t mask,
                                             const Memory& memory) noexcept {
  return {worker.operations(), tag, mask, memory};
}

/// Whether a message that tag_receive() would match has arrived, and which; it stays in the queue.
std::optional<TagReceived> tag_peek(Worker& worker, std::uint64_t tag, std::uint64_t mask) noexcept;

/// The same, and takes it out of the queue, so that memory of its size can be found. None when there is no
/// such message now: it arrives in a turn of the loop.
std::optional<TagMessage> try_tag_probe(Worker& worker, std::uint64_t tag, std::uint64_t mask) noexcept;

}  // namespace weft::ucx
