// SPDX-License-Identifier: Apache-2.0
#include "calls/http/log_page.hpp"

#include <optional>
#include <string>

#include "calls/http/page_json.hpp"
#include "weft/detail/base/log.hpp"
#include "weft/detail/describe/error_json.hpp"
#include "weft/detail/http/status.hpp"

namespace weft::detail::http {

namespace {

constexpr FixedFailure kNoSuchLevel{StatusCode::kInvalidArgument, Layer::kRpc, Retry::kNever,
                                    "name a level: PUT /log?level=debug, or info, warning, error"};
constexpr FixedFailure kNoLevel{StatusCode::kFailedPrecondition, Layer::kRpc, Retry::kNever,
                                "the server's logger has no level that can be set (Logger::set_level())"};

constexpr LogLevel kLevels[] = {LogLevel::kDebug, LogLevel::kInfo, LogLevel::kWarning, LogLevel::kError};

std::optional<LogLevel> level_of(const Request& request) {
  const std::optional<std::string> word = query_value(request.query(), "level");
  for (const LogLevel level : kLevels) {
    if (word && *word == to_string(level)) return level;
  }
  return std::nullopt;
}

PageContent failure(const Status& why) {
  return {.status = http_status_of(why.code()), .text = error_json(why)};
}

}  // namespace

PageContent write_log(const ServerView& server, const Request&) {
  return json_page([&server](Json& json) { json.text("level", to_string(server.log().level())); });
}

PageContent set_log(const ServerView& server, const Request& request) {
  const std::optional<LogLevel> level = level_of(request);
  if (!level) return failure(Status::of<kNoSuchLevel>());
  if (!server.log().set_level(*level)) return failure(Status::of<kNoLevel>());
  return write_log(server, request);
}

}  // namespace weft::detail::http
