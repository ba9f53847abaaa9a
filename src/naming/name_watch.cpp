// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/naming/name_watch.hpp"

#include <utility>

#include "naming/endpoint_text.hpp"
#include "naming/loop_check.hpp"
#include "naming/name_board.hpp"
#include "naming/name_source.hpp"
#include "weft/detail/base/peer_text.hpp"

namespace weft {

namespace {

constexpr std::size_t kNameShownMax = 100;

constexpr Duration kYear = std::chrono::hours{24 * 365};

Result<void> check(const NameOptions& options) {
  const Duration zero = Duration::zero();
  if (options.logger == nullptr) return detail::bad_name("NameOptions::logger is null");
  if (options.endpoints_max == 0) {
    return detail::bad_name("NameOptions::endpoints_max is zero, so every answer would be refused");
  }
  if (options.bytes_max == 0) {
    return detail::bad_name("NameOptions::bytes_max is zero, so every answer would be refused");
  }
  if (options.change_interval < zero) return detail::bad_name("NameOptions::change_interval is negative");
  if (options.backoff_min <= zero) return detail::bad_name("NameOptions::backoff_min is not above zero");
  if (options.backoff_max < options.backoff_min || options.backoff_max > kYear) {
    return detail::bad_name("NameOptions::backoff_max is below backoff_min, or above a year");
  }
  if (options.request_timeout < std::chrono::milliseconds{1}) {
    return detail::bad_name("NameOptions::request_timeout is below a millisecond");
  }
  if (options.ttl_min <= zero) return detail::bad_name("NameOptions::ttl_min is not above zero");
  if (options.ttl_max < options.ttl_min || options.ttl_max > kYear) {
    return detail::bad_name("NameOptions::ttl_max is below ttl_min, or above a year");
  }
  if (options.watch_silence_max <= zero) {
    return detail::bad_name("NameOptions::watch_silence_max is not above zero");
  }
  return {};
}

detail::MadeSource make_source(Loop& loop, detail::NameBoard& board, std::string_view name) {
  const std::size_t colon = name.find(':');
  const std::string_view scheme = name.substr(0, std::min(colon, name.size()));
  const std::string_view rest = colon == name.npos ? std::string_view{} : name.substr(colon + 1);
  if (scheme == "static") return detail::make_static_source(board, rest);
  if (scheme == "file") return detail::make_file_source(loop, board, rest);
  if (scheme == "dns") return detail::make_dns_source(loop, board, rest);
  if (scheme == "etcd") return detail::make_etcd_source(loop, board, rest);
  const std::string shown = detail::peer_text(name, kNameShownMax);
  const bool is_url = name.find("://") != name.npos;
  return detail::bad_name("\"" + shown + "\" begins with none of static:, file:, dns: and etcd:" +
                          (is_url ? "; for this one server write \"static:" + shown + '"' : ""));
}

}  // namespace

NameWatch::NameWatch(Private, std::shared_ptr<detail::NameBoard> board,
                     std::unique_ptr<detail::NameSource> source)
    : board_(std::move(board)), source_(std::move(source)) {}
NameWatch::NameWatch(NameWatch&&) noexcept = default;
NameWatch::~NameWatch() {
  if (!board_) return;
  detail::check_end_of_name(board_->loop());
  source_.reset();
  board_->close();
}

NameSnapshot NameWatch::list() const noexcept {
  return board_->list();
}
Task<Result<NameSnapshot>> NameWatch::changed(std::uint64_t seen) const {
  return detail::NameBoard::changed(board_, seen);
}
Status NameWatch::last_failure() const noexcept {
  return board_->last_failure();
}
NameWatchStats NameWatch::stats() const noexcept {
  return board_->stats();
}

Result<NameWatch> watch_name(Loop& loop, std::string_view name, const NameOptions& options) {
  if (!loop.is_used_here()) return Status::of<detail::kOffTheLoop>();
  if (auto checked = check(options); !checked.ok()) return std::move(checked).status();
  auto board = std::make_shared<detail::NameBoard>(loop, name, options);
  auto source = make_source(loop, *board, name);
  if (!source.ok()) return std::move(source).status();
  return NameWatch{NameWatch::Private{}, std::move(board), std::move(*source)};
}

}  // namespace weft
