// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::detail::http {

enum class Method : std::uint8_t { kGet, kHead, kPost, kPut, kDelete, kPatch, kOptions };

std::string_view to_string(Method method);

/// Minor version of HTTP/1.
enum class Version : std::uint8_t { k10 = 0, k11 = 1 };

/// Framing of a request's body.
enum class BodyKind : std::uint8_t {
  kNone,     ///< neither Content-Length nor Transfer-Encoding: no body follows
  kLength,   ///< Request::content_length() bytes follow, which may be none
  kChunked,  ///< chunks follow
};

/// One header field as it was sent, without the white space around its value. The value has no control byte
/// except tabs; bytes over 127 are opaque.
struct HeaderField {
  std::string_view name;
  std::string_view value;
};

/// Head of a request that passed all checks of RequestParser, which owns it. Views that it returns are valid
/// until the parser begins with the next request or is destroyed.
class Request {
 public:
  Method method() const noexcept { return method_; }
  Version version() const noexcept { return version_; }

  /// Request target as it was sent: "/functions/centre?x=1", "http://host/path", or "*" of an OPTIONS
  /// request.
  std::string_view target() const noexcept { return view(target_); }
  /// Path of the target, percent-decoded: valid UTF-8 that begins with '/', without control characters and
  /// without the segments "." and "..". "*" for OPTIONS of the whole server.
  std::string_view path() const noexcept {
    return path_is_decoded_ ? std::string_view{decoded_path_} : view(path_);
  }
  /// Text behind the '?' as it was sent, with correct percent encoding; see query_value(). Empty without one.
  std::string_view query() const noexcept { return view(query_); }
  /// Host and port that the client named. Empty in an HTTP/1.0 request without Host.
  std::string_view host() const noexcept { return view(host_); }

  std::size_t header_count() const noexcept { return fields_.size(); }
  /// The field at `index`, in the order in which the fields were sent.
  HeaderField header(std::size_t index) const noexcept {
    return {view(fields_[index].name), view(fields_[index].value)};
  }
  /// Value of the first field with this name, in any letter case.
  std::optional<std::string_view> find(std::string_view name) const noexcept;
  /// Number of fields with this name.
  std::size_t count(std::string_view name) const noexcept;

  BodyKind body_kind() const noexcept { return body_kind_; }
  /// Zero unless body_kind() is kLength.
  std::uint64_t content_length() const noexcept { return content_length_; }
  bool has_body() const noexcept {
    return body_kind_ == BodyKind::kChunked || (body_kind_ == BodyKind::kLength && content_length_ > 0);
  }
  /// The connection serves further requests behind this one. Otherwise the answer says "Connection: close".
  bool keeps_alive() const noexcept { return keeps_alive_; }
  /// The client asked for a 100 Continue; see RequestParser::awaits_continue().
  bool expects_continue() const noexcept { return expects_continue_; }

 private:
  friend class RequestParser;

  /// Part of the head.
  struct Span {
    std::uint32_t at = 0;
    std::uint32_t bytes = 0;
  };
  struct Field {
    Span name;
    Span value;
  };

  static Span make_span(std::size_t at, std::size_t end) noexcept {
    return {static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(end - at)};
  }

  std::string_view view(Span span) const noexcept { return {head_.data() + span.at, span.bytes}; }

  std::string head_;
  std::string decoded_path_;
  std::vector<Field> fields_;
  std::uint64_t content_length_ = 0;
  Span target_;
  Span path_;
  Span query_;
  Span host_;
  Method method_ = Method::kGet;
  Version version_ = Version::k11;
  BodyKind body_kind_ = BodyKind::kNone;
  bool path_is_decoded_ = false;
  bool keeps_alive_ = false;
  bool expects_continue_ = false;
};

/// Compares without regard to the case of ASCII letters (RFC 9110, 5.1).
bool equal_ignoring_case(std::string_view a, std::string_view b) noexcept;

/// Returns true if `list`, a comma-separated field value, has the member `token`, in any letter case.
bool list_has(std::string_view list, std::string_view token) noexcept;

/// Value of the first pair `name=value` in a query, decoded as HTML forms encode it: '+' is a space. Empty
/// for a name without a value; none if the name is absent.
std::optional<std::string> query_value(std::string_view query, std::string_view name);

}  // namespace weft::detail::http
