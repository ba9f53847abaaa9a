// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ucp/api/ucp.h>

#include <array>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "weft/detail/base/intrusive_list.hpp"
#include "weft/detail/base/result.hpp"
#include "weft/detail/coro/cancel.hpp"
#include "weft/detail/coro/executor.hpp"
#include "weft/detail/runtime/loop.hpp"
#include "weft/detail/runtime/operation_record.hpp"
#include "weft/detail/ucx/library.hpp"
#include "weft/detail/ucx/memory.hpp"
#include "weft/detail/ucx/status.hpp"

namespace weft::ucx::detail {

class OperationPool;
struct KeyTag;
using weft::detail::OperationState;

/// A remote key, which operations under way need as long as they are: counts them and its RemoteKey. The
/// worker's end destroys the key and leaves the core. Thread: the loop's.
struct KeyCore final : weft::detail::ListHook<KeyTag> {
  explicit KeyCore(ucp_rkey_h key) noexcept : handle(key) {}
  void retain() noexcept { ++references; }
  static void release(void* core) noexcept;

  ucp_rkey_h handle;
  std::size_t references = 1;
};

/// Bytes of an active message's header that a record keeps for UCX.
inline constexpr std::size_t kHeaderCopiedMax = 64;

/// The record of one operation that UCX has not finished. Its states are those of operation_state.hpp.
/// Belongs to its pool; an awaitable (posted.hpp) refers to it. Thread: the loop's.
class Operation final : public weft::detail::OperationRecord<Operation> {
 public:
  /// Called before a function of UCX that may call the completion before it returns, while the record is
  /// still in its pool; end_call() is called behind it, and says whether it did.
  void begin_call() noexcept {
    state = OperationState::kPosted;
    request = nullptr;
  }
  bool end_call() noexcept {
    return std::exchange(state, OperationState::kReaped) == OperationState::kCompleted;
  }
  /// Lets UCX work before the coroutine suspends, and says whether it is done.
  bool completes_soon() noexcept;
  /// The worker is destroyed: UCX is done with everything.
  void close() noexcept;

  /// Callback of UCX; `user_data` is the record.
  static void sent(void* request, ucs_status_t status, void* user_data);
  static void received_tag(void* request, ucs_status_t status, const ucp_tag_recv_info_t* info,
                           void* user_data);
  static void received_bytes(void* request, ucs_status_t status, std::size_t length, void* user_data);

  /// Outcome of the receive, written by UCX or by its callback.
  union Outcome {
    ucp_tag_recv_info_t tag;
    std::size_t length;
  };

  // While UCX has the operation: what keeps its memory.
  OperationPool* pool = nullptr;
  void* request = nullptr;
  Memory memory;
  Memory header_memory;
  ucs_status_t status = UCS_OK;
  Outcome outcome{};
  /// Called once when the record is returned; for objects that end with the operation, such as an endpoint.
  void (*on_given_back)(void* argument) noexcept = nullptr;
  void* given_back_argument = nullptr;
  Operation* next_free = nullptr;
  /// Operand and reply of an atomic.
  std::array<std::uint64_t, 2> words{};
  std::array<std::byte, kHeaderCopiedMax> header;

 private:
  friend OperationRecord;
  weft::detail::Executor& executor() const noexcept;
  void revoke() noexcept;
  void give_back() noexcept;
  void complete(ucs_status_t result) noexcept;
};

/// The records of a worker. Outlives the worker for as long as coroutines have not taken what their
/// operations ended with. Thread: the loop's.
class OperationPool {
 public:
  OperationPool(Loop& owner, ucp_worker_h handle, std::size_t limit) noexcept
      : loop_(owner), worker_(handle), limit_(limit) {}
  OperationPool(const OperationPool&) = delete;
  OperationPool& operator=(const OperationPool&) = delete;

  /// The record that the next operation would take: its address is UCX's user data before it is known whether
  /// a record is needed at all. Null at the limit.
  Operation* peek() noexcept { return free_ != nullptr ? free_ : grow(limit_); }
  /// The same above the limit, for operations that end something. Null only when memory is exhausted.
  Operation* peek_surely() noexcept { return free_ != nullptr ? free_ : grow(SIZE_MAX); }
  /// Takes the record returned by peek(): UCX returned "in progress" and `request`.
  void take(Operation& operation, void* request) noexcept {
    free_ = operation.next_free;
    ++out_;
    operation.request = request;
    operation.state = OperationState::kPosted;
    operation.status = UCS_INPROGRESS;
    operation.reason = CancelReason::kNone;
  }
  void recycle(Operation& operation) noexcept;

  /// Lets UCX work on this thread before a coroutine suspends, until `done()` returns true, and returns
  /// whether it does. A turn of the loop would take longer than an operation that completes within a
  /// microsecond. Stops when another coroutine is ready, and after as many calls as the loop's last poll of
  /// the worker allowed, so that descriptors and timers wait for a few turns only. Not inside of UCX.
  template <typename Done>
  bool progress_until(Done done) noexcept {
    while (calls_left_ > 0 && !loop_.has_ready()) {
      --calls_left_;
      if (detail::library.ucp_worker_progress(worker_) != 0) brought_ = true;
      if (done()) return true;
    }
    return false;
  }
  /// Sets how many calls progress_until() may make until the loop asks the worker again.
  void allow_calls(unsigned calls) noexcept { calls_left_ = calls; }
  /// Tells whether progress_until() found something since the last time this was asked.
  bool take_brought() noexcept { return std::exchange(brought_, false); }

  /// The largest header of an active message; UCX ends the process for a longer one.
  std::size_t am_header_bytes_max() const noexcept { return am_header_bytes_max_; }
  void set_am_header_bytes_max(std::size_t bytes) noexcept { am_header_bytes_max_ = bytes; }

  /// Records that UCX or a coroutine still refers to.
  std::size_t out() const noexcept { return out_; }
  Loop& loop() const noexcept { return loop_; }
  ucp_worker_h worker() const noexcept { return worker_; }

  /// Lets `key` end with the worker, if it does not end before.
  void add(KeyCore& key) noexcept { keys_.push_back(key); }
  /// Called before ucp_worker_destroy(): destroys the keys, because UCX keeps parts of them in the worker.
  void end_keys() noexcept;
  /// Called after ucp_worker_destroy(): ends every operation. Deletes the pool now, or with its last record.
  void close() noexcept;

 private:
  static constexpr std::size_t kSlab = 32;
  ~OperationPool() = default;
  Operation* grow(std::size_t limit) noexcept;

  Loop& loop_;
  const ucp_worker_h worker_;
  const std::size_t limit_;
  Operation* free_ = nullptr;
  unsigned calls_left_ = 0;
  bool brought_ = false;
  bool closed_ = false;
  std::size_t out_ = 0;
  std::size_t am_header_bytes_max_ = 0;
  weft::detail::IntrusiveList<KeyCore, KeyTag> keys_;
  std::vector<std::unique_ptr<Operation[]>> slabs_;
};

// What every operation that waited passes, and so not behind a call.

[[gnu::always_inline]] inline weft::detail::Executor& Operation::executor() const noexcept {
  return pool->loop();
}

// UCX calls the completion inside of it.
[[gnu::always_inline]] inline void Operation::revoke() noexcept {
  detail::library.ucp_request_cancel(pool->worker(), request);
}

[[gnu::always_inline]] inline void Operation::give_back() noexcept {
  forget_waiter();
  if (memory.block() != nullptr) memory.reset();
  if (on_given_back != nullptr) [[unlikely]] {
    std::exchange(on_given_back, nullptr)(given_back_argument);
  }
  pool->recycle(*this);
}

inline bool Operation::completes_soon() noexcept {
  return pool->progress_until([this] { return completed(); });
}

inline void OperationPool::recycle(Operation& operation) noexcept {
  operation.next_free = free_;
  free_ = &operation;
  --out_;
  if (closed_ && out_ == 0) [[unlikely]] {
    delete this;
  }
}

/// Parameters that every operation begins with.
inline ucp_request_param_t params_for(Operation& operation, const Memory& memory) noexcept {
  ucp_request_param_t params;
  params.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  params.user_data = &operation;
  if (memory.block() != nullptr && memory.block()->registration() != nullptr) [[unlikely]] {
    params.op_attr_mask |= UCP_OP_ATTR_FIELD_MEMH;
    params.memh = memory.block()->registration();
  }
  return params;
}

/// Keeps `key` until UCX is done with the operation.
inline void keep(Operation& operation, KeyCore& key) noexcept {
  key.retain();
  operation.on_given_back = &KeyCore::release;
  operation.given_back_argument = &key;
}

/// Keeps `header` as well as another memory.
inline void keep_header(Operation& operation, const Memory& header) noexcept {
  operation.header_memory = header;
  operation.on_given_back = [](void* record) noexcept {
    static_cast<Operation*>(record)->header_memory.reset();
  };
  operation.given_back_argument = &operation;
}

/// Keeps `memory` until UCX is done with the operation.
inline void keep(Operation& operation, const Memory& memory, bool revocable = false) noexcept {
  operation.kind = {.revocable = revocable, .owns_memory = memory.owned()};
  operation.memory = memory;
}

}  // namespace weft::ucx::detail
