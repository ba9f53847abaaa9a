// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ucp/api/ucp.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include "weft/detail/ucx/endpoint.hpp"
#include "weft/detail/ucx/library.hpp"
#include "weft/detail/ucx/operation.hpp"
#include "weft/detail/ucx/posted.hpp"
#include "weft/detail/ucx/worker.hpp"

namespace weft::ucx {

/// Takes every bit of a tag into account.
inline constexpr std::uint64_t kWholeTag = std::numeric_limits<std::uint64_t>::max();

/// Result of a tag receive.
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
    return (library.*kSend)(to.handle, memory.data(), memory.size(), tag, &params);
  };
  return post<TagSend>(to.operations, call, [&](Operation& record) { keep(record, memory); });
}

}  // namespace detail

/// Sends `memory` under `tag`. Returns Result<void> when the memory may be used again, which is not yet
/// when it was received. Cancel: the coroutine goes on, the message is sent all the same.
[[gnu::always_inline]] inline detail::Posted<detail::TagSend> tag_send(EndpointRef to, std::uint64_t tag,
                                                                       const Memory& memory) noexcept {
  return detail::post_tag_send<&detail::Library::ucp_tag_send_nbx>(to, tag, memory);
}

/// The same, done when a receive at the other side has matched.
[[gnu::always_inline]] inline detail::Posted<detail::TagSend> tag_send_sync(EndpointRef to, std::uint64_t tag,
                                                                            const Memory& memory) noexcept {
  return detail::post_tag_send<&detail::Library::ucp_tag_send_sync_nbx>(to, tag, memory);
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
    return detail::library.ucp_tag_recv_nbx(worker.handle(), memory.data(), memory.size(), tag, mask,
                                            &params);
  };
  const auto keep = [&](Operation& record) { detail::keep(record, memory, /*revocable=*/true); };
  detail::OperationPool& pool = worker.operations();
  return detail::post_receive<detail::TagReceive>(pool.peek(), pool, call, keep);
}

}  // namespace weft::ucx
