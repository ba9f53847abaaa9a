// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "calls/grpc/http2_session.hpp"
#include "calls/grpc/message_reader.hpp"
#include "calls/grpc/outgoing_messages.hpp"
#include "calls/grpc/request_head.hpp"
#include "weft/detail/base/intrusive_list.hpp"
#include "weft/detail/base/status.hpp"
#include "weft/detail/base/time.hpp"
#include "weft/detail/coro/frame_pool.hpp"
#include "weft/detail/runtime/timer.hpp"

namespace weft::detail {
struct MethodEntry;
}  // namespace weft::detail

namespace weft::detail::grpc {

struct AllStreamsTag;
struct DueHeadsTag;
struct DueItemsTag;
struct GrpcStream;
struct NewRequestsTag;

/// Receives the timers of requests.
class LateRequests {
 public:
  /// The timer of the request has fired.
  virtual void on_request_timer(GrpcStream& stream) = 0;

 protected:
  ~LateRequests() = default;
};

/// One request and its answer. The request:
///
///   kHead --the head is whole--> kMessage --one message and the end--> kDone      (one message)
///     |                      '--> kItems --the end of all messages--> kDone       (a stream of messages)
///     '--refused, or answered early--> kDone: the rest of the body is dropped
///
/// The answer: its head is submitted with the first message, with initial metadata, or with the end; messages
/// follow; the end waits behind them. Thread: the connection's loop.
struct GrpcStream final : Http2Stream,
                          ListHook<AllStreamsTag>,
                          ListHook<DueHeadsTag>,
                          ListHook<DueItemsTag>,
                          ListHook<NewRequestsTag>,
                          Timer,
                          PooledFrame {
  enum class Request : std::uint8_t { kHead, kMessage, kItems, kDone };

  /// All outlive it.
  GrpcStream(std::int32_t its_id, LateRequests& its_late_requests, std::uint32_t message_bytes_max,
             ConnectionMemory& memory, ChunkPool& chunks) noexcept
      : Http2Stream(its_id),
        late_requests(its_late_requests),
        reader(message_bytes_max, memory, chunks),
        out(memory) {}

  bool head_is_due() const noexcept { return ListHook<DueHeadsTag>::linked(); }
  void forget_due_head() noexcept { ListHook<DueHeadsTag>::unlink(); }
  void forget_new_request() noexcept { ListHook<NewRequestsTag>::unlink(); }
  bool items_are_due() const noexcept { return ListHook<DueItemsTag>::linked(); }
  /// Returns true if the answer's end is known and its messages have left up to `bytes`.
  bool ends_with(std::size_t bytes) const noexcept { return answered && out.bytes() == bytes; }

  /// Armed in kMessage, unless the request became whole with the bytes that began it.
  void on_timer() override { late_requests.on_request_timer(*this); }

  // The request.
  LateRequests& late_requests;
  Request request = Request::kHead;
  Compression compression = Compression::kIdentity;
  /// The one message has arrived.
  bool has_message = false;
  /// The peer sends nothing more.
  bool peer_ended = false;
  /// Received bytes wait in `backlog` until the handler has read.
  bool stalled = false;
  /// Null once the request is served or refused, and counted so.
  const MethodEntry* method = nullptr;
  Deadline deadline{};
  /// Time of the last progress of the request, and the number of bytes since then.
  TimePoint progress_at{};
  std::size_t bytes_since = 0;
  MessageReader reader;
  std::vector<std::byte> metadata;
  std::vector<std::byte> backlog;

  // The answer.
  bool answers_items = false;
  bool head_submitted = false;
  bool answered = false;
  /// A text for a client that does not speak gRPC.
  bool is_plain = false;
  std::uint16_t plain_status = 0;
  /// The session waits for Http2Session::resume().
  bool deferred = false;
  OutgoingMessages out;
  std::uint64_t credited = 0;
  Status outcome;
  std::vector<std::byte> initial;
  std::vector<std::byte> trailing;
};

}  // namespace weft::detail::grpc
