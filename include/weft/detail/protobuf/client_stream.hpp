// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

#include "weft/detail/base/result.hpp"
#include "weft/detail/calls/call/call_details.hpp"
#include "weft/detail/calls/client/call_client.hpp"
#include "weft/detail/calls/stream/finish_stream.hpp"
#include "weft/detail/calls/stream/item_access.hpp"
#include "weft/detail/calls/stream/opened_stream.hpp"
#include "weft/detail/calls/stream/read_item.hpp"
#include "weft/detail/calls/stream/write_item.hpp"
#include "weft/detail/protobuf/message_items.hpp"
#include "weft/detail/protobuf/method.hpp"

namespace weft::protobuf {

namespace detail {

/// The record behind a stream of messages, which knows its request and its response as messages only.
class MessageStreamRecord : public weft::detail::OpenedStream {
 public:
  /// `response` is what the answer is read into; null when the method gives none but its items. It outlives
  /// the record.
  MessageStreamRecord(Caller& client, const weft::detail::MethodKey& method, const CallOptions& options,
                      google::protobuf::Message* response)
      : OpenedStream(client.target(), method, std::make_unique<weft::detail::CallDetails>(options, false)),
        response_(response) {}

  static void* operator new(std::size_t size) { return weft::detail::allocate_frame(size); }
  static void operator delete(void* block, std::size_t size) noexcept {
    weft::detail::release_frame(block, size);
  }

  /// Sends `request`, which is null for a method that is sent a stream of them. Throws std::bad_alloc.
  void start(const google::protobuf::Message* request);

 protected:
  ~MessageStreamRecord() = default;

 private:
  std::size_t body_bytes() const override { return kept_bytes_; }
  void encode_body(std::byte* to) const override;
  void decode_answer(Bytes body, Status& failure) noexcept override;

  google::protobuf::Message* response_;
  /// The request, while it waits for a connection.
  std::unique_ptr<std::byte[]> kept_;
  std::size_t kept_bytes_ = 0;
};

/// Place of the response of a method that gives one; nothing for one that gives only items.
template <typename Response>
struct ResponsePlace {
  google::protobuf::Message* message() { return &response; }
  Response response;
};
template <>
struct ResponsePlace<void> {
  google::protobuf::Message* message() { return nullptr; }
};

template <typename Response>
class StartedMessageStream final : ResponsePlace<Response>, public MessageStreamRecord {
 public:
  StartedMessageStream(Caller& client, const weft::detail::MethodKey& method, const CallOptions& options)
      : MessageStreamRecord(client, method, options, ResponsePlace<Response>::message()) {}

  /// Gives the response, behind the end: a response once, and a failure again.
  Result<Response> take_result() {
    if (!status().ok()) return Status{status()};
    if constexpr (std::is_void_v<Response>) {
      return {};
    } else {
      if (std::exchange(given_, true)) return weft::detail::result_was_given();
      return std::move(this->response);
    }
  }

 private:
  bool given_ = false;
};

/// Place of the item that was read last; nothing for a stream that has none.
template <typename Read>
struct ItemPlace {
  std::unique_ptr<Read> item = std::make_unique<Read>();
};
template <>
struct ItemPlace<void> {};

}  // namespace detail

/// A call of a streaming method; returned by a stub's method. Reads messages of type `Read` (void: the method
/// sends one response), writes messages of type `Written` (void: it takes one request), and ends with a
/// `Response` (void: where it sends a stream of them).
///
///     auto quotes = stub.Watch(request);
///     while (const auto* quote = co_await quotes.next()) use(*quote);
///     if (!quotes.status().ok()) ...
///
/// It is on its way when the stub's method returns, or waits for the connection. The rules of
/// weft::ClientStream apply: dropping it cancels it, it has no timeout but its own, it does not begin again,
/// it must not outlive its client. Movable, while no coroutine waits. Thread: the client's loop; one
/// coroutine reads and one writes at a time.
template <typename Read, typename Written, typename Response>
class [[nodiscard("dropping a stream cancels it")]] ClientStream : detail::ItemPlace<Read> {
  using Record = detail::StartedMessageStream<Response>;

 public:
  /// `request` is null when they are streamed. Throws std::bad_alloc.
  ClientStream(Caller& client, const weft::detail::MethodKey& method, const CallOptions& options,
               const google::protobuf::Message* request)
      : record_(std::make_unique<Record>(client, method, options)) {
    record_->start(request);
  }

  /// Waits for the next message: `Read*`, the stream's own, which may be changed, and is read into again when
  /// next() is called again. Null behind the last one; then status() says how it ended. Cancel: the stream is
  /// cancelled.
  auto next() noexcept
    requires(!std::is_void_v<Read>)
  {
    return weft::detail::ReadItem<detail::MessageItems<Read>, weft::detail::OpenedItems>{items(),
                                                                                         *this->item};
  }

  /// Sends a message: `co_await stream.write(message)`. Waits while the method is slow to read, or for the
  /// connection. Returns false when the method takes no more messages: it has ended, and finish() returns its
  /// outcome. Cancel: the stream is cancelled.
  template <typename Message = Written>
    requires(!std::is_void_v<Written> && std::is_same_v<Message, Written>)
  auto write(const Message& message) noexcept {
    return weft::detail::WriteItem<detail::MessageItems<Written>, weft::detail::OpenedItems>{items(),
                                                                                             message};
  }
  /// Says that no more messages are written: the method's reader sees their end. Reading goes on.
  void end_writing() noexcept
    requires(!std::is_void_v<Written>)
  {
    record_->side().end_writing();
  }

  /// Ends writing, drops the messages that were not read, and waits for the method's end: Result<Response>,
  /// once. Cancel: the stream is cancelled.
  auto finish() noexcept { return weft::detail::FinishStream<Record>{*record_}; }

  /// Ends the stream with kCancelled, also for the method. Unread messages are dropped.
  void cancel() noexcept { record_->on_cancel(CancelReason::kRequested); }
  /// Returns true if the method has ended, or the stream has failed; messages may still be left to read.
  bool done() const noexcept { return record_->done(); }
  /// Says why it failed; ok while it goes on, and when it ended well.
  Status status() const { return record_->status(); }

 private:
  weft::detail::OpenedItems items() const noexcept { return weft::detail::OpenedItems{*record_}; }

  std::unique_ptr<Record> record_;
};

}  // namespace weft::protobuf
