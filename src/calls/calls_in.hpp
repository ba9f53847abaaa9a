// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "calls/counter.hpp"
#include "calls/rejections.hpp"
#include "calls/served_table.hpp"
#include "weft/base/intrusive_list.hpp"
#include "weft/base/status.hpp"
#include "weft/calls/served_call.hpp"
#include "weft/memory/budget.hpp"
#include "weft/transport/connection.hpp"

namespace weft {

class FaultLog;
class MethodTable;
struct MethodEntry;
class Session;
class WorkerPool;

/// State that all serving sessions of one loop share. Outlives the calls.
struct CallsHost {
  const MethodTable* methods = nullptr;
  WorkerPool* workers = nullptr;
  /// Shared, because an attachment may be kept for longer than the client or the server lives.
  std::shared_ptr<MemoryBudget> memory;
  /// See ServedTable.
  std::uint64_t table_secret = new_table_secret();
  /// Records alive, those without a connection too.
  Counter running;
  Counter taken;
  /// Frames of types that only a later build knows.
  Counter frames_skipped;
  RejectionCounters rejections;
  /// Null on a client: there the one who called hears of it.
  FaultLog* faults = nullptr;
  /// The time, read again after every so many requests: between two of them it is as good as now.
  TimePoint now{};
  std::size_t taken_since_look = 0;
  /// Calls whose connection is gone and whose handler has not ended.
  IntrusiveList<ServedCall, ServedCallTag> orphans;
  /// Told when the last record went.
  UniqueFunction<void()> on_idle;
};

/// The peer's calls on one connection: from a request's frame to the handler, and from the handler to the
/// answer.
class CallsIn {
 public:
  CallsIn(Session& session, CallsHost& host) : session_(session), host_(host), table_(host.table_secret) {}

  /// False when a request with this header is refused, whatever its body says.
  bool serves(const wire::FrameHeader& header) const { return method_for(header) != nullptr; }
  /// Prepares for taking `frames` frames: reads the clock, if it is time to, and finds how long they may
  /// have waited.
  void begin_batch(std::size_t frames);
  /// A failure is the peer's breach of the protocol and ends the connection.
  Status on_request(const Frame& frame, const ChunkRef& chunk);
  void on_cancel(std::uint64_t id);
  Landing on_request_attachment(const Frame& frame);
  Status on_request_attachment_end(const Frame& frame, const ChunkRef& chunk, bool landed);
  /// The connection is gone.
  void orphan_all();
  /// The next answer that waited goes on, if the outbox has room. The end of its call wakes another, so that
  /// all who waited do not fill the outbox at once.
  void wake_room_waiter();

  /// Room for an answer, or null; end_answer follows.
  std::byte* begin_answer(std::uint64_t id, std::size_t body_bytes, std::uint64_t attachment_bytes);
  void fail(std::uint64_t id, const Status& failure);
  /// Counts it by its reason, logs it, and fails the call.
  void refuse(std::uint64_t id, const Refusal& refusal);
  void add_room_waiter(RoomWaiter& waiter) { room_waiters_.push_back(waiter); }

  Session& session() const { return session_; }
  CallsHost& host() const { return host_; }
  std::size_t running() const { return running_; }

 private:
  friend class ServedCall;

  /// The method that serves a request with this header; null when there is a reason against it, see
  /// refusal().
  const MethodEntry* method_for(const wire::FrameHeader& header) const;
  Refusal refusal(const wire::FrameHeader& header) const;
  std::optional<Refusal> attachment_refusal(const wire::FrameHeader& header) const;
  /// Half of the time that the caller gave has passed before anybody looked at the request.
  bool waited_too_long(const wire::FrameHeader& header) const;
  Status serve_record(const MethodEntry& method, const Frame& frame, const ChunkRef& chunk,
                      Buffer attachment);
  static std::size_t kept_bytes(const MethodEntry& method, const Frame& frame, const ChunkRef& chunk);
  std::optional<Refusal> reserve_kept(std::size_t kept_bytes, std::size_t attachment_bytes);
  void refuse_without_memory(std::uint64_t id);
  void send_failure(std::uint64_t id, std::uint16_t status, std::int32_t native, std::string_view text);
  ServedCall* new_record(const MethodEntry& method, const Frame& frame, const ChunkRef& chunk);
  void run(ServedCall& call);
  void start_handler(ServedCall& call);
  void forget(ServedCall& call);

  Session& session_;
  CallsHost& host_;
  ServedTable table_;
  IntrusiveList<ServedCall, ServedCallTag> calls_;
  IntrusiveList<RoomWaiter, RoomWaiterTag> room_waiters_;
  std::size_t running_ = 0;
  /// How long the requests of this batch may have waited.
  Duration waited_{};
  /// Attachments and kept bodies of calls that run; an attachment that the handler took away counts for the
  /// process only.
  std::size_t bytes_held_ = 0;
  Buffer landing_;
  /// Why there is no landing.
  std::optional<Refusal> landing_refusal_;
};

}  // namespace weft
