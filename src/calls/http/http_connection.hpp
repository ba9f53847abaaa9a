// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calls/http/method_json.hpp"
#include "calls/http/page.hpp"
#include "calls/http/stream_answer.hpp"
#include "calls/serve/protocol.hpp"
#include "calls/serve/served_calls.hpp"
#include "calls/stream/item_sink.hpp"
#include "weft/detail/base/intrusive_list.hpp"
#include "weft/detail/calls/terms/answer_sink.hpp"
#include "weft/detail/calls/terms/metadata.hpp"
#include "weft/detail/http/date.hpp"
#include "weft/detail/http/request_parser.hpp"
#include "weft/detail/http/response_writer.hpp"
#include "weft/detail/runtime/timer.hpp"
#include "weft/detail/transport/byte_connection.hpp"
#include "weft/http.hpp"

namespace weft::detail::http {

/// State that the HTTP connections of one loop share. Thread: the loop's.
struct HttpLoop {
  DateText date;
  MethodJson json;
  /// Memory for short use within one step of one connection.
  std::string answer;
  std::vector<std::byte> message;
  std::vector<std::byte> result;
};

/// Header fields that few answers have.
struct AnswerExtras {
  std::string_view type = "application/json";
  std::string_view allow{};
  /// Content-Security-Policy of a page for browsers.
  std::string_view policy{};
  Duration retry_after{};
};

/// One connection of HTTP/1.1 on which functions are called with JSON. Requests are served one after the
/// other; pipelined ones wait in the connection, which receives no more than a chunk of them. A client that
/// ends its side while its call runs cancels the call.
///
///   kIdle --a head--> kReading --the body--> kServing --answered--> kIdle, or kOver
///                         '--answered early--> kAnswered --the rest of the body--> kIdle, or kOver
///
/// A call with a stream of items in its request is in kServing while the rest of the body arrives: lines of
/// JSON. They wait in the connection, which pauses, while the stream has no credit.
///
/// Thread: its loop's.
class HttpConnection final : public ServedConnection, private ByteSink, private AnswerSink, private Timer {
 public:
  /// `options` and `shared` outlive it.
  HttpConnection(const ServedConnectionSetup& setup, const HttpOptions& options, HttpLoop& shared,
                 std::unique_ptr<BaseCarrier> carrier);
  ~HttpConnection() override;

  void start(Bytes received) override;
  void drain() override;
  void close(const Status& why) override;
  std::string remote_endpoint() const override { return connection_.remote_endpoint(); }
  ConnectionStats traffic() const noexcept override;

 private:
  enum class Phase : std::uint8_t {
    kIdle,      ///< between requests
    kReading,   ///< the head of a request has arrived, its body may follow
    kAnswered,  ///< the request was answered before its end, which is dropped
    kServing,   ///< the call runs
    kOver,      ///< nothing is read any more
  };

  // The connection reports.
  std::size_t on_bytes(Bytes bytes) override;
  void on_peer_end() override;
  void on_drained() override;
  void on_closed(const Status& why) override;
  void on_timer() override;

  // The calls report.
  std::byte* begin_answer(std::uint64_t id, std::size_t body_bytes, std::uint64_t attachment_bytes) override;
  void end_answer() override;
  void take_back_answer(const std::byte*) override {}
  void end_answer_with(std::uint64_t id, Attachment& attachment,
                       std::unique_ptr<AnswerWishes> wishes) override;
  Status send_metadata(std::uint64_t id, bool initial, Bytes pairs) override;
  void fail(std::uint64_t id, const Status& failure) override;
  void refuse(std::uint64_t id, RefusalReason reason, const Status& why) override;
  void refuse_without_memory(std::uint64_t id) override;
  bool has_room() const noexcept override { return is_gone() || connection_.has_room(); }
  void add_room_waiter(RoomWaiter& waiter) override { room_waiters_.push_back(waiter); }
  bool charge_answer(std::size_t bytes) override { return served_.admission().admit_answer(bytes); }
  void wake_room_waiter() override;
  void forget(ServedCall& call) override;
  std::string local_endpoint() const override { return connection_.local_endpoint(); }
  std::shared_ptr<void>& connection_tag() override { return tag_; }
  ItemSink* streams() override { return &items_; }
  void finish() override { drain(); }

  /// The streams report.
  class Items final : public ItemSink {
   public:
    explicit Items(HttpConnection& connection);

   private:
    // Nothing but room holds a writer back.
    std::uint64_t first_credit() const noexcept override { return UINT64_MAX; }
    std::uint32_t item_bytes_max() const noexcept override;
    bool has_room_for_items() noexcept override;
    bool reserve_item(std::size_t bytes) noexcept override;
    std::byte* begin_item(const StreamPlace& place, std::uint32_t bytes) noexcept override;
    Status end_item(const StreamPlace& place) noexcept override;
    void take_back_item(const std::byte* body) noexcept override;
    // The answer ends the items.
    void end_items(const StreamPlace&) noexcept override {}
    void send_credit(const StreamPlace& place, std::uint64_t granted) noexcept override;

    HttpConnection& connection_;
  };
  /// Passes waiting lines to the stream, which has credit again.
  struct ItemsTurn : Ready {
    explicit ItemsTurn(HttpConnection& its) noexcept;
    HttpConnection& connection;
  };

  /// Returns true while the client waits for the answer of this call. A call that missed its deadline was
  /// answered already.
  bool awaits(std::uint64_t id) const noexcept { return id == id_ && !is_gone() && !is_answered(); }
  bool is_answered() const noexcept { return phase_ != Phase::kReading && phase_ != Phase::kServing; }
  /// Returns true if the rest of the body is longer than the part that is read behind an answer.
  bool rest_is_too_long() const noexcept { return parser_.rest_of_body() > options_.body_bytes_max; }
  void begin_request();
  void serve_page(const Page& page);
  Status take_headers();
  void take_body(Bytes piece);
  void end_request();
  /// Serves the call with these arguments.
  void serve(std::string_view arguments);
  /// Finds whether the request or the answer is a stream. Returns false when the request was refused.
  bool prepare_streams();
  /// Serves a call whose arguments are the first line of the body, if that has arrived.
  void serve_first_line();
  /// Takes a piece of a stream of lines.
  void take_items(Bytes piece);
  /// Passes lines that have arrived to the stream, as long as it has credit.
  void pass_items();
  void pass_item(StreamSide& side, std::string_view json);
  /// The items cannot be read any more; the rest of the body is dropped.
  void fail_items(Status why);
  /// Returns the stream of the call; null when it has ended.
  StreamSide* stream_of_call() const;
  bool takes_items() const noexcept { return phase_ == Phase::kServing && receives_items_; }
  /// Writes the head of an answer up to the fields that say how the body ends.
  void write_head(ResponseWriter& writer, int status, std::string_view content_type,
                  const AnswerExtras& extras);
  /// Queues a part of an answer that is a stream. Returns false when the connection was given up.
  bool send_part(StreamAnswer::Part part, std::string_view json);
  /// Queues the answer that `writer` made. Returns false when the connection was given up.
  bool send_written(ResponseWriter& writer);
  /// The answer was queued.
  void answered();
  /// Queues an answer. Returns false when the connection was given up because memory is exhausted.
  bool answer(int status, std::string_view json, const AnswerExtras& extras = {});
  void answer_error(const Status& failure, int status = 0);
  /// Answers the call with a failure in place of a result that cannot be sent.
  void answer_failed_end(const Status& failure);
  /// Counts the request that is being read, if it was begun: it is not served, and was `answered` or not.
  void note_unserved(std::optional<StatusCode> answered) noexcept;
  /// Nothing is read any more.
  void end_reading() noexcept;
  /// Ends the connection because memory is exhausted.
  void give_up() noexcept;
  /// A request has ended, and was answered.
  void next_request();
  void end_calls() noexcept;
  void release_body() noexcept;
  /// Releases the memory reserved for answers that have left.
  void settle_answers() noexcept;
  /// Arms the timer for the next part of the request.
  void watch() noexcept;

  Loop& loop_;
  ServedConnectionOwner& owner_;
  const ServerView& server_;
  CallsHost& host_;
  const HttpOptions& options_;
  HttpLoop& shared_;
  ByteConnection connection_;
  ServedCalls served_;
  const RpcLimits& limits_;
  RequestParser parser_;
  IntrusiveList<RoomWaiter, RoomWaiterTag> room_waiters_;
  std::shared_ptr<void> tag_;

  // The current request.
  std::uint64_t id_ = 0;
  /// Null once the request is served or refused, and counted so.
  const MethodEntry* method_ = nullptr;
  const MessageJson* json_ = nullptr;
  Metadata metadata_;
  Deadline deadline_{};
  std::string body_;
  /// Bytes of body_ that are reserved in the memory of the server.
  std::size_t reserved_ = 0;
  /// Bytes of queued answers that are reserved there.
  std::size_t answers_reserved_ = 0;
  std::vector<std::byte> result_;
  std::string allowed_origin_;
  /// Lines of metadata of the answer that have not been sent.
  std::string answer_fields_;
  StreamAnswer stream_answer_;
  Items items_{*this};
  ItemsTurn items_turn_{*this};
  /// Bytes of body_ that are known to hold no end of a line.
  std::size_t searched_ = 0;
  std::uint64_t items_passed_ = 0;

  // Of all requests of the connection.
  std::uint64_t items_received_ = 0;
  std::uint64_t items_sent_ = 0;

  /// Beginning of the time that the part of the request has which is received now.
  TimePoint part_began_{};
  /// Bytes of the body received since then.
  std::size_t part_bytes_ = 0;
  Phase phase_ = Phase::kIdle;
  bool keeps_alive_ = true;
  /// The answer is a stream, and its head was queued.
  bool answers_stream_ = false;
  bool has_begun_answer_ = false;
  /// The rest of the body is lines of items, which have not all arrived.
  bool receives_items_ = false;
  /// All items have arrived, and the stream does not know it.
  bool has_last_item_ = false;
  bool drops_items_ = false;
  bool draining_ = false;
  bool peer_ended_ = false;
};

}  // namespace weft::detail::http
