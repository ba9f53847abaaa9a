// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "weft/detail/http/request.hpp"
#include "weft/detail/http/response_writer.hpp"

namespace weft::detail::http {

/// The body of an answer that is a stream: JSON lines, or server-sent events if the client prefers them. Each
/// item is a part of its own, and the last part is the result or the error: a body without it is incomplete.
///
///     {"item":1}                 data: 1
///     {"item":2}
///     {"result":null}            event: result
///                                data: null
///
///     {"error":{"code":…}}       event: error
///                                data: {"code":…}
///
/// In chunks, or up to the end of the connection for a client of HTTP/1.0.
class StreamAnswer {
 public:
  enum class Part : std::uint8_t { kItem, kResult, kError };

  /// Prepares the answer to `request`.
  void prepare(const Request& request) noexcept;
  std::string_view content_type() const noexcept {
    return has_events_ ? "text/event-stream" : "application/x-ndjson";
  }
  bool is_chunked() const noexcept { return is_chunked_; }

  /// Returns the number of bytes that put() writes for `json` at most.
  static constexpr std::size_t bytes(std::size_t json_bytes) noexcept { return json_bytes + 48; }
  /// Writes a part; after one that is no item, the end of the body with the lines of `trailer`, which a
  /// client of HTTP/1.0 does not get.
  void put(ResponseWriter& writer, Part part, std::string_view json, std::string_view trailer) const noexcept;

 private:
  bool has_events_ = false;
  bool is_chunked_ = true;
};

}  // namespace weft::detail::http
