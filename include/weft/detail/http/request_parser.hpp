// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/http/request.hpp"
#include "weft/detail/http/request_limits.hpp"

namespace weft::detail::http {

/// Failure of a request that breaks a rule or a limit of the protocol.
struct Refusal {
  /// Status of the answer, such as 400.
  int status = 0;
  /// Text for people, with the limit and its value. Has no byte of the request. Empty if there was no memory.
  std::string text;
};

/// Reads the requests of one connection, one after the other: HTTP/1.1 and HTTP/1.0 by RFC 9112, and nothing
/// that two readers could understand in different ways. It does no I/O, and bytes may arrive in any pieces:
/// the same bytes give the same events.
///
///     for (;;) {
///       const auto step = parser.next(input);
///       input = input.subspan(step.taken);
///       switch (step.event) {
///         case Event::kMore:    wait for more bytes; send 100 Continue first if parser.awaits_continue()
///         case Event::kHead:    look at parser.request()
///         case Event::kBody:    use step.body
///         case Event::kEnd:     answer
///         case Event::kRefused: answer with parser.refusal(), send "Connection: close", close
///         case Event::kClosed:  read nothing any more
///       }
///     }
///
/// The events of one request are kHead, any number of kBody, and kEnd; kRefused may come in place of each. A
/// caller that does not call next() after kEnd leaves pipelined requests where they are. Each byte of a head
/// is looked at a few times however it arrives, and a connection allocates no memory for requests that fit
/// the buffers of an earlier one.
class RequestParser {
 public:
  enum class Event : std::uint8_t { kMore, kHead, kBody, kEnd, kRefused, kClosed };

  struct Step {
    Event event = Event::kMore;
    /// Number of bytes that were read; all of them if the event is kMore.
    std::size_t taken = 0;
    /// Piece of the body, a part of the input; not empty if the event is kBody.
    Bytes body{};
  };

  explicit RequestParser(const RequestLimits& limits = {});

  /// Reads from the beginning of `input` up to the next event. Empty input is allowed.
  Step next(Bytes input) noexcept;

  /// Head of the current request; valid from kHead until next() is called with bytes after kEnd.
  const Request& request() const noexcept { return request_; }
  /// Reason of the event kRefused.
  const Refusal& refusal() const noexcept { return refusal_; }

  /// Replaces RequestLimits::body_bytes_max for the current request; call it from kHead on. The length of the
  /// body, or of its part that is known, is compared with the limit in the next call of next().
  void limit_body(std::uint64_t body_bytes_max) noexcept { body_limit_ = body_bytes_max; }
  /// The same for the part of the body that has not arrived.
  void limit_rest_of_body(std::uint64_t bytes_max) noexcept {
    body_limit_ = bytes_max < UINT64_MAX - body_bytes_ ? body_bytes_ + bytes_max : UINT64_MAX;
  }
  /// Returns the length of the rest of the body as far as it is known: of the body, or of the current chunk.
  std::uint64_t rest_of_body() const noexcept { return left_; }
  /// Returns true while the client waits for a 100 Continue before it sends its body: it asked for one, the
  /// length is within the limit, and no byte of the body arrived. Ask after kMore.
  bool awaits_continue() const noexcept;
  /// Returns true between requests: the peer may close the connection here without a loss.
  bool idle() const noexcept;

  /// Memory that the parser keeps for the connection.
  std::size_t memory_bytes() const noexcept;
  /// Gives back this memory if the parser is idle, for a connection that waits. Ends the views of request().
  void trim() noexcept;

 private:
  enum class State : std::uint8_t {
    kBetween,      // no byte of a request
    kHead,         // lines of the head
    kHeadDone,     // the head was handed up
    kBody,         // left_ bytes of a body with Content-Length
    kChunkSize,    // digits of the size of a chunk
    kChunkSizeLf,  // the LF behind the size
    kChunk,        // left_ bytes of a chunk
    kChunkCr,      // the CR behind a chunk
    kChunkLf,      // the LF behind a chunk
    kTrailers,     // lines behind the last chunk
    kClosed,       // nothing is read any more
  };
  enum class Scan : std::uint8_t { kMore, kDone, kRefused };

  /// Progress in lines that end with CRLF; offsets from the first of them.
  struct Lines {
    std::uint32_t line = 0;         // beginning of the current line
    std::uint32_t scanned = 0;      // next byte to look at
    std::uint32_t end = 0;          // last offset at which the CR of the current line may be
    bool has_request_line = false;  // the request line was read, or these are trailers
    bool has_leading_line = false;  // an empty line came before the request line
    bool has_field = false;         // a field was read
  };

  Step read(Bytes input);
  Step read_head(Bytes input);
  Step start_body(Bytes input);
  Step read_length_body(Bytes input);
  Step read_chunks(Bytes input);
  /// Refuses a body whose known length is over the limit.
  bool exceeds_limit();
  Step end(std::size_t taken);
  void begin() noexcept;

  Scan take_chunk_size(const char*& at, const char* end);
  Scan begin_chunk();
  Scan take_byte(char wanted, char found, State next, std::string_view refusal);

  Scan read_lines(std::string& buffer, Bytes input, std::size_t& taken);
  Scan scan_lines(const char* text, std::size_t bytes);
  Scan take_line(const char* text, std::size_t at, std::size_t end);

  Scan take_request_line(const char* text, std::size_t at, std::size_t end);
  Scan take_version(std::string_view text);
  Scan take_method(std::string_view name);
  Scan take_target(const char* text, std::size_t at, std::size_t end);
  Scan take_path_and_query(const char* text, std::size_t at, std::size_t end);
  Scan take_query(const char* text, std::size_t at, std::size_t end);
  Scan decode_path(std::string_view path);

  Scan take_field(const char* text, std::size_t at, std::size_t end);
  Scan take_known_field(std::string_view name, std::string_view value, std::size_t value_at);
  Scan take_host(std::string_view value, std::size_t value_at);
  Scan take_expect(std::string_view value);
  Scan take_content_length(std::string_view value);
  Scan take_transfer_encoding(std::string_view value);
  Scan check_head();

  Scan line_too_long();
  Scan refuse(int status, std::string_view text) noexcept;
  Scan refuse_over(int status, std::string_view subject, std::uint64_t limit, std::string_view unit);

  RequestLimits limits_;
  Request request_;
  Refusal refusal_;
  std::string trailers_;
  std::uint64_t left_ = 0;
  std::uint64_t body_bytes_ = 0;
  std::uint64_t body_limit_ = 0;
  Lines lines_;
  Request::Span authority_;  // of a target in absolute form
  std::uint8_t chunk_digits_ = 0;
  State state_ = State::kBetween;
  bool has_host_ = false;
  bool has_length_ = false;
  bool is_chunked_ = false;
  bool says_close_ = false;
  bool says_keep_alive_ = false;
};

}  // namespace weft::detail::http
