// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ucp/api/ucp.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "weft/base/bytes.hpp"
#include "weft/base/result.hpp"
#include "weft/ucx/endpoint.hpp"
#include "weft/ucx/memory.hpp"
#include "weft/ucx/operation.hpp"

namespace weft::ucx {

/// How an active message travels.
enum class AmProtocol : std::uint8_t {
  kAuto,        ///< as UCX finds best for its size
  kEager,       ///< with its data at once; the receiver finds it in UCX's buffer
  kRendezvous,  ///< the receiver is told first and says where the data goes
};

struct AmSendOptions {
  AmProtocol protocol = AmProtocol::kAuto;
  /// Lets the receiver answer by AmMessage::reply_endpoint().
  bool reply_endpoint = false;
};

/// Several pieces of memory that one message is made of, in their order. Thread: one loop's.
class MemoryVector {
 public:
  static constexpr std::size_t kPiecesMax = 16;
  MemoryVector() = default;
  MemoryVector(std::initializer_list<Memory> pieces);

  /// At most kPiecesMax, all of them with an owner.
  void add(Memory piece);
  std::size_t pieces() const noexcept { return pieces_; }
  std::size_t bytes() const noexcept { return bytes_; }
  /// What UCX is given: its list of the pieces, in memory that keeps them.
  const Memory& list() const noexcept { return list_; }

 private:
  struct Pieces;
  Pieces& owner() noexcept;

  Memory list_;
  std::size_t pieces_ = 0;
  std::size_t bytes_ = 0;
};

namespace detail {

inline std::uint32_t am_flags(const AmSendOptions& options) noexcept {
  std::uint32_t flags = options.reply_endpoint ? UCP_AM_SEND_FLAG_REPLY : 0;
  if (options.protocol == AmProtocol::kEager) flags |= UCP_AM_SEND_FLAG_EAGER;
  if (options.protocol == AmProtocol::kRendezvous) flags |= UCP_AM_SEND_FLAG_RNDV;
  return flags;
}

inline constexpr ucp_datatype_t kContiguous = ucp_datatype_t{1} << UCP_DATATYPE_SHIFT;

/// The header as it is given: bytes that are copied into the record, or memory that the record keeps.
struct CopiedHeader {
  CopiedHeader(Bytes given) noexcept : bytes(given) {}
  Bytes bytes;
  bool acceptable() const noexcept { return bytes.size() <= kHeaderCopiedMax; }
  const void* place(Operation& operation) const noexcept {
    if (!bytes.empty()) std::memcpy(operation.header.data(), bytes.data(), bytes.size());
    return operation.header.data();
  }
  std::size_t size() const noexcept { return bytes.size(); }
  void hand_over(Operation& /*operation*/) noexcept {}
};

struct KeptHeader {
  Memory memory;
  bool acceptable() const noexcept { return memory.owned(); }
  const void* place(Operation& /*operation*/) const noexcept { return memory.data(); }
  std::size_t size() const noexcept { return memory.size(); }
  void hand_over(Operation& operation) noexcept { operation.second_memory = std::move(memory); }
};

template <typename Header>
class AmSendAwaiter final : public OperationAwaiter<AmSendAwaiter<Header>, void> {
  using Base = OperationAwaiter<AmSendAwaiter<Header>, void>;

 public:
  static constexpr std::string_view kWhat = "sending an active message";
  /// `count` is bytes, or pieces when `datatype` says so; `memory` begins with what UCX is given.
  AmSendAwaiter(EndpointRef endpoint, std::uint16_t id, Header&& header, const Memory& memory,
                std::size_t count, ucp_datatype_t datatype, AmSendOptions options) noexcept
      : Base(endpoint.operations),
        handle_(endpoint.handle),
        header_(std::move(header)),
        memory_(memory),
        count_(count),
        datatype_(datatype),
        flags_(am_flags(options)),
        id_(id) {}

 private:
  friend Base;
  ucs_status_ptr_t issue(Operation& operation) const noexcept {
    if (!header_.acceptable()) [[unlikely]] {
      return reinterpret_cast<ucs_status_ptr_t>(static_cast<std::intptr_t>(UCS_ERR_INVALID_PARAM));
    }
    ucp_request_param_t params = params_for(operation, memory_);
    // What is as UCX assumes it anyway is not said: it costs UCX some twenty instructions.
    if (flags_ != 0) {
      params.op_attr_mask |= UCP_OP_ATTR_FIELD_FLAGS;
      params.flags = flags_;
    }
    if (datatype_ != kContiguous) {
      params.op_attr_mask |= UCP_OP_ATTR_FIELD_DATATYPE;
      params.datatype = datatype_;
    }
    params.cb.send = &Operation::sent;
    const void* header = header_.place(operation);
    return ucp_am_send_nbx(handle_, id_, header, header_.size(), memory_.data(), count_, &params);
  }
  void hand_over(Operation& operation) noexcept {
    keep(operation, memory_);
    header_.hand_over(operation);
  }

  ucp_ep_h handle_;
  Header header_;
  Memory memory_;
  std::size_t count_;
  ucp_datatype_t datatype_;
  std::uint32_t flags_;
  std::uint16_t id_;
};

}  // namespace detail

/// The largest header that am_send() copies; a longer one is given as Memory.
inline constexpr std::size_t kAmHeaderCopiedMax = detail::kHeaderCopiedMax;

/// Sends `data` with `header` to the receiver of `id` at the other side. Returns Result<void> when the memory
/// may be used again. `header` is copied; at most kAmHeaderCopiedMax bytes. Cancel: the coroutine goes on,
/// the message is sent all the same. Errors: kInvalidArgument for a header that is too long.
inline detail::AmSendAwaiter<detail::CopiedHeader> am_send(EndpointRef to, std::uint16_t id, Bytes header,
                                                           const Memory& data,
                                                           AmSendOptions options = {}) noexcept {
  const std::size_t count = data.size();
  return {to, id, detail::CopiedHeader{header}, data, count, detail::kContiguous, options};
}

/// The same with a header that UCX reads where it is, of up to Worker::am_header_bytes_max().
inline detail::AmSendAwaiter<detail::KeptHeader> am_send(EndpointRef to, std::uint16_t id,
                                                         const Memory& header, const Memory& data,
                                                         AmSendOptions options = {}) noexcept {
  const std::size_t count = data.size();
  return {to, id, detail::KeptHeader{header}, data, count, detail::kContiguous, options};
}

/// The same with data in several pieces, which arrive as one.
inline detail::AmSendAwaiter<detail::CopiedHeader> am_send(EndpointRef to, std::uint16_t id, Bytes header,
                                                           const MemoryVector& data,
                                                           AmSendOptions options = {}) noexcept {
  return {to, id, detail::CopiedHeader{header}, data.list(), data.pieces(), UCP_DATATYPE_IOV, options};
}

}  // namespace weft::ucx
