// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ucp/api/ucp.h>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "weft/detail/ucx/endpoint.hpp"
#include "weft/detail/ucx/library.hpp"
#include "weft/detail/ucx/operation.hpp"
#include "weft/detail/ucx/posted.hpp"

namespace weft::ucx {

/// Says when a stream receive is done.
enum class StreamWait : std::uint8_t {
  kSome,  ///< when bytes are there
  kAll,   ///< when the memory is full
};

namespace detail {

struct StreamSend {
  using Value = void;
  static constexpr std::string_view kWhat = "a stream send";
};

struct StreamReceive {
  using Value = std::size_t;
  static constexpr std::string_view kWhat = "a stream receive";
  static std::size_t result(const Operation& record) noexcept { return record.outcome.length; }
};

}  // namespace detail

/// Sends the bytes of `memory` after all bytes sent to this endpoint before. Returns Result<void> when the
/// memory may be reused. Cancel: the coroutine goes on, the bytes are still sent.
[[gnu::always_inline]] inline detail::Posted<detail::StreamSend> stream_send(EndpointRef to,
                                                                             const Memory& memory) noexcept {
  using detail::Operation;
  const auto call = [&](Operation& record) {
    ucp_request_param_t params = detail::params_for(record, memory);
    params.cb.send = &Operation::sent;
    return detail::library.ucp_stream_send_nbx(to.handle, memory.data(), memory.size(), &params);
  };
  return detail::post<detail::StreamSend>(to.operations, call,
                                          [&](Operation& record) { detail::keep(record, memory); });
}

/// Receives the next bytes that the peer sent. Returns Result<size_t>, how many. One at a time for an
/// endpoint. Cancel: terminal, the coroutine goes on while UCX keeps waiting for bytes, which are lost to the
/// stream; close the endpoint then.
[[gnu::always_inline]] inline detail::Posted<detail::StreamReceive> stream_receive(
    EndpointRef from, const Memory& memory, StreamWait wait = StreamWait::kSome) noexcept {
  using detail::Operation;
  const auto call = [&](Operation& record) {
    ucp_request_param_t params = detail::params_for(record, memory);
    params.cb.recv_stream = &Operation::received_bytes;
    if (wait == StreamWait::kAll) {
      params.op_attr_mask |= UCP_OP_ATTR_FIELD_FLAGS;
      params.flags = UCP_STREAM_RECV_FLAG_WAITALL;
    }
    return detail::library.ucp_stream_recv_nbx(from.handle, memory.data(), memory.size(),
                                               &record.outcome.length, &params);
  };
  return detail::post<detail::StreamReceive>(from.operations, call,
                                             [&](Operation& record) { detail::keep(record, memory); });
}

}  // namespace weft::ucx
