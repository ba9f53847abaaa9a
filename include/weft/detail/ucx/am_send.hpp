// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ucp/api/ucp.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/base/result.hpp"
#include "weft/detail/ucx/endpoint.hpp"
#include "weft/detail/ucx/library.hpp"
#include "weft/detail/ucx/memory.hpp"
#include "weft/detail/ucx/operation.hpp"
#include "weft/detail/ucx/posted.hpp"

namespace weft::ucx {

/// Says how an active message travels.
enum class AmProtocol : std::uint8_t {
  kAuto,        ///< as UCX finds best for its size
  kEager,       ///< with its data at once; the receiver finds it in UCX's buffer
  kRendezvous,  ///< the receiver is notified first and chooses the memory
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

  /// Adds a piece behind the others: at most kPiecesMax, all of them with an owner.
  void add(Memory piece);
  std::size_t pieces() const noexcept { return pieces_; }
  std::size_t bytes() const noexcept { return bytes_; }
  /// List of the pieces that UCX is given, in memory that keeps them.
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

struct AmSend {
  using Value = void;
  static constexpr std::string_view kWhat = "sending an active message";
  static std::string_view advice(ucs_status_t status) noexcept;
};

/// Arguments for UCX: `count` is in bytes, or in pieces, depending on `datatype`.
struct AmData {
  const Memory& memory;
  std::size_t count;
  ucp_datatype_t datatype = kContiguous;
};

[[gnu::always_inline]] inline ucs_status_ptr_t send_am(EndpointRef to, std::uint16_t id, const void* header,
                                                       std::size_t header_size, const AmData& data,
                                                       const AmSendOptions& options,
                                                       Operation& record) noexcept {
  ucp_request_param_t params = params_for(record, data.memory);
  // Values that UCX assumes by default are not set: setting them costs UCX some twenty instructions.
  if (const std::uint32_t flags = am_flags(options); flags != 0) {
    params.op_attr_mask |= UCP_OP_ATTR_FIELD_FLAGS;
    params.flags = flags;
  }
  if (data.datatype != kContiguous) {
    params.op_attr_mask |= UCP_OP_ATTR_FIELD_DATATYPE;
    params.datatype = data.datatype;
  }
  params.cb.send = &Operation::sent;
  return detail::library.ucp_am_send_nbx(to.handle, id, header, header_size, data.memory.data(), data.count,
                                         &params);
}

/// Posts one with bytes for a header, which are copied into the record.
[[gnu::always_inline]] inline Posted<AmSend> post_am(EndpointRef to, std::uint16_t id, Bytes header,
                                                     const AmData& data,
                                                     const AmSendOptions& options) noexcept {
  if (header.size() > kHeaderCopiedMax) [[unlikely]] {
    return Posted<AmSend>{UCS_ERR_INVALID_PARAM};
  }
  const auto call = [&](Operation& record) {
    if (!header.empty()) std::memcpy(record.header.data(), header.data(), header.size());
    return send_am(to, id, record.header.data(), header.size(), data, options, record);
  };
  return post<AmSend>(to.operations, call, [&](Operation& record) { keep(record, data.memory); });
}

}  // namespace detail

/// The largest header that am_send() copies; a longer one is given as Memory.
inline constexpr std::size_t kAmHeaderCopiedMax = detail::kHeaderCopiedMax;

/// Sends `data` with `header` to the receiver of `id` at the other side. Returns Result<void> when the memory
/// may be used again. `header` is copied; at most kAmHeaderCopiedMax bytes. Cancel: the coroutine goes on,
/// the message is sent all the same. Errors: kInvalidArgument for a header that is too long.
[[gnu::always_inline]] inline detail::Posted<detail::AmSend> am_send(EndpointRef to, std::uint16_t id,
                                                                     Bytes header, const Memory& data,
                                                                     AmSendOptions options = {}) noexcept {
  return detail::post_am(to, id, header, {.memory = data, .count = data.size()}, options);
}

/// The same with a header that UCX reads where it is, of up to Worker::am_header_bytes_max(); kOutOfRange for
/// a longer one.
[[gnu::always_inline]] inline detail::Posted<detail::AmSend> am_send(EndpointRef to, std::uint16_t id,
                                                                     const Memory& header, const Memory& data,
                                                                     AmSendOptions options = {}) noexcept {
  using detail::Operation;
  if (!header.owned()) return detail::Posted<detail::AmSend>{UCS_ERR_INVALID_PARAM};
  if (to.operations != nullptr && header.size() > to.operations->am_header_bytes_max()) {
    return detail::Posted<detail::AmSend>{UCS_ERR_EXCEEDS_LIMIT};
  }
  const auto call = [&](Operation& record) {
    return detail::send_am(to, id, header.data(), header.size(), {.memory = data, .count = data.size()},
                           options, record);
  };
  return detail::post<detail::AmSend>(to.operations, call, [&](Operation& record) {
    detail::keep(record, data);
    detail::keep_header(record, header);
  });
}

/// The same with data in several pieces, which arrive as one.
[[gnu::always_inline]] inline detail::Posted<detail::AmSend> am_send(EndpointRef to, std::uint16_t id,
                                                                     Bytes header, const MemoryVector& data,
                                                                     AmSendOptions options = {}) noexcept {
  return detail::post_am(
      to, id, header, {.memory = data.list(), .count = data.pieces(), .datatype = UCP_DATATYPE_IOV}, options);
}

}  // namespace weft::ucx
