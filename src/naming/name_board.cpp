// SPDX-License-Identifier: Apache-2.0
#include "naming/name_board.hpp"

#include <algorithm>
#include <utility>

#include "weft/detail/base/peer_text.hpp"

namespace weft::detail {

namespace {

std::size_t bytes_of(const std::vector<Endpoint>& endpoints) {
  std::size_t bytes = 0;
  for (const Endpoint& endpoint : endpoints) bytes += endpoint.url.size() + endpoint.zone.size();
  return bytes;
}

}  // namespace

NameBoard::NameBoard(Loop& loop, std::string_view name, const NameOptions& options)
    : loop_(loop), name_(peer_text(name, 200)), options_(options) {}

void NameBoard::answer(std::vector<Endpoint> endpoints) {
  if (closed_) return;
  if (endpoints.empty()) {
    ++stats_.refused_empty;
    return report(
        {StatusCode::kNotFound, Layer::kRuntime,
         "the answer names no server; the last good list is kept, see that servers are registered"});
  }
  if (endpoints.size() > options_.endpoints_max || bytes_of(endpoints) > options_.bytes_max) {
    return refuse(
        {StatusCode::kResourceExhausted, Layer::kRuntime,
         "the answer is larger than NameOptions allows; raise endpoints_max or bytes_max if it is right"});
  }
  std::sort(endpoints.begin(), endpoints.end());
  const auto same_url = [](const Endpoint& a, const Endpoint& b) { return a.url == b.url; };
  const auto last = std::unique(endpoints.begin(), endpoints.end(), same_url);
  stats_.duplicates += static_cast<std::uint64_t>(endpoints.end() - last);
  endpoints.erase(last, endpoints.end());
  ++stats_.answers;
  failure_ = Status{};
  if (loop_.now() >= next_change_) return publish(std::move(endpoints));
  held_ = std::move(endpoints);
  if (!armed()) loop_.arm(*this, next_change_);
}

void NameBoard::on_timer() {
  if (held_) publish(*std::exchange(held_, std::nullopt));
}

void NameBoard::publish(std::vector<Endpoint> endpoints) {
  held_.reset();
  if (endpoints == list_->endpoints) return;
  list_ = std::make_shared<const NameList>(NameList{list_->version + 1, std::move(endpoints)});
  ++stats_.changes;
  next_change_ = Deadline::after(loop_.now(), options_.change_interval).at();
  event_.set();
  event_.reset();
}

void NameBoard::refuse(const Status& why) {
  ++(why.code() == StatusCode::kResourceExhausted ? stats_.refused_huge : stats_.refused_malformed);
  report(why);
}

void NameBoard::fail(const Status& why) {
  ++stats_.failures;
  report(why);
}

void NameBoard::skip(const Status& why) {
  ++stats_.skipped;
  write_line(*options_.logger, LogLevel::kDebug,
             [&] { return "naming: " + name_ + ": an entry is left out: " + why.to_string(); });
}

// Only the first of several failures of one kind in a row is written: a source may fail for days.
void NameBoard::report(const Status& why) {
  const bool is_news = failure_.code() != why.code();
  failure_ = why;
  if (!is_news || closed_) return;
  write_line(*options_.logger, LogLevel::kWarning, [&] {
    return "naming: " + name_ + ": " + why.to_string() + "; " + std::to_string(list_->endpoints.size()) +
           " known servers are kept";
  });
}

void NameBoard::close() noexcept {
  closed_ = true;
  held_.reset();
  loop_.disarm(*this);
  event_.set();
}

Task<Result<NameSnapshot>> NameBoard::changed(std::shared_ptr<NameBoard> board, std::uint64_t seen) {
  while (!board->closed_) {
    if (board->list_->version > seen) co_return board->list_;
    auto waited = co_await board->event_.wait();
    if (!waited.ok()) co_return std::move(waited).status();
  }
  co_return Status{StatusCode::kCancelled, Layer::kRuntime, "the watch of this name has ended"};
}

}  // namespace weft::detail
