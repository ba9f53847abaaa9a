// SPDX-License-Identifier: Apache-2.0
// Rules of the request line and the header fields. Each refusal names its rule.
#include <algorithm>

#include "http/characters.hpp"
#include "http/host.hpp"
#include "weft/detail/base/bytes.hpp"
#include "weft/detail/base/utf8.hpp"
#include "weft/detail/http/request_parser.hpp"

namespace weft::detail::http {

namespace {

constexpr std::string_view kVersionName = "HTTP/";
// Decimal digits of a Content-Length that surely fits 64 bits; leading zeros count.
constexpr std::size_t kLengthDigitsMax = 19;

bool is_space(char byte) {
  return byte == ' ' || byte == '\t';
}

std::optional<Method> method_of(std::string_view name) {
  switch (name.size()) {
    case 3:
      if (name == "GET") return Method::kGet;
      if (name == "PUT") return Method::kPut;
      break;
    case 4:
      if (name == "POST") return Method::kPost;
      if (name == "HEAD") return Method::kHead;
      break;
    case 5:
      if (name == "PATCH") return Method::kPatch;
      break;
    case 6:
      if (name == "DELETE") return Method::kDelete;
      break;
    case 7:
      if (name == "OPTIONS") return Method::kOptions;
      break;
    default:
      break;
  }
  return std::nullopt;
}

bool is_control(char byte) {
  const auto value = static_cast<unsigned char>(byte);
  return value < 0x20 || value == 0x7f;
}

bool is_encoded_byte(std::string_view text) {
  return text.size() > 2 && is_in(text[1], ByteClass::kHex) && is_in(text[2], ByteClass::kHex);
}

bool has_dot_segment(std::string_view path) {
  for (std::size_t at = path.find("/."); at != std::string_view::npos; at = path.find("/.", at + 1)) {
    std::string_view segment = path.substr(at + 1);
    segment = segment.substr(0, segment.find('/'));
    if (segment == "." || segment == "..") return true;
  }
  return false;
}

// Length of "http://" or "https://" at the beginning of `target`, in any letter case (RFC 9110, 4.2.3); else
// 0.
std::size_t scheme_bytes(std::string_view target) {
  for (const std::string_view scheme : {std::string_view{"http://"}, std::string_view{"https://"}}) {
    if (equal_ignoring_case(target.substr(0, scheme.size()), scheme)) return scheme.size();
  }
  return 0;
}

}  // namespace

// RFC 9112, 3: one space on each side of the target, and no other white space.
RequestParser::Scan RequestParser::take_request_line(const char* text, std::size_t at, std::size_t end) {
  const std::string_view line{text + at, end - at};
  const std::size_t method_end = line.find(' ');
  const std::size_t target_end = line.rfind(' ');
  if (method_end == target_end) return refuse(400, "the request line lacks a method, a target or a version");
  if (take_version(line.substr(target_end + 1)) == Scan::kRefused) return Scan::kRefused;
  if (take_method(line.substr(0, method_end)) == Scan::kRefused) return Scan::kRefused;
  return take_target(text, at + method_end + 1, at + target_end);
}

RequestParser::Scan RequestParser::take_version(std::string_view text) {
  if (text == "HTTP/1.1") {
    request_.version_ = Version::k11;
    return Scan::kMore;
  }
  if (text == "HTTP/1.0") {
    request_.version_ = Version::k10;
    return Scan::kMore;
  }
  // RFC 9112, 2.3: "HTTP/", a digit, a dot, a digit.
  const bool is_version = text.size() == kVersionName.size() + 3 && text.starts_with(kVersionName) &&
                          is_digit(text[5]) && text[6] == '.' && is_digit(text[7]);
  if (!is_version) return refuse(400, "the request line has no version of HTTP at its end");
  return refuse(505, "versions HTTP/1.1 and HTTP/1.0 are served here");
}

// RFC 9110, 9.1: methods are case-sensitive.
RequestParser::Scan RequestParser::take_method(std::string_view name) {
  const std::optional<Method> method = method_of(name);
  if (method) {
    request_.method_ = *method;
    return Scan::kMore;
  }
  const bool is_name = !name.empty() && std::all_of(name.begin(), name.end(), [](char byte) {
    return is_in(byte, ByteClass::kToken) && (byte < 'a' || byte > 'z');
  });
  if (!is_name) return refuse(400, "the method is not in capital letters");
  return refuse(501, "this method is not served here");
}

// RFC 9112, 3.2.
RequestParser::Scan RequestParser::take_target(const char* text, std::size_t at, std::size_t end) {
  const std::string_view target{text + at, end - at};
  request_.target_ = Request::make_span(at, end);
  if (target.starts_with('/')) return take_path_and_query(text, at, end);
  if (target == "*") {
    // RFC 9112, 3.2.4.
    if (request_.method_ != Method::kOptions) return refuse(400, "the target \"*\" is for OPTIONS only");
    request_.path_ = request_.target_;
    return Scan::kMore;
  }
  const std::size_t scheme = scheme_bytes(target);
  if (scheme == 0) return refuse(400, "the target is neither a path nor a URI of http or https");
  // RFC 9112, 3.2.2. check_head() compares the authority with Host, so that no reader can take another host.
  const std::size_t path_at = std::min(target.find_first_of("/?", scheme), target.size());
  if (!is_host_and_port(target.substr(scheme, path_at - scheme))) {
    return refuse(400, "the host of the target is malformed");
  }
  authority_ = Request::make_span(at + scheme, at + path_at);
  if (path_at < target.size() && target[path_at] == '/') return take_path_and_query(text, at + path_at, end);
  request_.decoded_path_ = path_at == target.size() && request_.method_ == Method::kOptions ? "*" : "/";
  request_.path_is_decoded_ = true;
  return path_at == target.size() ? Scan::kMore : take_query(text, at + path_at + 1, end);
}

// RFC 3986, 3.3.
RequestParser::Scan RequestParser::take_path_and_query(const char* text, std::size_t at, std::size_t end) {
  std::size_t path_end = at;
  bool encoded = false;
  for (; path_end < end && text[path_end] != '?'; ++path_end) {
    if (is_in(text[path_end], ByteClass::kPath)) continue;
    if (text[path_end] != '%') return refuse(400, "the target has a byte that must be percent-encoded");
    encoded = true;
  }
  request_.path_ = Request::make_span(at, path_end);
  const std::string_view path{text + at, path_end - at};
  if (encoded) {
    if (decode_path(path) == Scan::kRefused) return Scan::kRefused;
  }
  // RFC 3986, 6.2.2.3: clients remove them. Rules that hold for a path must not be passed by another name of
  // it.
  if (has_dot_segment(encoded ? std::string_view{request_.decoded_path_} : path)) {
    return refuse(400, "the path has a segment \".\" or \"..\"");
  }
  return path_end == end ? Scan::kMore : take_query(text, path_end + 1, end);
}

// RFC 3986, 2.1.
RequestParser::Scan RequestParser::decode_path(std::string_view path) {
  std::string& decoded = request_.decoded_path_;
  for (std::size_t at = 0; at < path.size(); ++at) {
    if (path[at] != '%') {
      decoded += path[at];
      continue;
    }
    if (!is_encoded_byte(path.substr(at))) return refuse(400, "the target has a '%' without two digits");
    const auto byte = static_cast<char>(hex_value(path[at + 1]) * 16 + hex_value(path[at + 2]));
    // Decoded, it could not be told from the end of a segment.
    if (byte == '/') return refuse(400, "the path has an encoded '/'");
    if (is_control(byte)) return refuse(400, "the path has an encoded control character");
    decoded += byte;
    at += 2;
  }
  if (valid_utf8(as_bytes(decoded)) != decoded.size()) return refuse(400, "the path is not UTF-8");
  request_.path_is_decoded_ = true;
  return Scan::kMore;
}

// RFC 3986, 3.4.
RequestParser::Scan RequestParser::take_query(const char* text, std::size_t at, std::size_t end) {
  const std::string_view query{text + at, end - at};
  for (std::size_t place = 0; place < query.size(); ++place) {
    if (is_in(query[place], ByteClass::kQuery)) continue;
    if (query[place] != '%') return refuse(400, "the target has a byte that must be percent-encoded");
    if (!is_encoded_byte(query.substr(place))) return refuse(400, "the target has a '%' without two digits");
  }
  request_.query_ = Request::make_span(at, end);
  return Scan::kMore;
}

// RFC 9112, 5.
RequestParser::Scan RequestParser::take_field(const char* text, std::size_t at, std::size_t end) {
  // RFC 9112, 5.2 and 2.2.
  if (is_space(text[at])) {
    if (lines_.has_field) return refuse(400, "a field continues in the next line, which is obsolete");
    return refuse(400, "white space before the first field");
  }
  std::size_t name_end = at;
  while (name_end < end && is_in(text[name_end], ByteClass::kToken)) ++name_end;
  if (name_end == end) return refuse(400, "a field has no colon");
  if (text[name_end] != ':') {
    // RFC 9112, 5.1.
    if (is_space(text[name_end])) return refuse(400, "white space between the name of a field and its colon");
    return refuse(400, "the name of a field has a byte that is not allowed there");
  }
  if (name_end == at) return refuse(400, "a field has no name");
  lines_.has_field = true;
  // RFC 9110, 6.5.1: trailer fields may be dropped, and are.
  if (state_ == State::kTrailers) return Scan::kMore;
  if (request_.fields_.size() == limits_.header_count_max) {
    return refuse_over(431, "the header fields are more than", limits_.header_count_max, "fields");
  }
  std::size_t value_at = name_end + 1;
  std::size_t value_end = end;
  while (value_at < value_end && is_space(text[value_at])) ++value_at;
  while (value_at < value_end && is_space(text[value_end - 1])) --value_end;
  request_.fields_.push_back({Request::make_span(at, name_end), Request::make_span(value_at, value_end)});
  return take_known_field({text + at, name_end - at}, {text + value_at, value_end - value_at}, value_at);
}

RequestParser::Scan RequestParser::take_known_field(std::string_view name, std::string_view value,
                                                    std::size_t value_at) {
  switch (name.size()) {
    case 4:
      if (is_name(name, "host")) return take_host(value, value_at);
      break;
    case 6:
      if (is_name(name, "expect")) return take_expect(value);
      break;
    case 10:
      if (is_name(name, "connection")) {
        // RFC 9112, 9.3.
        says_close_ = says_close_ || list_has(value, "close");
        says_keep_alive_ = says_keep_alive_ || list_has(value, "keep-alive");
      }
      break;
    case 14:
      if (is_name(name, "content-length")) return take_content_length(value);
      break;
    case 17:
      if (is_name(name, "transfer-encoding")) return take_transfer_encoding(value);
      break;
    default:
      break;
  }
  return Scan::kMore;
}

// RFC 9112, 3.2 and RFC 9110, 4.2.1: exactly one, and not empty.
RequestParser::Scan RequestParser::take_host(std::string_view value, std::size_t value_at) {
  if (has_host_) return refuse(400, "Host is given twice");
  if (!is_host_and_port(value)) return refuse(400, "Host is malformed");
  has_host_ = true;
  request_.host_ = Request::make_span(value_at, value_at + value.size());
  return Scan::kMore;
}

// RFC 9110, 10.1.1.
RequestParser::Scan RequestParser::take_expect(std::string_view value) {
  if (!equal_ignoring_case(value, "100-continue")) return refuse(417, "Expect is not 100-continue");
  request_.expects_continue_ = true;
  return Scan::kMore;
}

// RFC 9110, 8.6 and RFC 9112, 6.3: a repeated length may be refused even if both are the same.
RequestParser::Scan RequestParser::take_content_length(std::string_view value) {
  if (has_length_) return refuse(400, "Content-Length is given twice");
  if (value.empty() || !std::all_of(value.begin(), value.end(), is_digit)) {
    return refuse(400, "Content-Length is not a number in decimal digits");
  }
  if (value.size() > kLengthDigitsMax) {
    return refuse_over(413, "Content-Length has more digits than", kLengthDigitsMax, "digits");
  }
  has_length_ = true;
  for (const char digit : value) {
    request_.content_length_ = request_.content_length_ * 10 + static_cast<std::uint64_t>(digit - '0');
  }
  return Scan::kMore;
}

// RFC 9112, 6.1 and 7: exactly "chunked".
RequestParser::Scan RequestParser::take_transfer_encoding(std::string_view value) {
  if (is_chunked_) return refuse(400, "Transfer-Encoding is given twice");
  if (!equal_ignoring_case(value, "chunked")) return refuse(501, "Transfer-Encoding is not exactly chunked");
  is_chunked_ = true;
  return Scan::kMore;
}

RequestParser::Scan RequestParser::check_head() {
  const bool is_10 = request_.version_ == Version::k10;
  // RFC 9112, 3.2.
  if (!has_host_ && !is_10) return refuse(400, "Host is missing");
  if (authority_.bytes > 0) {
    if (!has_host_) request_.host_ = authority_;
    if (!equal_ignoring_case(request_.view(authority_), request_.host())) {
      return refuse(400, "Host differs from the host of the target");
    }
  }
  // RFC 9112, 6.1: both together are an attempt to smuggle; HTTP/1.0 has no chunks.
  if (is_chunked_ && has_length_) return refuse(400, "both Content-Length and Transfer-Encoding are given");
  if (is_chunked_ && is_10) return refuse(400, "Transfer-Encoding is given in a request of HTTP/1.0");
  // RFC 1945, 8.3. In HTTP/1.1 it means that there is no body (RFC 9112, 6.3).
  const bool needs_length = request_.method_ == Method::kPost || request_.method_ == Method::kPut ||
                            request_.method_ == Method::kPatch;
  if (is_10 && needs_length && !has_length_) {
    return refuse(411, "a request of HTTP/1.0 with a body needs a Content-Length");
  }
  if (is_chunked_) request_.body_kind_ = BodyKind::kChunked;
  if (has_length_) request_.body_kind_ = BodyKind::kLength;
  // RFC 9110, 10.1.1: ignored in HTTP/1.0, and without a body.
  if (is_10 || !request_.has_body()) request_.expects_continue_ = false;
  // RFC 9112, 9.3.
  request_.keeps_alive_ = !says_close_ && (!is_10 || says_keep_alive_);
  return Scan::kDone;
}

}  // namespace weft::detail::http
