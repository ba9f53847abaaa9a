// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calls/grpc/connection_memory.hpp"
#include "calls/grpc/grpc_stream.hpp"
#include "calls/grpc/header_fields.hpp"
#include "calls/grpc/http2_session.hpp"
#include "calls/grpc/inflate.hpp"
#include "calls/grpc/outgoing_messages.hpp"
#include "calls/grpc/request_head.hpp"
#include "calls/serve/protocol.hpp"
#include "calls/serve/served_calls.hpp"
#include "calls/stream/item_sink.hpp"
#include "weft/detail/base/intrusive_list.hpp"
#include "weft/detail/calls/terms/answer_sink.hpp"
#include "weft/detail/coro/executor.hpp"
#include "weft/detail/transport/byte_connection.hpp"
#include "weft/grpc.hpp"

namespace weft::detail::grpc {

/// The connection below GrpcCalls.
class GrpcLink {
 public:
  virtual Http2Session& session() noexcept = 0;
  virtual ByteConnection& bytes() noexcept = 0;
  /// Sends everything that was submitted, at the end of the turn.
  virtual void flush_soon() noexcept = 0;
  /// Ends the connection soon, because memory is exhausted.
  virtual void give_up() noexcept = 0;
  /// A call has ended, or a stream.
  virtual void on_ended() noexcept = 0;
  virtual void on_pong(std::uint8_t mark) noexcept = 0;
  virtual void drain() = 0;

 protected:
  ~GrpcLink() = default;
};

/// The calls of one connection: requests of the peer's streams, and their answers. Messages of the peer go to
/// handlers as they are whole; while a handler does not read, the window of its stream alone is used up.
/// Thread: the connection's loop.
class GrpcCalls final : public Http2Events, private AnswerSink, private ItemSink, private LateRequests {
 public:
  /// All outlive it.
  GrpcCalls(const ServedConnectionSetup& setup, const GrpcOptions& options, GrpcLink& link);
  ~GrpcCalls();

  void set_peer(const Identity& peer) { set_peer_identity(peer); }
  /// Http2Session::receive() has ended, and with it the bytes that it was given.
  void on_received();
  /// Http2Session::send() is next: submits answers that wait, one at least, while there is memory for them.
  void before_send();
  /// Answers wait for before_send().
  bool has_due_heads() const noexcept { return !due_heads_.empty(); }
  /// The connection has room again.
  void on_room();
  /// There is no memory for the state of the connection: further requests are refused until there is.
  void set_starved(bool starved) noexcept { starved_ = starved; }
  /// Answers all calls with `why`.
  void fail_all(const Status& why);
  /// The connection is gone: cancels the calls that run.
  void end() noexcept;
  /// No call runs, and all answers have left.
  bool are_done() noexcept { return streams_.empty() && served_.admission().calls() == 0; }
  std::size_t stream_bytes() const noexcept { return stream_count_ * sizeof(GrpcStream) + metadata_bytes_; }

 private:
  /// Passes items that wait to handlers that have read.
  struct ItemsTurn : detail::Ready {
    explicit ItemsTurn(GrpcCalls& its) noexcept;
    GrpcCalls& owner;
  };

  // A stream reports.
  void on_request_timer(GrpcStream& stream) override;

  // The session reports.
  Http2Stream* on_request_begin(std::int32_t id) noexcept override;
  void on_field(Http2Stream& stream, std::string_view name, std::string_view value) noexcept override;
  void on_head(Http2Stream& stream) noexcept override;
  void on_data(Http2Stream& stream, Bytes bytes) noexcept override;
  void on_data_end(Http2Stream& stream, bool is_last) noexcept override;
  void on_stream_closed(Http2Stream& stream) noexcept override;
  void on_pong(std::uint8_t mark) noexcept override { link_.on_pong(mark); }
  BodyPart body_of(Http2Stream& stream, std::size_t bytes_max) noexcept override;
  bool send_body(Http2Stream& stream, Bytes head, std::size_t bytes) noexcept override;
  void on_body_end(Http2Stream& stream) noexcept override;
  bool send_bytes(Bytes bytes) noexcept override { return link_.bytes().send(bytes); }
  bool has_room_to_send() const noexcept override { return link_.bytes().has_room(); }
  void on_headers_sent(Http2Stream& stream, bool is_last) noexcept override;

  // The calls report.
  std::byte* begin_answer(std::uint64_t id, std::size_t body_bytes, std::uint64_t attachment_bytes) override;
  void end_answer() override;
  void take_back_answer(const std::byte*) override;
  void end_answer_with(std::uint64_t id, Attachment& attachment,
                       std::unique_ptr<AnswerWishes> wishes) override;
  Status send_metadata(std::uint64_t id, bool initial, Bytes pairs) override;
  void fail(std::uint64_t id, const Status& failure) override;
  void refuse(std::uint64_t id, RefusalReason reason, const Status& why) override;
  void refuse_without_memory(std::uint64_t id) override;
  bool has_room() const noexcept override { return is_gone() || link_.bytes().has_room(); }
  void add_room_waiter(RoomWaiter& waiter) override { room_waiters_.push_back(waiter); }
  bool charge_answer(std::size_t bytes) override { return served_.admission().admit_answer(bytes); }
  void wake_room_waiter() override;
  void forget(ServedCall& call) override;
  std::string local_endpoint() const override { return link_.bytes().local_endpoint(); }
  std::string remote_endpoint() const override { return link_.bytes().remote_endpoint(); }
  std::shared_ptr<void>& connection_tag() override { return tag_; }
  ItemSink* streams() override { return this; }
  void finish() override { link_.drain(); }

  // The streams report.
  std::uint64_t first_credit() const noexcept override { return kOutputWindow; }
  std::uint32_t item_bytes_max() const noexcept override { return limits_.body_bytes_max; }
  bool has_room_for_items() noexcept override { return link_.bytes().has_room(); }
  bool reserve_item(std::size_t bytes) noexcept override { return memory().free() >= bytes; }
  std::byte* begin_item(const StreamPlace& place, std::uint32_t bytes) noexcept override;
  Status end_item(const StreamPlace& place) noexcept override;
  void take_back_item(const std::byte*) noexcept override { take_back(); }
  // The end of the answer ends the items.
  void end_items(const StreamPlace&) noexcept override {}
  void send_credit(const StreamPlace& place, std::uint64_t granted) noexcept override;

  /// Items of a stream, by wire::item_cost(), that may wait for the peer's window.
  static constexpr std::uint64_t kOutputWindow = 128 * 1024;

  static GrpcStream& as_grpc(Http2Stream& stream) noexcept { return static_cast<GrpcStream&>(stream); }
  /// Returns the stream of a call that has no answer yet; null when the peer does not wait for one.
  GrpcStream* unanswered(std::uint64_t id) noexcept;
  /// Returns the items of the call; null when the call has ended.
  StreamSide* side_of(const GrpcStream& stream) noexcept;

  // Requests.
  void begin_request(GrpcStream& stream);
  /// Adds `pairs` to metadata of a stream. Throws std::bad_alloc.
  void add_pairs(std::vector<std::byte>& to, Bytes pairs);
  void delete_stream(GrpcStream& stream) noexcept;
  void await_message(GrpcStream& stream);
  void take_message(GrpcStream& stream, Bytes data);
  /// The message that lies in the received bytes outlives them.
  void keep_message();
  /// Arms the timer of a request that is not whole.
  void arm_request(GrpcStream& stream) noexcept;
  void disarm_request(GrpcStream& stream) noexcept;
  void serve_message(GrpcStream& stream);
  void serve_items(GrpcStream& stream);
  void serve(GrpcStream& stream, Bytes request, std::size_t metadata_bytes);
  void refuse_request(GrpcStream& stream, RefusalReason reason, const Status& why);
  /// Counts a request that is not whole, and gets no answer of its own.
  void count_unserved(GrpcStream& stream) noexcept;
  /// The rest of the request is not needed.
  void drop_request(GrpcStream& stream) noexcept;
  /// Replaces the message of the stream's reader by its bytes without compression, which are valid until
  /// uncompressed_.drop().
  std::optional<Refusal> uncompress(const GrpcStream& stream, Bytes& message);
  void consume(GrpcStream& stream, std::size_t bytes) noexcept;

  // Items of requests.
  void pass_items(GrpcStream& stream, Bytes data);
  void pass_item(GrpcStream& stream, StreamSide& side);
  void pass_backlog(GrpcStream& stream);
  void stall(GrpcStream& stream, Bytes data);
  /// Charges memory for `more` bytes of the backlog. Returns false when it is exhausted.
  bool reserve_backlog(GrpcStream& stream, std::size_t more);
  void fail_items(GrpcStream& stream, Status why);
  void end_items_of(GrpcStream& stream);

  // Answers.
  /// The begun message is not sent.
  void take_back() noexcept;
  /// Ends the answer behind its queued messages.
  void end_stream(GrpcStream& stream, Status outcome);
  void answer_plain(GrpcStream& stream, int status);
  /// There is something new to send.
  void go_on(GrpcStream& stream);
  void submit_head(GrpcStream& stream);
  void give_credit(GrpcStream& stream);

  Loop& loop_;
  const RpcLimits& limits_;
  CallsHost& host_;
  GrpcLink& link_;
  ServedCalls served_;
  ConnectionMemory kept_;
  RequestHead head_;
  HeaderFields fields_;
  IntrusiveList<GrpcStream, AllStreamsTag> streams_;
  std::size_t stream_count_ = 0;
  /// Memory of the metadata of all streams.
  std::size_t metadata_bytes_ = 0;
  /// Streams with heads that were not submitted: further initial metadata may follow, or memory is scarce.
  IntrusiveList<GrpcStream, DueHeadsTag> due_heads_;
  /// Streams with a request in kMessage that has begun with the bytes that the session receives.
  IntrusiveList<GrpcStream, NewRequestsTag> new_requests_;
  /// Streams whose handlers have read.
  IntrusiveList<GrpcStream, DueItemsTag> due_items_;
  ItemsTurn items_turn_{*this};
  IntrusiveList<RoomWaiter, RoomWaiterTag> room_waiters_;
  std::shared_ptr<void> tag_;
  /// Memory for short use.
  std::vector<std::byte> request_;
  InflatedMessage uncompressed_{kept_};
  /// Stream with a message in the bytes that the session receives.
  GrpcStream* borrowing_ = nullptr;
  /// Stream with a request that is being served.
  const GrpcStream* serving_ = nullptr;
  /// The message that is being written, and its stream's id and size.
  OutgoingMessages::Block* begun_ = nullptr;
  std::uint64_t begun_id_ = 0;
  std::uint32_t begun_bytes_ = 0;
  bool starved_ = false;
};

}  // namespace weft::detail::grpc
