// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <stop_token>
#include <utility>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/base/status.hpp"
#include "weft/detail/calls/call/call_door.hpp"
#include "weft/detail/calls/stream/opened_stream.hpp"
#include "weft/detail/calls/terms/answer_metadata.hpp"
#include "weft/detail/calls/terms/call_options.hpp"
#include "weft/detail/calls/terms/method_key.hpp"
#include "weft/detail/calls/threads/errand_bytes.hpp"
#include "weft/detail/calls/threads/exchange_pump.hpp"
#include "weft/detail/calls/threads/stream_exchange.hpp"
#include "weft/detail/memory/buffer.hpp"
#include "weft/detail/runtime/posted.hpp"

namespace weft::detail {

/// A stream on the loop of a client, for threads without a loop: one record that both sides share, like a
/// CallErrand. The OpenedStream, its options and timers are created and destroyed on the loop. Items and the
/// answer go through the exchange, and stay there when the stream, the client or the loop ends.
///
///   caller's thread    made -> encoded -> send()                      await_end() -> the outcome
///                                           |                                ^
///   client's loop                           '-> begin() -> items -> conclude()
///
/// The stream can be abandoned at any time without waiting, because its memory belongs to the record. Thread:
/// the user's, except where stated.
class StreamErrand final : public Errand, public StreamExchange {
 public:
  /// Releases the user's reference, and ends the stream if it still goes on.
  struct Release {
    void operator()(StreamErrand* errand) const noexcept { errand->let_go(); }
  };
  using Owner = std::unique_ptr<StreamErrand, Release>;

  struct Request {
    std::shared_ptr<CallDoor> door;
    const MethodKey* method;
    CallOptions options{};
  };

  /// Makes one with room for the encoded arguments; null when that fails, with the reason in `failure`.
  static Owner make(Request request, std::size_t body_bytes, Status& failure) noexcept;

  /// Room for the encoded arguments; after a successful await_end(), the answer's body.
  const ErrandBytes& bytes() const noexcept { return bytes_; }
  /// Copies the metadata of the answer to the caller's object, if there is one. Only when the loop has
  /// concluded the stream, so that it writes no more.
  void show_metadata() const noexcept {
    if (shown_metadata_ != nullptr) *shown_metadata_ = is_concluded() ? answer_metadata_ : AnswerMetadata{};
  }
  /// Hands the stream to its loop, and ends it when a stop is requested. Call once.
  void send(const std::stop_token& stop) noexcept;
  /// Returns true if this thread may block for the stream. Otherwise ends the stream, and failure() returns
  /// the reason.
  bool may_block() noexcept;

 private:
  /// The OpenedStream, while it is on the loop.
  class Opened final : public OpenedStream, public ExchangePump {
   public:
    /// Throws std::bad_alloc.
    Opened(StreamErrand& errand, CallTarget& target, const CallOptions& options);
    ~Opened() = default;

    void start();

   private:
    struct Ended : detail::Ready {
      explicit Ended(StreamErrand& its) noexcept
          : Ready([](detail::Ready* node) noexcept { static_cast<Ended*>(node)->errand.end_begun(); }),
            errand(its) {}
      StreamErrand& errand;
    };

    void update_side() noexcept override { side(); }
    void end_stream(const Status& why) noexcept override { abandon(why); }
    std::size_t body_bytes() const override { return errand_.bytes_.body().size(); }
    void encode_body(std::byte* to) const override;
    void decode_answer(Bytes body, Status& failure) noexcept override {
      if (!errand_.bytes_.keep_answer(body)) failure = Status::of<kOutOfMemory>();
    }

    StreamErrand& errand_;
    Ended ended_;
  };
  /// Makes the loop look at the requests of the user's threads.
  class Look final : public Posted {
   public:
    explicit Look(StreamErrand& errand) noexcept : errand_(errand) {}
    void run() override;
    void drop() noexcept override { errand_.release(); }

   private:
    StreamErrand& errand_;
  };
  struct Stop {
    StreamErrand* errand;
    void operator()() const noexcept;
  };

  explicit StreamErrand(Request request) noexcept;
  ~StreamErrand() = default;

  bool keep_metadata() noexcept;
  void copy_body(std::byte* to) const noexcept;
  void let_go() noexcept;
  void post() noexcept override;
  void begin() override;
  void refuse() noexcept override;
  void discard() noexcept override { release(); }
  void end_now() noexcept override;
  bool is_of(const void* door) const noexcept override { return door_.get() == door; }
  Status loop_failure() const noexcept;
  void end_begun() noexcept;
  void end(const Status& failure) noexcept;
  void hold() noexcept { holders_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept;

  const std::shared_ptr<CallDoor> door_;
  const MethodKey* const method_;
  CallOptions options_;
  /// The caller's object for the metadata of the answer; null without one.
  AnswerMetadata* const shown_metadata_;
  /// Written by the loop, until the stream is concluded.
  AnswerMetadata answer_metadata_;
  Deadline deadline_;
  Buffer metadata_;
  ErrandBytes bytes_;
  Look look_{*this};
  std::atomic<std::uint32_t> holders_{1};
  std::optional<std::stop_callback<Stop>> stops_;
  /// Used by the loop only.
  std::optional<Opened> opened_;
};

}  // namespace weft::detail
