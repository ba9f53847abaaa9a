// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weft/base/intrusive_list.hpp"
#include "weft/base/status.hpp"
#include "weft/base/unique_function.hpp"
#include "weft/calls/call_context.hpp"
#include "weft/coro/cancel.hpp"
#include "weft/coro/executor.hpp"
#include "weft/coro/task.hpp"
#include "weft/memory/buffer.hpp"
#include "weft/memory/chunk_pool.hpp"
#include "weft/runtime/timer.hpp"

namespace weft {

class CallsIn;
class Loop;
struct CallsHost;
class Session;
struct MethodEntry;
struct Refusal;

/// An ordinary handler's call while it runs inside the receiving of its request: nothing outlives that.
class InlineCall {
 public:
  InlineCall(Session& session, std::uint64_t id, Bytes body) : session_(&session), id_(id), body_(body) {}

  Bytes body() const { return body_; }
  /// Room for the answer's body, to be encoded at once, then end_answer(); null when it cannot be sent.
  std::byte* begin_answer(std::size_t bytes);
  void end_answer();
  /// In place of end_answer(): the answer that was begun cannot be encoded, and something else is answered.
  void take_back_answer(const std::byte* body);
  void fail(const Status& failure);
  /// The body is not one of the method.
  void refuse_arguments(const Status& failure);

 private:
  Session* session_;
  std::uint64_t id_;
  Bytes body_;
};

struct ServedCallTag;
struct RoomWaiterTag;

/// Somebody with an answer who waits until the connection's queue is under its high-water mark; `node` is
/// scheduled then, or when the connection is gone.
struct RoomWaiter : ListHook<RoomWaiterTag> {
  explicit RoomWaiter(Ready& its_node) : node(its_node) {}
  Ready& node;
};

/// A request that outlives the receiving of its bytes: a coroutine's, a delayed reply's, a worker's, or one
/// whose handler asked for its CallContext. The operation record: owns what the handler looks at, knows its
/// connection as long as there is one, and is gone only when both the answer was given and the handler has
/// ended.
///
///   kRunning --answer or failure--> kAnswered --last holder lets go--> (freed)
///   kRunning --connection lost----> kOrphaned --last holder lets go--> (freed); an answer is dropped
///
/// Thread: the connection's loop, but for what says otherwise.
class ServedCall final : public ListHook<ServedCallTag>, private Timer {
 public:
  ServedCall(CallsIn& calls, CallsHost& host, Loop& loop, const MethodEntry& method, std::uint64_t id);
  ~ServedCall();
  ServedCall(const ServedCall&) = delete;
  ServedCall& operator=(const ServedCall&) = delete;
  static void* operator new(std::size_t size) { return detail::allocate_frame(size); }
  static void operator delete(void* block, std::size_t size) noexcept { detail::release_frame(block, size); }

  std::uint64_t id() const { return id_; }
  Bytes body() const { return body_; }
  /// Keeps what the handler's arguments point into until the record ends. Where the handler runs, once.
  void keep(std::shared_ptr<void> memory) { kept_ = std::move(memory); }
  CancelScope& scope() { return scope_; }
  CallContext& context() { return context_; }
  const MethodEntry& method() const { return *method_; }
  Loop& loop() const { return *loop_; }
  /// Larger answers are refused before they are encoded. Any thread.
  std::uint32_t body_bytes_max() const { return body_bytes_max_; }

  std::byte* begin_answer(std::size_t bytes);
  void end_answer();
  /// In place of end_answer(), as with an InlineCall.
  void take_back_answer(const std::byte* body);
  void fail(const Status& failure);
  /// The body is not one of the method. Where the handler runs.
  void refuse_arguments(const Status& failure);
  bool answered() const { return state_ != State::kRunning; }

  /// For answers that nobody can suspend: sent, or while the connection's queue is over its high-water mark
  /// kept by the record, which counts against calls_in_flight_max as long. Lets go then.
  void answer_late(std::vector<std::byte> body);
  void fail_late(Status failure);
  /// Sets the failure that the caller of a delayed call gets if the handler ends without an answer; with
  /// `bad_arguments` it is that the body is not one of the method. Where it runs.
  void unless_answered(Status failure, bool bad_arguments = false) {
    late_failure_ = std::move(failure);
    bad_arguments_ = bad_arguments;
  }
  /// let_go() of a delayed call: the last one answers if nobody has.
  void let_go_unanswered();

  /// Before a worker gets it: notes what the handler may ask about the connection, which may end meanwhile.
  void keep_endpoints();
  /// On a worker's thread: begin_answer() and fail() keep the outcome, publish() sends it from the loop.
  void run_off_loop();
  void publish();

  /// The handler, and a Reply that it was given, each hold the record; the last to let go frees it.
  void hold() { ++holders_; }
  void let_go();

  /// Any thread: the caller, or the connection, is gone.
  bool cancelled_anywhere() const { return cancelled_.load(std::memory_order_relaxed); }

  /// An answer may be encoded: the connection's queue is not over its high-water mark, or nobody listens.
  bool has_room() const noexcept;
  /// Without has_room(): schedules `waiter` when there is, or when the connection is gone.
  void when_room(RoomWaiter& waiter);
  /// Awaited before an answer is encoded: suspends until has_room().
  class Room;
  Room room();

 private:
  friend class CallsIn;
  friend class CallContext;
  friend class ServedTable;

  enum class State : std::uint8_t { kRunning, kAnswered, kOrphaned };

  struct Endpoints {
    std::string local;
    std::string remote;
  };
  struct TaskEnd : detail::Completion {
    ServedCall* call;
  };
  struct LateAnswer;

  void on_timer() override;
  void cancel(CancelReason reason);
  void orphan(CancelReason reason);
  void refuse(const Refusal& refusal);
  void send_late();
  void send_now(Bytes body, const Status& failure);
  void queue_leases(Session& session);
  void settle();

  CallsIn* calls_;
  CallsHost* host_;
  Loop* loop_;
  const MethodEntry* method_;
  ServedCall* next_in_bucket_ = nullptr;
  std::uint64_t id_;
  std::uint64_t connection_id_;
  std::uint32_t body_bytes_max_;
  std::shared_ptr<void> orphan_tag_;
  std::unique_ptr<const Endpoints> endpoints_;
  Bytes body_;
  ChunkRef chunk_;
  /// The body, or only the metadata before it, if they were copied.
  MutableBytes copied_;
  Buffer attachment_;
  /// Bytes that the call is charged in its connection, and of these in the process all but its attachment.
  std::size_t connection_charge_ = 0;
  std::size_t chunk_charge_ = 0;
  Buffer answer_attachment_;
  UniqueFunction<void(bool)> on_answer_sent_;
  CancelScope scope_;
  std::shared_ptr<void> kept_;
  CallContext context_{*this};
  Task<void> task_;
  TaskEnd task_end_;
  /// Encoded result of a handler that ran on a worker.
  std::vector<std::byte> late_body_;
  Status late_failure_;
  /// Waits for room.
  std::unique_ptr<LateAnswer> late_answer_;
  std::uint32_t holders_ = 1;
  State state_ = State::kRunning;
  bool off_loop_ = false;
  bool bad_arguments_ = false;
  /// Set where the handler runs, read on the loop.
  std::atomic<bool> close_after_answer_ = false;
  std::atomic<bool> cancelled_ = false;
};

class [[nodiscard]] ServedCall::Room : public RoomWaiter {
 public:
  explicit Room(ServedCall& call) : RoomWaiter(resumption_), call_(&call) {}
  bool await_ready() const noexcept { return call_->has_room(); }
  void await_suspend(std::coroutine_handle<> coroutine) {
    resumption_.handle = coroutine;
    call_->when_room(*this);
  }
  void await_resume() const noexcept {}

 private:
  ServedCall* call_;
  Resumption resumption_;
};

inline ServedCall::Room ServedCall::room() {
  return Room{*this};
}

}  // namespace weft
