// SPDX-License-Identifier: Apache-2.0
// Events, lines and bodies; the rules of the head are in request_head.cpp.
#include "weft/detail/http/request_parser.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "http/characters.hpp"

namespace weft::detail::http {

namespace {

constexpr std::size_t kHeadPartMax = std::size_t{1} << 30;
constexpr std::size_t kChunkDigitsMax = 16;
// A head that arrives in pieces is copied in steps of this size, so that little is copied that follows it.
constexpr std::size_t kCopyBytes = 512;

std::uint32_t as_offset(std::size_t at) {
  return static_cast<std::uint32_t>(at);
}

}  // namespace

RequestParser::RequestParser(const RequestLimits& limits) : limits_(limits) {
  // Offsets within a head have 32 bits, and sizes of chunks 64.
  for (std::size_t* const most :
       {&limits_.request_line_bytes_max, &limits_.header_bytes_max, &limits_.trailer_bytes_max}) {
    *most = std::min(*most, kHeadPartMax);
  }
  limits_.chunk_digits_max = std::min(limits_.chunk_digits_max, kChunkDigitsMax);
}

bool RequestParser::awaits_continue() const noexcept {
  const bool before_body = state_ == State::kBody || (state_ == State::kChunkSize && chunk_digits_ == 0);
  return request_.expects_continue_ && before_body && body_bytes_ == 0;
}

bool RequestParser::idle() const noexcept {
  // An empty line that some clients send behind a body begins no request.
  const bool only_empty_line = lines_.line == request_.head_.size() && !lines_.has_request_line;
  return state_ == State::kBetween || (state_ == State::kHead && only_empty_line);
}

std::size_t RequestParser::memory_bytes() const noexcept {
  return request_.head_.capacity() + request_.decoded_path_.capacity() + trailers_.capacity() +
         request_.fields_.capacity() * sizeof(Request::Field);
}

void RequestParser::trim() noexcept {
  if (state_ != State::kBetween && state_ != State::kClosed) return;
  // Assigning an empty string would keep the memory.
  Request empty;
  std::swap(request_, empty);
  std::string{}.swap(trailers_);
}

RequestParser::Step RequestParser::next(Bytes input) noexcept {
  try {
    return read(input);
  } catch (const std::bad_alloc&) {
    refuse(503, "there is no memory for the request");
    return {.event = Event::kRefused};
  }
}

RequestParser::Step RequestParser::read(Bytes input) {
  switch (state_) {
    case State::kBetween:
      if (input.empty()) return {};
      begin();
      return read_head(input);
    case State::kHead:
      return read_head(input);
    case State::kHeadDone:
      return start_body(input);
    case State::kBody:
      return read_length_body(input);
    case State::kClosed:
      return {.event = Event::kClosed, .taken = input.size()};
    default:
      return read_chunks(input);
  }
}

void RequestParser::begin() noexcept {
  state_ = State::kHead;
  request_.head_.clear();
  request_.fields_.clear();
  request_.decoded_path_.clear();
  request_.content_length_ = 0;
  request_.query_ = request_.host_ = authority_ = {};
  request_.body_kind_ = BodyKind::kNone;
  request_.path_is_decoded_ = request_.expects_continue_ = false;
  has_host_ = has_length_ = is_chunked_ = says_close_ = says_keep_alive_ = false;
  body_bytes_ = 0;
  body_limit_ = limits_.body_bytes_max;
  chunk_digits_ = 0;
  lines_ = {.end = as_offset(limits_.request_line_bytes_max)};
}

RequestParser::Step RequestParser::read_head(Bytes input) {
  std::size_t taken = 0;
  switch (read_lines(request_.head_, input, taken)) {
    case Scan::kMore:
      return {.event = Event::kMore, .taken = taken};
    case Scan::kRefused:
      return {.event = Event::kRefused, .taken = taken};
    case Scan::kDone:
      break;
  }
  if (check_head() == Scan::kRefused) return {.event = Event::kRefused, .taken = taken};
  state_ = State::kHeadDone;
  return {.event = Event::kHead, .taken = taken};
}

RequestParser::Step RequestParser::start_body(Bytes input) {
  if (request_.body_kind_ == BodyKind::kChunked) {
    state_ = State::kChunkSize;
    left_ = 0;
    return read_chunks(input);
  }
  left_ = request_.content_length_;
  state_ = State::kBody;
  return read_length_body(input);
}

// RFC 9110, 15.5.14. The limit may have changed since the length was known.
bool RequestParser::exceeds_limit() {
  if (body_bytes_ <= body_limit_ && left_ <= body_limit_ - body_bytes_) return false;
  refuse_over(413, "the body is longer than", body_limit_, "bytes");
  return true;
}

RequestParser::Step RequestParser::end(std::size_t taken) {
  // RFC 9112, 9.6: no request behind one that closes the connection is processed.
  state_ = request_.keeps_alive_ ? State::kBetween : State::kClosed;
  return {.event = Event::kEnd, .taken = taken};
}

RequestParser::Step RequestParser::read_length_body(Bytes input) {
  if (left_ == 0) return end(0);
  if (exceeds_limit()) return {.event = Event::kRefused};
  const auto piece = static_cast<std::size_t>(std::min<std::uint64_t>(left_, input.size()));
  if (piece == 0) return {};
  left_ -= piece;
  body_bytes_ += piece;
  return {.event = Event::kBody, .taken = piece, .body = input.first(piece)};
}

// RFC 9112, 7.1.
RequestParser::Step RequestParser::read_chunks(Bytes input) {
  const char* const begin = as_text(input).data();
  const char* const end_of_input = begin + input.size();
  const char* at = begin;
  Scan scan = Scan::kMore;
  while (at != end_of_input && scan == Scan::kMore) {
    const auto taken = static_cast<std::size_t>(at - begin);
    switch (state_) {
      case State::kChunkSize:
        scan = take_chunk_size(at, end_of_input);
        break;
      case State::kChunkSizeLf:
        scan = take_byte('\n', *at++, State::kChunk, "a line feed must follow the size of a chunk");
        if (scan == Scan::kMore) scan = begin_chunk();
        break;
      case State::kChunk: {
        if (exceeds_limit()) return {.event = Event::kRefused, .taken = taken};
        const auto rest = static_cast<std::uint64_t>(end_of_input - at);
        const auto piece = static_cast<std::size_t>(std::min(left_, rest));
        left_ -= piece;
        body_bytes_ += piece;
        if (left_ == 0) state_ = State::kChunkCr;
        return {.event = Event::kBody, .taken = taken + piece, .body = input.subspan(taken, piece)};
      }
      case State::kChunkCr:
        scan = take_byte('\r', *at++, State::kChunkLf, "a chunk is longer than its size");
        break;
      case State::kChunkLf:
        scan = take_byte('\n', *at++, State::kChunkSize, "a line feed must follow a chunk");
        break;
      default: {
        std::size_t more = 0;
        scan = read_lines(trailers_, input.subspan(taken), more);
        at += more;
        if (scan == Scan::kDone) return end(taken + more);
      }
    }
  }
  return {.event = scan == Scan::kRefused ? Event::kRefused : Event::kMore,
          .taken = static_cast<std::size_t>(at - begin)};
}

// Hexadecimal digits and a CR. RFC 9112, 7.1.1 lets a server refuse long extensions; this one accepts none,
// because readers disagree where an extension ends.
RequestParser::Scan RequestParser::take_chunk_size(const char*& at, const char* end) {
  for (; at != end && is_in(*at, ByteClass::kHex); ++at) {
    if (++chunk_digits_ > limits_.chunk_digits_max) {
      return refuse_over(400, "the size of a chunk has more than", limits_.chunk_digits_max, "digits");
    }
    left_ = left_ * 16 + hex_value(*at);
  }
  if (at == end) return Scan::kMore;
  if (chunk_digits_ == 0) return refuse(400, "a chunk begins without a size");
  if (*at == ';') return refuse(400, "extensions of chunks are not accepted");
  return take_byte('\r', *at++, State::kChunkSizeLf, "the size of a chunk has a byte that is no digit");
}

RequestParser::Scan RequestParser::begin_chunk() {
  chunk_digits_ = 0;
  if (left_ == 0) {
    state_ = State::kTrailers;
    trailers_.clear();
    lines_ = {.end = as_offset(limits_.trailer_bytes_max), .has_request_line = true};
    return Scan::kMore;
  }
  return exceeds_limit() ? Scan::kRefused : Scan::kMore;
}

RequestParser::Scan RequestParser::take_byte(char wanted, char found, State next, std::string_view refusal) {
  if (found != wanted) return refuse(400, refusal);
  state_ = next;
  return Scan::kMore;
}

// Lines that arrive whole are read where they are, and copied once. Otherwise `buffer` gets them in pieces.
RequestParser::Scan RequestParser::read_lines(std::string& buffer, Bytes input, std::size_t& taken) {
  const std::string_view text = as_text(input);
  if (buffer.empty()) {
    const Scan scan = scan_lines(text.data(), text.size());
    if (scan != Scan::kRefused) {
      taken = scan == Scan::kDone ? lines_.line : text.size();
      buffer.assign(text.substr(0, taken));
    }
    return scan;
  }
  while (taken < text.size()) {
    const std::size_t before = buffer.size();
    buffer.append(text.substr(taken, kCopyBytes));
    const Scan scan = scan_lines(buffer.data(), buffer.size());
    if (scan == Scan::kDone) buffer.resize(lines_.line);
    taken += buffer.size() - before;
    if (scan != Scan::kMore) return scan;
  }
  return Scan::kMore;
}

RequestParser::Scan RequestParser::scan_lines(const char* text, std::size_t bytes) {
  for (;;) {
    const std::size_t stop = std::min<std::size_t>(bytes, std::size_t{lines_.end} + 1);
    const char* const found = find_control(text + lines_.scanned, text + stop);
    const auto at = static_cast<std::size_t>(found - text);
    lines_.scanned = as_offset(at);
    if (at == stop) return stop > lines_.end ? line_too_long() : Scan::kMore;
    if (text[at] == '\t') {
      ++lines_.scanned;
      continue;
    }
    // RFC 9112, 2.2: a server may take a bare LF for the end of a line. Readers disagree, so this one does
    // not.
    if (text[at] == '\n') return refuse(400, "a line ends with a line feed alone");
    // RFC 9110, 5.5.
    if (text[at] != '\r') return refuse(400, "a line has a control byte");
    if (at + 1 == bytes) return Scan::kMore;
    // RFC 9112, 2.2.
    if (text[at + 1] != '\n') return refuse(400, "a carriage return without a line feed");
    const std::size_t line = lines_.line;
    if (lines_.has_request_line && at > line && at + 2 > lines_.end) return line_too_long();
    lines_.line = lines_.scanned = as_offset(at + 2);
    const Scan scan = take_line(text, line, at);
    if (scan != Scan::kMore) return scan;
  }
}

RequestParser::Scan RequestParser::take_line(const char* text, std::size_t at, std::size_t end) {
  if (lines_.has_request_line) return at == end ? Scan::kDone : take_field(text, at, end);
  const bool is_leading_line = at == end && !lines_.has_leading_line;
  std::size_t most = limits_.request_line_bytes_max;
  if (is_leading_line) {
    // RFC 9112, 2.2: at least one empty line before the request line is ignored; this server ignores one.
    lines_.has_leading_line = true;
  } else {
    if (take_request_line(text, at, end) == Scan::kRefused) return Scan::kRefused;
    lines_.has_request_line = true;
    most = limits_.header_bytes_max;
  }
  lines_.end = as_offset(end + 2 + most);
  return Scan::kMore;
}

RequestParser::Scan RequestParser::line_too_long() {
  // RFC 9112, 3 and RFC 6585, 5.
  if (!lines_.has_request_line) {
    return refuse_over(414, "the request line is longer than", limits_.request_line_bytes_max, "bytes");
  }
  if (state_ == State::kTrailers) {
    return refuse_over(431, "the trailer fields are longer than", limits_.trailer_bytes_max, "bytes");
  }
  return refuse_over(431, "the header fields are longer than", limits_.header_bytes_max, "bytes");
}

RequestParser::Scan RequestParser::refuse(int status, std::string_view text) noexcept {
  state_ = State::kClosed;
  refusal_.status = status;
  try {
    refusal_.text = text;
  } catch (const std::bad_alloc&) {
    refusal_.text.clear();
  }
  return Scan::kRefused;
}

RequestParser::Scan RequestParser::refuse_over(int status, std::string_view subject, std::uint64_t limit,
                                               std::string_view unit) {
  std::string text{subject};
  text.append(" the limit of ").append(std::to_string(limit)).append(" ").append(unit);
  return refuse(status, text);
}

}  // namespace weft::detail::http
