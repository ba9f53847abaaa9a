// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ucp/api/ucp.h>

#include <atomic>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "weft/detail/ucx/endpoint.hpp"
#include "weft/detail/ucx/library.hpp"
#include "weft/detail/ucx/operation.hpp"
#include "weft/detail/ucx/posted.hpp"
#include "weft/detail/ucx/remote_memory.hpp"

namespace weft::ucx {

/// A type that UCX's atomics work on; it chooses between Features::atomics_32 and atomics_64.
template <typename T>
concept AtomicWord = std::integral<T> && (sizeof(T) == 4 || sizeof(T) == 8);

namespace detail {

enum class Fetch : bool { kNo, kYes };

template <AtomicWord T, Fetch kFetch>
struct Atomic {
  using Value = std::conditional_t<kFetch == Fetch::kYes, T, void>;
  static constexpr std::string_view kWhat = "a remote atomic";
  static T result(const Operation& record) noexcept {
    T value;
    std::memcpy(&value, &record.words[1], sizeof value);
    return value;
  }
};

/// Asks UCX. Operand and reply live in the record, so that nothing of the caller's is UCX's.
template <AtomicWord T, ucp_atomic_op_t kOp>
struct AtomicCall {
  static constexpr ucp_datatype_t kWord = ucp_datatype_t{sizeof(T)} << UCP_DATATYPE_SHIFT;
  static constexpr bool kBrokenOverSharedMemory =
      kOp == UCP_ATOMIC_OP_AND || kOp == UCP_ATOMIC_OP_OR || kOp == UCP_ATOMIC_OP_XOR;

  static ucs_status_ptr_t fetch(EndpointRef at, T operand, T reply, std::uint64_t address, KeyCore& key,
                                Operation& record) noexcept {
    std::memcpy(&record.words[0], &operand, sizeof operand);
    std::memcpy(&record.words[1], &reply, sizeof reply);
    if constexpr (kBrokenOverSharedMemory) {
      if (done_here(operand, address, key, record)) return nullptr;
    }
    ucp_request_param_t params = params_for(record, {});
    params.op_attr_mask |= UCP_OP_ATTR_FIELD_DATATYPE | UCP_OP_ATTR_FIELD_REPLY_BUFFER;
    params.datatype = kWord;
    params.reply_buffer = &record.words[1];
    params.cb.send = &Operation::sent;
    return detail::library.ucp_atomic_op_nbx(at.handle, kOp, &record.words[0], 1, address, key.handle,
                                             &params);
  }
  // UCX copies the operand, answers "done" and frees the request itself, but calls a completion later all the
  // same: it is given none.
  static ucs_status_ptr_t apply(EndpointRef at, T operand, std::uint64_t address, KeyCore& key) noexcept {
    ucp_request_param_t params;
    params.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE;
    params.datatype = kWord;
    const ucs_status_ptr_t answer =
        detail::library.ucp_atomic_op_nbx(at.handle, kOp, &operand, 1, address, key.handle, &params);
    if (answer == nullptr || is_error(answer)) return answer;
    detail::library.ucp_request_free(answer);
    return nullptr;
  }
  // docs/pitfalls/ucx.md, "Atomics over shared memory". False when the word is not in this host's memory.
  static bool done_here(T operand, std::uint64_t address, KeyCore& key, Operation& record) noexcept {
    void* pointer = nullptr;
    if (detail::library.ucp_rkey_ptr(key.handle, address, &pointer) != UCS_OK) return false;
    const std::atomic_ref<T> word{*static_cast<T*>(pointer)};
    T before{};
    if constexpr (kOp == UCP_ATOMIC_OP_AND) before = word.fetch_and(operand);
    if constexpr (kOp == UCP_ATOMIC_OP_OR) before = word.fetch_or(operand);
    if constexpr (kOp == UCP_ATOMIC_OP_XOR) before = word.fetch_xor(operand);
    std::memcpy(&record.words[1], &before, sizeof before);
    return true;
  }
};

template <Fetch kFetch, ucp_atomic_op_t kOp, AtomicWord T>
Posted<Atomic<T, kFetch>> post_atomic(EndpointRef at, std::uint64_t address, const RemoteKey& key, T operand,
                                      T reply = {}) noexcept {
  using Call = AtomicCall<T, kOp>;
  const auto call = [&](Operation& record) {
    if constexpr (kFetch == Fetch::kNo) return Call::apply(at, operand, address, key.core());
    return Call::fetch(at, operand, reply, address, key.core(), record);
  };
  return post<Atomic<T, kFetch>>(at.operations, call, [&](Operation& record) {
    record.kind = {};
    keep(record, key.core());
  });
}

}  // namespace detail

// All of these access the word at the peer's `address`, which must be a multiple of its size. `key` is needed
// until they have completed. Cancel: the coroutine goes on, the operation may take effect.
//
// Without fetch: Result<void> when the operation was handed to the transport; it has taken effect after a
// flush. With fetch: Result<T>, the previous value.

#define WEFT_UCX_ATOMIC(name, op)                                                                           \
  template <AtomicWord T>                                                                                   \
  auto atomic_##name(EndpointRef at, std::uint64_t address, const RemoteKey& key, T operand) noexcept       \
      -> detail::Posted<detail::Atomic<T, detail::Fetch::kNo>> {                                            \
    return detail::post_atomic<detail::Fetch::kNo, op>(at, address, key, operand);                          \
  }                                                                                                         \
  template <AtomicWord T>                                                                                   \
  auto atomic_fetch_##name(EndpointRef at, std::uint64_t address, const RemoteKey& key, T operand) noexcept \
      -> detail::Posted<detail::Atomic<T, detail::Fetch::kYes>> {                                           \
    return detail::post_atomic<detail::Fetch::kYes, op>(at, address, key, operand);                         \
  }

/// atomic_add, atomic_and, atomic_or, atomic_xor, and atomic_fetch_... of each.
WEFT_UCX_ATOMIC(add, UCP_ATOMIC_OP_ADD)
WEFT_UCX_ATOMIC(and, UCP_ATOMIC_OP_AND)
WEFT_UCX_ATOMIC(or, UCP_ATOMIC_OP_OR)
WEFT_UCX_ATOMIC(xor, UCP_ATOMIC_OP_XOR)
#undef WEFT_UCX_ATOMIC

/// Stores `value`. Returns Result<T>, the previous value.
template <AtomicWord T>
auto atomic_swap(EndpointRef at, std::uint64_t address, const RemoteKey& key, T value) noexcept
    -> detail::Posted<detail::Atomic<T, detail::Fetch::kYes>> {
  return detail::post_atomic<detail::Fetch::kYes, UCP_ATOMIC_OP_SWAP>(at, address, key, value);
}

/// Stores `value` if the word equals `expected`. Returns Result<T>, the previous value.
template <AtomicWord T>
auto atomic_compare_swap(EndpointRef at, std::uint64_t address, const RemoteKey& key, T expected,
                         std::type_identity_t<T> value) noexcept
    -> detail::Posted<detail::Atomic<T, detail::Fetch::kYes>> {
  return detail::post_atomic<detail::Fetch::kYes, UCP_ATOMIC_OP_CSWAP>(at, address, key, expected, value);
}

}  // namespace weft::ucx
