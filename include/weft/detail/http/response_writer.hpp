// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/http/request.hpp"

namespace weft::detail::http {

/// Answer to "Expect: 100-continue"; see RequestParser::awaits_continue().
inline constexpr std::string_view kContinueAnswer = "HTTP/1.1 100 Continue\r\n\r\n";

/// Facts of the first lines of an answer.
struct ResponseHead {
  int status = 200;
  /// Text of the Date field, see DateText; without a Date field if empty.
  std::string_view date{};
  /// Version of the request. The answer itself always says HTTP/1.1 (RFC 9110, 6.2).
  Version version = Version::k11;
  /// False writes "Connection: close". True writes "Connection: keep-alive" for an HTTP/1.0 request.
  bool keeps_alive = true;
};

/// Returns false for an answer that ends behind its head (RFC 9112, 6.3): to HEAD, and with status 1xx, 204
/// or 304. To HEAD it may have the Content-Length of the same answer to GET.
constexpr bool may_have_body(Method method, int status) noexcept {
  return method != Method::kHead && status >= 200 && status != 204 && status != 304;
}

/// Composes answers in memory of the caller: at the end of a string that grows, or in a span of fixed size.
/// Allocates nothing itself, and a string that is reused stops growing.
///
///     ResponseWriter writer{out};
///     writer.begin({.status = 200, .date = date.at(now), .keeps_alive = request.keeps_alive()});
///     writer.add("Content-Type", "application/json");
///     writer.end_with_length(body.size());
///     writer.put(body);
///     if (!writer.finish()) ...
///
/// Without room or memory nothing more is written, and finish() returns false.
class ResponseWriter {
 public:
  /// Most bytes that begin_chunk() writes.
  static constexpr std::size_t kChunkHeadBytesMax = 18;

  explicit ResponseWriter(std::string& out) noexcept;
  explicit ResponseWriter(std::span<char> out) noexcept
      : begin_(out.data()), at_(out.data()), end_(out.data() + out.size()) {}
  ResponseWriter(const ResponseWriter&) = delete;
  ResponseWriter& operator=(const ResponseWriter&) = delete;
  ~ResponseWriter() { finish(); }

  /// Writes the status line, Date and Connection. The status has three digits, which is asserted.
  void begin(const ResponseHead& head) noexcept;
  /// Writes a field. Writes nothing and returns false for a name that is no token, for a value with a control
  /// byte other than a tab (so no CR or LF), and for the names that this class writes itself: Content-Length,
  /// Transfer-Encoding, Connection.
  bool add(std::string_view name, std::string_view value) noexcept;

  /// Ends the head of an answer whose body has `body_bytes`.
  void end_with_length(std::uint64_t body_bytes) noexcept;
  /// Ends the head of an answer in chunks; of an answer to HTTP/1.1 only.
  void end_chunked() noexcept;
  /// Ends the head of an answer with neither: for 204 and 304, or a body that ends with the connection.
  void end() noexcept { put("\r\n"); }

  /// Writes bytes as they are.
  void put(std::string_view text) noexcept {
    if (char* const to = room(text.size())) at_ = text.copy(to, text.size()) + to;
  }
  /// Writes the line before a chunk of `bytes`, which is not 0. end_chunk() follows behind the chunk.
  void begin_chunk(std::size_t bytes) noexcept;
  void end_chunk() noexcept { put("\r\n"); }
  /// Writes `text` as one chunk; nothing if it is empty, because an empty chunk would end the body.
  void put_chunk(std::string_view text) noexcept;
  /// Ends a body in chunks, with the lines of a trailer section (RFC 9112, 7.1.2).
  void end_chunks(std::string_view trailer = {}) noexcept {
    put("0\r\n");
    put(trailer);
    put("\r\n");
  }

  /// Number of bytes written so far.
  std::size_t bytes() const noexcept { return static_cast<std::size_t>(at_ - begin_); }
  /// Gives the string its final size. Returns false, with the string as it was, if room or memory was
  /// missing.
  bool finish() noexcept;

 private:
  /// Room for `bytes` at at_, or null.
  char* room(std::size_t bytes) noexcept {
    if (static_cast<std::size_t>(end_ - at_) < bytes && !grow(bytes)) [[unlikely]] {
      return nullptr;
    }
    return at_;
  }
  bool grow(std::size_t bytes) noexcept;
  void put_number(std::uint64_t number) noexcept;

  std::string* string_ = nullptr;
  std::size_t before_ = 0;  // size of the string at the beginning
  char* begin_ = nullptr;
  char* at_ = nullptr;
  char* end_ = nullptr;
  bool overflowed_ = false;
};

/// Writes a whole answer with `body` of the given type, and leaves the body out if may_have_body() says so.
void write_answer(ResponseWriter& writer, const ResponseHead& head, Method method,
                  std::string_view content_type, std::string_view body) noexcept;

}  // namespace weft::detail::http
