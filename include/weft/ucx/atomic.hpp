// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ucp/api/ucp.h>

#include <atomic>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "weft/ucx/endpoint.hpp"
#include "weft/ucx/operation.hpp"
#include "weft/ucx/remote_memory.hpp"

namespace weft::ucx {

/// What UCX's atomics work on; the type chooses between Features::atomics_32 and atomics_64.
template <typename T>
concept AtomicWord = std::integral<T> && (sizeof(T) == 4 || sizeof(T) == 8);

namespace detail {

enum class Fetch : bool { kNo, kYes };

/// One atomic. Operand and reply live in the record, so that nothing of the caller's is UCX's.
template <AtomicWord T, ucp_atomic_op_t kOp, Fetch kFetch>
class AtomicAwaiter final : public OperationAwaiter<AtomicAwaiter<T, kOp, kFetch>,
                                                    std::conditional_t<kFetch == Fetch::kYes, T, void>> {
  using Base = OperationAwaiter<AtomicAwaiter, std::conditional_t<kFetch == Fetch::kYes, T, void>>;

 public:
  static constexpr std::string_view kWhat = "a remote atomic";
  AtomicAwaiter(EndpointRef endpoint, T operand, T reply, std::uint64_t address, KeyCore& key) noexcept
      : Base(endpoint.operations),
        handle_(endpoint.handle),
        operand_(operand),
        reply_(reply),
        address_(address),
        key_(&key) {}

 private:
  friend Base;
  static constexpr ucp_datatype_t kWord = ucp_datatype_t{sizeof(T)} << UCP_DATATYPE_SHIFT;
  static constexpr bool kBrokenOverSharedMemory =
      kFetch == Fetch::kYes &&
      (kOp == UCP_ATOMIC_OP_AND || kOp == UCP_ATOMIC_OP_OR || kOp == UCP_ATOMIC_OP_XOR);

  ucs_status_ptr_t issue(Operation& operation) const noexcept {
    if constexpr (kFetch == Fetch::kNo) return post();
    std::memcpy(&operation.words[0], &operand_, sizeof operand_);
    std::memcpy(&operation.words[1], &reply_, sizeof reply_);
    if constexpr (kBrokenOverSharedMemory) {
      if (done_here(operation)) return nullptr;
    }
    ucp_request_param_t params = params_for(operation, {});
    params.op_attr_mask |= UCP_OP_ATTR_FIELD_DATATYPE | UCP_OP_ATTR_FIELD_REPLY_BUFFER;
    params.datatype = kWord;
    params.reply_buffer = &operation.words[1];
    params.cb.send = &Operation::sent;
    return ucp_atomic_op_nbx(handle_, kOp, &operation.words[0], 1, address_, key_->handle, &params);
  }
  // UCX copies the operand, answers "done" and frees the request itself, but calls a completion later all the
  // same: it is given none.
  ucs_status_ptr_t post() const noexcept {
    ucp_request_param_t params;
    params.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE;
    params.datatype = kWord;
    const ucs_status_ptr_t answer =
        ucp_atomic_op_nbx(handle_, kOp, &operand_, 1, address_, key_->handle, &params);
    if (answer == nullptr || is_error(answer)) return answer;
    ucp_request_free(answer);
    return nullptr;
  }
  // docs/pitfalls/ucx.md, "Atomics over shared memory". False when the word is not in this host's memory.
  bool done_here(Operation& operation) const noexcept {
    void* pointer = nullptr;
    if (ucp_rkey_ptr(key_->handle, address_, &pointer) != UCS_OK) return false;
    const std::atomic_ref<T> word{*static_cast<T*>(pointer)};
    T before{};
    if constexpr (kOp == UCP_ATOMIC_OP_AND) before = word.fetch_and(operand_);
    if constexpr (kOp == UCP_ATOMIC_OP_OR) before = word.fetch_or(operand_);
    if constexpr (kOp == UCP_ATOMIC_OP_XOR) before = word.fetch_xor(operand_);
    std::memcpy(&operation.words[1], &before, sizeof before);
    return true;
  }
  void hand_over(Operation& operation) const noexcept {
    operation.kind = {};
    keep(operation, *key_);
  }
  static T result(const Operation& operation) noexcept {
    T value;
    std::memcpy(&value, &operation.words[1], sizeof value);
    return value;
  }

  ucp_ep_h handle_;
  T operand_;
  T reply_;
  std::uint64_t address_;
  KeyCore* key_;
};

}  // namespace detail

// All of them work on the word at the peer's `address`, which is a multiple of its size. `key` is needed
// until they are done. Cancel: the coroutine goes on, the operation may take effect.
//
// Without fetch: Result<void> when the operation was handed to the transport; it has taken effect after a
// flush. With fetch: Result<T>, what was there before.

#define WEFT_UCX_ATOMIC(name, op)                                                                            \
  template <AtomicWord T>                                                                                    \
  detail::AtomicAwaiter<T, op, detail::Fetch::kNo> atomic_##name(EndpointRef at, std::uint64_t address,      \
                                                                 const RemoteKey& key, T operand) noexcept { \
    return {at, operand, T{}, address, key.core()};                                                          \
  }                                                                                                          \
  template <AtomicWord T>                                                                                    \
  detail::AtomicAwaiter<T, op, detail::Fetch::kYes> atomic_fetch_##name(                                     \
      EndpointRef at, std::uint64_t address, const RemoteKey& key, T operand) noexcept {                     \
    return {at, operand, T{}, address, key.core()};                                                          \
  }

/// atomic_add, atomic_and, atomic_or, atomic_xor, and atomic_fetch_... of each.
WEFT_UCX_ATOMIC(add, UCP_ATOMIC_OP_ADD)
WEFT_UCX_ATOMIC(and, UCP_ATOMIC_OP_AND)
WEFT_UCX_ATOMIC(or, UCP_ATOMIC_OP_OR)
WEFT_UCX_ATOMIC(xor, UCP_ATOMIC_OP_XOR)
#undef WEFT_UCX_ATOMIC

/// Puts `value` there. Returns Result<T>, what was there before.
template <AtomicWord T>
detail::AtomicAwaiter<T, UCP_ATOMIC_OP_SWAP, detail::Fetch::kYes> atomic_swap(EndpointRef at,
                                                                              std::uint64_t address,
                                                                              const RemoteKey& key,
                                                                              T value) noexcept {
  return {at, value, T{}, address, key.core()};
}

/// Puts `value` there if `expected` is there. Returns Result<T>, what was there before.
template <AtomicWord T>
detail::AtomicAwaiter<T, UCP_ATOMIC_OP_CSWAP, detail::Fetch::kYes> atomic_compare_swap(
    EndpointRef at, std::uint64_t address, const RemoteKey& key, T expected,
    std::type_identity_t<T> value) noexcept {
  return {at, expected, value, address, key.core()};
}

}  // namespace weft::ucx
