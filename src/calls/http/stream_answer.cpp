// SPDX-License-Identifier: Apache-2.0
#include "calls/http/stream_answer.hpp"

#include "weft/detail/http/media_type.hpp"

namespace weft::detail::http {

namespace {

/// Text around the JSON of a part.
struct Frame {
  std::string_view before;
  std::string_view behind;
};

constexpr Frame kLines[] = {{"{\"item\":", "}\n"}, {"{\"result\":", "}\n"}, {"{\"error\":", "}\n"}};
constexpr Frame kEvents[] = {
    {"data: ", "\n\n"}, {"event: result\ndata: ", "\n\n"}, {"event: error\ndata: ", "\n\n"}};

}  // namespace

void StreamAnswer::prepare(const Request& request) noexcept {
  has_events_ = accept_weight(request, "text/event-stream") > accept_weight(request, "application/x-ndjson");
  is_chunked_ = request.version() != Version::k10;
}

void StreamAnswer::put(ResponseWriter& writer, Part part, std::string_view json,
                       std::string_view trailer) const noexcept {
  const Frame& frame = (has_events_ ? kEvents : kLines)[static_cast<std::size_t>(part)];
  if (is_chunked_) writer.begin_chunk(frame.before.size() + json.size() + frame.behind.size());
  writer.put(frame.before);
  writer.put(json);
  writer.put(frame.behind);
  if (!is_chunked_) return;
  writer.end_chunk();
  if (part != Part::kItem) writer.end_chunks(trailer);
}

}  // namespace weft::detail::http
