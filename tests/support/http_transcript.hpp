// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "weft/detail/base/assert.hpp"
#include "weft/detail/http/request_parser.hpp"

namespace weft::testing {

/// Text of the events that a request parser gives: one line for each head, body and end, and the last
/// refusal. Pieces of a body are joined, because their number depends on how the bytes arrive.
class HttpTranscript {
 public:
  explicit HttpTranscript(const detail::http::RequestLimits& limits = {}) : parser_(limits) {}

  /// Gives `bytes` to the parser, and reads all events.
  void receive(std::string_view bytes) {
    using Event = detail::http::RequestParser::Event;
    for (Bytes input = as_bytes(bytes);;) {
      const auto step = parser_.next(input);
      WEFT_ASSERT(step.taken <= input.size(), "a parser takes no more bytes than there are");
      input = input.subspan(step.taken);
      switch (step.event) {
        case Event::kMore:
          WEFT_ASSERT(input.empty(), "a parser that waits took all bytes");
          return;
        case Event::kHead:
          note_head(parser_.request());
          ++heads_;
          break;
        case Event::kBody:
          WEFT_ASSERT(!step.body.empty(), "a piece of a body is not empty");
          body_ += as_text(step.body);
          break;
        case Event::kEnd:
          text_ += "body \"" + body_ + "\"\n" + (parser_.request().keeps_alive() ? "" : "closed\n");
          body_.clear();
          whole_bytes_ = text_.size();
          ++requests_;
          break;
        case Event::kRefused:
          text_ += std::to_string(parser_.refusal().status) + " " + parser_.refusal().text + "\n";
          break;
        case Event::kClosed:
          return;
      }
    }
  }

  /// The events so far, and the part of a body that is not complete.
  std::string text() const { return body_.empty() ? text_ : text_ + "part \"" + body_ + "\"\n"; }
  /// The events of the requests that are complete.
  std::string whole_requests() const { return text_.substr(0, whole_bytes_); }
  std::size_t requests() const { return requests_; }
  std::size_t heads() const { return heads_; }
  detail::http::RequestParser& parser() { return parser_; }

 private:
  void note_head(const detail::http::Request& request) {
    text_ += std::string{to_string(request.method())} + " " + std::string{request.path()};
    if (!request.query().empty()) text_ += "?" + std::string{request.query()};
    text_ += request.version() == detail::http::Version::k10 ? " 1.0" : " 1.1";
    text_ += " host \"" + std::string{request.host()} + "\"";
    if (request.expects_continue()) text_ += " expects";
    for (std::size_t at = 0; at < request.header_count(); ++at) {
      const auto field = request.header(at);
      text_ += " [" + std::string{field.name} + "=" + std::string{field.value} + "]";
    }
    text_ += "\n";
  }

  detail::http::RequestParser parser_;
  std::string text_;
  std::string body_;
  std::size_t whole_bytes_ = 0;
  std::size_t requests_ = 0;
  std::size_t heads_ = 0;
};

/// The events that `bytes` give when they arrive in pieces of `piece` bytes.
inline std::string http_events(std::string_view bytes, std::size_t piece = static_cast<std::size_t>(-1),
                               const detail::http::RequestLimits& limits = {}) {
  HttpTranscript transcript{limits};
  while (!bytes.empty()) {
    const std::size_t size = std::min(piece, bytes.size());
    transcript.receive(bytes.substr(0, size));
    bytes.remove_prefix(size);
  }
  return transcript.text();
}

}  // namespace weft::testing
