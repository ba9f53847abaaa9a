// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ucp/api/ucp.h>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "weft/ucx/endpoint.hpp"
#include "weft/ucx/operation.hpp"

namespace weft::ucx {

/// When a stream receive is done.
enum class StreamWait : std::uint8_t {
  kSome,  ///< when bytes are there
  kAll,   ///< when the memory is full
};

namespace detail {

class StreamSendAwaiter final : public OperationAwaiter<StreamSendAwaiter, void> {
 public:
  static constexpr std::string_view kWhat = "a stream send";
  StreamSendAwaiter(EndpointRef endpoint, const Memory& memory) noexcept
      : OperationAwaiter(endpoint.operations), handle_(endpoint.handle), memory_(memory) {}

 private:
  friend OperationAwaiter;
  ucs_status_ptr_t issue(Operation& operation) const noexcept {
    ucp_request_param_t params = params_for(operation, memory_);
    params.cb.send = &Operation::sent;
    return ucp_stream_send_nbx(handle_, memory_.data(), memory_.size(), &params);
  }
  void hand_over(Operation& operation) noexcept { keep(operation, memory_); }

  ucp_ep_h handle_;
  Memory memory_;
};

class StreamReceiveAwaiter final : public OperationAwaiter<StreamReceiveAwaiter, std::size_t> {
 public:
  static constexpr std::string_view kWhat = "a stream receive";
  StreamReceiveAwaiter(EndpointRef endpoint, const Memory& memory, StreamWait wait) noexcept
      : OperationAwaiter(endpoint.operations), handle_(endpoint.handle), memory_(memory), wait_(wait) {}

 private:
  friend OperationAwaiter;
  ucs_status_ptr_t issue(Operation& operation) const noexcept {
    ucp_request_param_t params = params_for(operation, memory_);
    params.cb.recv_stream = &Operation::received_bytes;
    if (wait_ == StreamWait::kAll) {
      params.op_attr_mask |= UCP_OP_ATTR_FIELD_FLAGS;
      params.flags = UCP_STREAM_RECV_FLAG_WAITALL;
    }
    return ucp_stream_recv_nbx(handle_, memory_.data(), memory_.size(), &operation.outcome.length, &params);
  }
  void hand_over(Operation& operation) noexcept { keep(operation, memory_); }
  static std::size_t result(const Operation& operation) noexcept { return operation.outcome.length; }

  ucp_ep_h handle_;
  Memory memory_;
  StreamWait wait_;
};

}  // namespace detail

/// Sends the bytes of `memory` after all that were sent to this endpoint before. Returns Result<void> when
/// the memory may be used again. Cancel: the coroutine goes on, the bytes are sent all the same.
inline detail::StreamSendAwaiter stream_send(EndpointRef to, const Memory& memory) noexcept {
  return {to, memory};
}

/// Receives the next bytes that the peer sent. Returns Result<size_t>, how many. One at a time for an
/// endpoint. Cancel: terminal, the coroutine goes on while UCX keeps waiting for bytes, which are lost to the
/// stream; close the endpoint then.
inline detail::StreamReceiveAwaiter stream_receive(EndpointRef from, const Memory& memory,
                                                   StreamWait wait = StreamWait::kSome) noexcept {
  return {from, memory, wait};
}

}  // namespace weft::ucx
