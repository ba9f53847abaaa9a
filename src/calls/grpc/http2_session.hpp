// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "calls/grpc/counted_heap.hpp"
#include "weft/detail/base/bytes.hpp"
#include "weft/detail/base/status.hpp"
#include "weft/detail/base/time.hpp"
#include "weft/detail/limits/token_bucket.hpp"

struct nghttp2_session;

namespace weft::detail::grpc {

/// One stream of HTTP/2, which the peer has opened. Belongs to the Http2Events of its session.
struct Http2Stream {
  explicit Http2Stream(std::int32_t its_id) noexcept : id(its_id) {}
  const std::int32_t id;
};

/// Field of a block of headers that is sent. A value that may change is copied when the block is submitted.
struct Field {
  std::string_view name;
  std::string_view value;
  /// Name and value are constants of the program.
  bool is_constant = false;
};

/// Error codes of HTTP/2 (RFC 9113, section 7) that this side sends.
enum class Http2Error : std::uint32_t {
  kNone = 0,
  kInternal = 2,
  kCancel = 8,
  kEnhanceYourCalm = 11,
};

/// Bytes of a stream's body that may leave now.
struct BodyPart {
  std::size_t bytes = 0;
  enum class End : std::uint8_t {
    kMore,      ///< more bytes follow, now or after Http2Session::resume()
    kTrailers,  ///< the last bytes; Http2Events::on_body_end() submits the trailers
    kLast,      ///< the last bytes, without trailers
  };
  End end = End::kMore;
};

/// Receives the events of an Http2Session, supplies the bodies of answers, and takes the bytes to send. The
/// functions run within Http2Session::receive() and send(), and may call all functions that submit something.
/// None may throw.
class Http2Events {
 public:
  /// A request has begun. Null: there is no memory for it, and it is reset.
  virtual Http2Stream* on_request_begin(std::int32_t id) noexcept = 0;
  /// A field of the request's head. Both texts end with this function.
  virtual void on_field(Http2Stream& stream, std::string_view name, std::string_view value) noexcept = 0;
  /// The head of the request is whole.
  virtual void on_head(Http2Stream& stream) noexcept = 0;
  /// Bytes of the request's body, which stay until the end of receive(). Each is consumed by a consume().
  virtual void on_data(Http2Stream& stream, Bytes bytes) noexcept = 0;
  /// A frame with bytes of the body has ended, and with `is_last` the request.
  virtual void on_data_end(Http2Stream& stream, bool is_last) noexcept = 0;
  /// The stream has ended, after both sides have, or because one has reset it. The last call for the stream.
  virtual void on_stream_closed(Http2Stream& stream) noexcept = 0;
  /// The peer has answered the ping with this mark.
  virtual void on_pong(std::uint8_t mark) noexcept = 0;
  /// Returns the bytes of the answer's body that may leave in a frame of at most `bytes_max`.
  virtual BodyPart body_of(Http2Stream& stream, std::size_t bytes_max) noexcept = 0;
  /// Sends a frame: `head`, and behind it `bytes` of the body. Returns false when memory is exhausted.
  virtual bool send_body(Http2Stream& stream, Bytes head, std::size_t bytes) noexcept = 0;
  /// The body has ended, and trailers are due: submit_trailers() is called now.
  virtual void on_body_end(Http2Stream& stream) noexcept = 0;
  /// Sends bytes. Returns false when memory is exhausted.
  virtual bool send_bytes(Bytes bytes) noexcept = 0;
  /// Returns true while further frames may be sent.
  virtual bool has_room_to_send() const noexcept = 0;
  /// A block of headers has left; with `is_last` it was the end of the answer.
  virtual void on_headers_sent(Http2Stream& stream, bool is_last) noexcept = 0;

 protected:
  ~Http2Events() = default;
};

struct Http2Options {
  /// Streams that the peer may have open; a few thousand, because the library's memory grows with them.
  std::uint32_t streams_max = 0;
  std::uint32_t header_bytes_max = 0;
  /// Bytes of each request's body that the peer may send before they are consumed.
  std::uint32_t stream_window = 0;
};

/// The server's side of a connection of HTTP/2: frames, compression of headers, flow control and the states
/// of streams, by libnghttp2, which no other file includes. Owns no bytes of bodies. Nothing is consumed by
/// itself: the peer may send as many bytes of a body as consume() has returned to it.
///
/// A function that submits something returns false when memory is exhausted; the connection must be closed
/// then. Thread: the connection's loop.
class Http2Session {
 public:
  /// `events` outlives it. Throws std::bad_alloc.
  Http2Session(Http2Events& events, const Http2Options& options, TimePoint now);
  ~Http2Session();
  Http2Session(const Http2Session&) = delete;
  Http2Session& operator=(const Http2Session&) = delete;

  /// Takes all of `bytes`. A failure is fatal: nothing more is received or sent. Most violations of the
  /// protocol are no failure here: the session sends a GOAWAY and is over then.
  Status receive(Bytes bytes, TimePoint now);
  /// Sends everything that was submitted, while there is room. A failure is fatal.
  Status send(TimePoint now);
  /// receive() or send() runs: neither may be called now.
  bool is_active() const noexcept { return active_; }
  bool has_output() const noexcept;
  /// Neither side can send anything more.
  bool is_over() const noexcept;
  /// The peer's first settings have arrived.
  bool has_begun() const noexcept { return has_begun_; }
  /// Returns the violation of the protocol for which this side has ended the session; empty without one.
  std::string_view breach() const noexcept { return breach_; }

  Http2Stream* find(std::int32_t id) const noexcept;
  /// Submits the head of an answer. Without `has_body` it is the whole answer.
  [[nodiscard]] bool submit_head(Http2Stream& stream, std::span<const Field> fields, bool has_body);
  [[nodiscard]] bool submit_trailers(Http2Stream& stream, std::span<const Field> fields);
  /// body_of() has something new to say.
  [[nodiscard]] bool resume(Http2Stream& stream);
  [[nodiscard]] bool reset(Http2Stream& stream, Http2Error error);
  /// The peer may send `bytes` more of the body of this stream.
  [[nodiscard]] bool consume(Http2Stream& stream, std::size_t bytes);
  [[nodiscard]] bool ping(std::uint8_t mark);
  /// Announces the end of the session. Requests that are on their way are still taken.
  [[nodiscard]] bool announce_end();
  /// Takes no further requests: the peer may repeat elsewhere the requests that are on their way. Begun ones
  /// go on.
  [[nodiscard]] bool refuse_more();
  /// Ends the session after a GOAWAY with this error.
  [[nodiscard]] bool terminate(Http2Error error);

  std::size_t heap_used() const noexcept { return heap_.used(); }
  /// Much of the library's memory is used: further answers are better submitted when others have left.
  bool is_heap_high() const noexcept { return heap_.is_high(); }

 private:
  struct Callbacks;

  void note_fault(std::string_view text) noexcept;
  void note_goaway(std::uint32_t error) noexcept;
  /// Counts a frame that asks for work and brings nothing. Ends the session when there were too many.
  void note_idle_frame() noexcept;
  bool is_done(int result) noexcept;

  CountedHeap heap_;
  Http2Events& events_;
  nghttp2_session* session_ = nullptr;
  TokenBucket idle_frames_;
  std::uint32_t idle_for_data_ = 0;
  TimePoint now_;
  /// The peer's last fault, which may have ended one stream only.
  std::array<char, 120> fault_text_;
  std::string_view fault_;
  std::string_view breach_;
  /// The last stream whose request is taken.
  std::int32_t last_taken_ = INT32_MAX;
  bool active_ = false;
  bool has_begun_ = false;
};

}  // namespace weft::detail::grpc
