// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ucp/api/ucp.h>

#include <array>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/base/result.hpp"
#include "weft/detail/coro/cancel.hpp"
#include "weft/detail/coro/executor.hpp"
#include "weft/detail/ucx/endpoint.hpp"
#include "weft/detail/ucx/library.hpp"
#include "weft/detail/ucx/memory.hpp"
#include "weft/detail/ucx/operation.hpp"
#include "weft/detail/ucx/posted.hpp"
#include "weft/detail/ucx/worker.hpp"

namespace weft::ucx {

class AmReceiver;

namespace detail {

class AmStore;
class AmReceiveAwaiter;

/// Data up to this size that UCX keeps for itself is copied into the record.
inline constexpr std::size_t kAmInlineData = 256;

/// One message from its arrival to the end of its AmMessage.
struct AmRecord {
  enum class Data : std::uint8_t {
    kCopied,      ///< in `inline_data`, or in `copy`: UCX did not let us hold it
    kHeld,        ///< in UCX's buffer, until ucp_am_data_release()
    kRendezvous,  ///< still at the sender; `data` is UCX's descriptor
  };

  AmStore* store = nullptr;
  AmRecord* next = nullptr;
  void* data = nullptr;
  std::size_t size = 0;
  ucp_ep_h reply = nullptr;
  const std::byte* header = nullptr;
  std::size_t header_size = 0;
  Data kind = Data::kCopied;
  /// `copy` or `long_header` is used.
  bool on_heap = false;
  Memory copy;
  Memory long_header;
  std::array<std::byte, kHeaderCopiedMax> inline_header;
  std::array<std::byte, kAmInlineData> inline_data;
};

/// The records of a receiver; stays until the last message has gone.
class AmStore {
 public:
  AmStore(Worker& owner, std::size_t limit) noexcept;
  AmStore(const AmStore&) = delete;
  AmStore& operator=(const AmStore&) = delete;

  /// Null at the limit.
  AmRecord* take() noexcept {
    if (free_ == nullptr && !grow()) return nullptr;
    ++out_;
    return std::exchange(free_, free_->next);
  }
  /// Gives UCX's buffer back, and the record.
  void give_back(AmRecord& record) noexcept {
    if (record.kind != AmRecord::Data::kCopied) detail::library.ucp_am_data_release(worker_, record.data);
    recycle(record);
  }
  /// The same when UCX has its buffer back already.
  void recycle(AmRecord& record) noexcept {
    if (record.on_heap) [[unlikely]] {
      free_parts(record);
    }
    record.next = free_;
    free_ = &record;
    if (--out_ == 0 && closed_) [[unlikely]] {
      delete this;
    }
  }
  /// The receiver is gone.
  void close() noexcept;

  ucp_worker_h worker() const noexcept { return worker_; }
  OperationPool& operations() const noexcept { return operations_; }

 private:
  static constexpr std::size_t kSlab = 16;
  ~AmStore() { owner_.remove_dependent(); }
  bool grow() noexcept;
  static void free_parts(AmRecord& record) noexcept;

  Worker& owner_;
  ucp_worker_h worker_;
  OperationPool& operations_;
  const std::size_t limit_;
  AmRecord* free_ = nullptr;
  std::size_t out_ = 0;
  bool closed_ = false;
  std::vector<std::unique_ptr<AmRecord[]>> slabs_;
};

struct AmDataReceive {
  using Value = std::size_t;
  static constexpr std::string_view kWhat = "receiving an active message";
  static std::size_t result(const Operation& record) noexcept { return record.outcome.length; }
};

}  // namespace detail

/// An active message that arrived. Movable. Its destructor returns the buffer to UCX, and reports an
/// unreceived rendezvous to its sender as done. Must be destroyed before its worker. Thread: its loop's.
class AmMessage {
 public:
  AmMessage() noexcept = default;
  AmMessage(AmMessage&& other) noexcept : record_(std::exchange(other.record_, nullptr)) {}
  AmMessage& operator=(AmMessage&& other) noexcept {
    AmMessage taken{std::move(other)};
    std::swap(record_, taken.record_);
    return *this;
  }
  ~AmMessage() {
    if (record_ != nullptr) record_->store->give_back(*record_);
  }

  explicit operator bool() const noexcept { return record_ != nullptr; }
  /// Valid as long as the message is.
  Bytes header() const noexcept { return {record_->header, record_->header_size}; }
  /// Returns how long the data is, wherever they are.
  std::size_t size() const noexcept { return record_->size; }
  /// The data are still at the sender: receive_into() fetches them.
  bool rendezvous() const noexcept { return record_->kind == detail::AmRecord::Data::kRendezvous; }
  /// The data, in UCX's own buffer when it allows that; valid as long as the message is. Empty for a
  /// rendezvous.
  Bytes data() const noexcept {
    if (rendezvous()) return {};
    return {static_cast<const std::byte*>(record_->data), record_->size};
  }
  /// Returns where an answer goes, if the sender said AmSendOptions::reply_endpoint; else one without a
  /// handle.
  EndpointRef reply_endpoint() const noexcept {
    if (record_->reply == nullptr) return {};
    return {.handle = record_->reply, .operations = &record_->store->operations()};
  }
  /// Puts the data into `memory`, straight from the sender for a rendezvous, otherwise by a copy. Uses the
  /// message up. Returns Result<size_t>. Cancel: terminal, `memory` stays with UCX until it is done. Errors:
  /// kOutOfRange when `memory` is too small, kUnavailable when the sender is gone.
  [[nodiscard]] detail::Posted<detail::AmDataReceive> receive_into(const Memory& memory) && noexcept;

 private:
  friend AmReceiver;
  explicit AmMessage(detail::AmRecord& record) noexcept : record_(&record) {}
  ucs_status_ptr_t fetch(detail::Operation& operation, const Memory& memory) noexcept;

  detail::AmRecord* record_ = nullptr;
};

struct AmReceiverOptions {
  /// Maximum number of messages that have arrived and have a live AmMessage. Further ones are dropped,
  /// without notice to their sender: limit the messages in flight by your protocol.
  std::size_t messages_max = 1024;
  /// Queued whenever a message has arrived, if not null: for a receiver that takes all of them at once by
  /// try_receive(). Must outlive the receiver.
  AfterProgress* notify = nullptr;
};

/// The messages of one id, in the order of each sender. One for an id of a worker. Ends before its worker; no
/// coroutine waits on it then. Thread: its worker's loop's.
class AmReceiver final : private CancelListener {
 public:
  AmReceiver(Worker& worker, std::uint16_t id, const AmReceiverOptions& options = {});
  ~AmReceiver();
  AmReceiver(const AmReceiver&) = delete;
  AmReceiver& operator=(const AmReceiver&) = delete;

  /// Returns Result<AmMessage>, the oldest. One coroutine at a time. Cancel: total. Errors:
  /// kResourceExhausted once after messages were dropped; the next call goes on.
  [[nodiscard]] detail::AmReceiveAwaiter receive() noexcept;
  /// Returns the oldest message, if there is one.
  std::optional<AmMessage> try_receive() noexcept {
    if (first_ == nullptr || (first_->next == nullptr && resumption_.is_scheduled())) return std::nullopt;
    return pop();
  }
  /// Messages that found no room.
  std::size_t dropped() const noexcept { return dropped_; }

 private:
  friend detail::AmReceiveAwaiter;
  static ucs_status_t arrived(void* receiver, const void* header, std::size_t header_size, void* data,
                              std::size_t size, const ucp_am_recv_param_t* param);
  ucs_status_t lose(detail::AmRecord* record) noexcept;
  void push(detail::AmRecord& record) noexcept {
    record.next = nullptr;
    *(first_ == nullptr ? &first_ : &last_->next) = &record;
    last_ = &record;
    if (notify_ != nullptr) worker_.after_progress(*notify_);
    wake();
  }
  AmMessage pop() noexcept {
    detail::AmRecord& record = *first_;
    first_ = record.next;
    return AmMessage{record};
  }
  bool has_news() const noexcept { return first_ != nullptr || dropped_ != dropped_told_; }
  void wake() noexcept {
    if (waiting_ && !resumption_.is_scheduled()) worker_.loop().schedule(resumption_);
  }
  void on_cancel(CancelReason reason) noexcept override;

  Worker& worker_;
  detail::AmStore* const store_;
  AfterProgress* const notify_;
  const std::uint16_t id_;
  detail::AmRecord* first_ = nullptr;
  detail::AmRecord* last_ = nullptr;
  std::size_t dropped_ = 0;
  std::size_t dropped_told_ = 0;
  bool waiting_ = false;
  CancelReason reason_ = CancelReason::kNone;
  weft::detail::Resumption resumption_;
};

namespace detail {

class [[nodiscard]] AmReceiveAwaiter {
 public:
  using value_type = AmMessage;
  explicit AmReceiveAwaiter(AmReceiver& receiver) noexcept : receiver_(receiver) {}
  AmReceiveAwaiter(AmReceiveAwaiter&& other) noexcept : receiver_(other.receiver_) {
    WEFT_ASSERT(!other.suspended_, "what is being awaited does not move");
  }
  ~AmReceiveAwaiter() {
    if (suspended_) leave();
  }

  bool await_ready() const noexcept { return receiver_.has_news() && weft::detail::may_go_on(); }
  template <typename Promise>
  bool await_suspend(std::coroutine_handle<Promise> coroutine) noexcept {
    CancelScope* const scope = weft::detail::cancel_scope_of(coroutine);
    const auto arrived = [this] { return receiver_.has_news(); };
    if (arrived()) return give_way(coroutine);
    if (scope != nullptr && scope->cancelled()) {
      reason_ = scope->reason();
      return !weft::detail::may_go_on() && give_way(coroutine);
    }
    if (receiver_.store_->operations().progress_until(arrived)) {
      return !weft::detail::may_go_on() && give_way(coroutine);
    }
    wait(coroutine, scope);
    return true;
  }
  Result<AmMessage> await_resume() {
    if (suspended_) leave();
    if (receiver_.first_ != nullptr) [[likely]] {
      return receiver_.pop();
    }
    return failure();
  }

 private:
  /// Waits for a message that has arrived, or for a cancel that has happened.
  bool give_way(std::coroutine_handle<> coroutine) noexcept {
    wait(coroutine, nullptr);
    receiver_.reason_ = reason_;
    receiver_.wake();
    return true;
  }
  void wait(std::coroutine_handle<> coroutine, CancelScope* scope) noexcept {
    WEFT_ASSERT(!receiver_.waiting_, "one coroutine at a time waits on an AmReceiver");
    receiver_.waiting_ = suspended_ = true;
    receiver_.reason_ = CancelReason::kNone;
    receiver_.resumption_.handle = coroutine;
    if (scope != nullptr) scope->add(receiver_);
  }
  void leave() noexcept;
  Status failure();

  AmReceiver& receiver_;
  CancelReason reason_ = CancelReason::kNone;
  bool suspended_ = false;
};

}  // namespace detail

inline detail::AmReceiveAwaiter AmReceiver::receive() noexcept {
  return detail::AmReceiveAwaiter{*this};
}

}  // namespace weft::ucx
