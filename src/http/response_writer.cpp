// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/http/response_writer.hpp"

#include <algorithm>
#include <charconv>
#include <new>
#include <stdexcept>

#include "http/characters.hpp"
#include "weft/detail/base/assert.hpp"
#include "weft/detail/http/status.hpp"

namespace weft::detail::http {

namespace {

// Room for the head of an ordinary answer.
constexpr std::size_t kFirstRoomBytes = 256;
constexpr std::size_t kDigitsMax = 20;

bool is_written_by_writer(std::string_view name) {
  switch (name.size()) {
    case 10:
      return equal_ignoring_case(name, "Connection");
    case 14:
      return equal_ignoring_case(name, "Content-Length");
    case 17:
      return equal_ignoring_case(name, "Transfer-Encoding");
    default:
      return false;
  }
}

bool is_field_name(std::string_view name) {
  return !name.empty() &&
         std::all_of(name.begin(), name.end(), [](char byte) { return is_in(byte, ByteClass::kToken); });
}

bool is_field_value(std::string_view value) {
  const char* at = value.data();
  const char* const end = at + value.size();
  while ((at = find_control(at, end)) != end) {
    if (*at++ != '\t') return false;
  }
  return true;
}

}  // namespace

ResponseWriter::ResponseWriter(std::string& out) noexcept : string_(&out), before_(out.size()) {
  begin_ = at_ = end_ = out.data() + before_;
  grow(kFirstRoomBytes);
}

bool ResponseWriter::grow(std::size_t bytes) noexcept {
  if (string_ == nullptr || overflowed_) {
    overflowed_ = true;
    end_ = at_;
    return false;
  }
  const std::size_t written = this->bytes();
  try {
    string_->resize(before_ + std::max(written * 2, written + bytes));
  } catch (const std::bad_alloc&) {
    overflowed_ = true;
  } catch (const std::length_error&) {
    overflowed_ = true;
  }
  begin_ = string_->data() + before_;
  at_ = begin_ + written;
  end_ = overflowed_ ? at_ : string_->data() + string_->size();
  return !overflowed_;
}

bool ResponseWriter::finish() noexcept {
  if (string_ != nullptr) {
    string_->resize(overflowed_ ? before_ : before_ + bytes());
    end_ = at_;
    string_ = nullptr;
  }
  return !overflowed_;
}

void ResponseWriter::put_number(std::uint64_t number) noexcept {
  char digits[kDigitsMax];
  const char* const end = std::to_chars(digits, digits + kDigitsMax, number).ptr;
  put({digits, static_cast<std::size_t>(end - digits)});
}

void ResponseWriter::begin(const ResponseHead& head) noexcept {
  WEFT_ASSERT(head.status >= 100 && head.status <= 999, "the status of an answer has three digits");
  if (head.status == 200) {
    put("HTTP/1.1 200 OK\r\n");
  } else {
    put("HTTP/1.1 ");
    put_number(static_cast<std::uint64_t>(head.status));
    // The space belongs to the status line even without a phrase (RFC 9112, 4).
    put(" ");
    put(reason_phrase(head.status));
    put("\r\n");
  }
  if (!head.date.empty()) add("Date", head.date);
  if (!head.keeps_alive) {
    put("Connection: close\r\n");
  } else if (head.version == Version::k10) {
    put("Connection: keep-alive\r\n");
  }
}

bool ResponseWriter::add(std::string_view name, std::string_view value) noexcept {
  // RFC 9110, 5.1 and 5.5.
  if (!is_field_name(name) || !is_field_value(value) || is_written_by_writer(name)) return false;
  constexpr std::string_view kColon = ": ";
  constexpr std::string_view kLineEnd = "\r\n";
  char* to = room(name.size() + kColon.size() + value.size() + kLineEnd.size());
  if (to == nullptr) return true;
  for (const std::string_view part : {name, kColon, value, kLineEnd}) to += part.copy(to, part.size());
  at_ = to;
  return true;
}

void ResponseWriter::end_with_length(std::uint64_t body_bytes) noexcept {
  put("Content-Length: ");
  put_number(body_bytes);
  put("\r\n\r\n");
}

void ResponseWriter::end_chunked() noexcept {
  put("Transfer-Encoding: chunked\r\n\r\n");
}

void ResponseWriter::begin_chunk(std::size_t bytes) noexcept {
  WEFT_ASSERT(bytes > 0, "an empty chunk would end the body");
  char line[kChunkHeadBytesMax];
  char* end = std::to_chars(line, line + kChunkHeadBytesMax, bytes, 16).ptr;
  *end++ = '\r';
  *end++ = '\n';
  put({line, static_cast<std::size_t>(end - line)});
}

void ResponseWriter::put_chunk(std::string_view text) noexcept {
  if (text.empty()) return;
  begin_chunk(text.size());
  put(text);
  end_chunk();
}

void write_answer(ResponseWriter& writer, const ResponseHead& head, Method method,
                  std::string_view content_type, std::string_view body) noexcept {
  writer.begin(head);
  if (!content_type.empty()) writer.add("Content-Type", content_type);
  // RFC 9110, 8.6: no length in an answer with 1xx or 204; that of 304 would be the one of 200.
  if (!may_have_body(Method::kGet, head.status)) return writer.end();
  writer.end_with_length(body.size());
  if (may_have_body(method, head.status)) writer.put(body);
}

}  // namespace weft::detail::http
