// SPDX-License-Identifier: Apache-2.0
#include "naming/name_board.hpp"

#include <utility>

#include "naming/loop_check.hpp"
#include "weft/detail/base/peer_text.hpp"

namespace weft::detail {

NameBoard::NameBoard(Loop& loop, std::string_view name, const NameOptions& options)
    : loop_(loop), name_(peer_text(name, 200)), options_(options), log_(loop, *options_.logger) {}

void NameBoard::answer(std::vector<Endpoint> endpoints) {
  take(judge(std::move(endpoints), limits(), list_));
}

void NameBoard::take(JudgedList list) {
  if (closed_) return;
  if (list.skipped != 0) skip(list);
  switch (list.verdict) {
    case JudgedList::Verdict::kEmpty:
      ++stats_.refused_empty;
      return report(list.failure);
    case JudgedList::Verdict::kRefused:
      return refuse(list.failure);
    case JudgedList::Verdict::kNoAnswer:
      return fail(list.failure);
    case JudgedList::Verdict::kGood:
      break;
  }
  stats_.duplicates += list.duplicates;
  ++stats_.answers;
  failure_ = Status{};
  if (loop_.now() >= next_change_) return publish(std::move(list));
  held_ = std::move(list);
  if (!armed()) loop_.arm(*this, next_change_);
}

void NameBoard::on_timer() {
  if (held_) publish(*std::exchange(held_, std::nullopt));
}

// Only a list that waited for the interval while another was read has to be compared here.
void NameBoard::publish(JudgedList list) {
  held_.reset();
  const bool is_compared = list.compared_with == list_->version;
  if (is_compared ? list.is_same : list.endpoints == list_->endpoints) return;
  list_ = std::make_shared<const NameList>(NameList{list_->version + 1, std::move(list.endpoints)});
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

void NameBoard::skip(const JudgedList& list) {
  stats_.skipped += list.skipped;
  log_.write(LogLevel::kDebug, [&] {
    return "naming: " + name_ + ": " + std::to_string(list.skipped) +
           " entries are left out: " + list.first_skipped.to_string();
  });
}

// Only the first of several failures of one kind in a row is written: a source may fail for days.
void NameBoard::report(const Status& why) {
  const bool is_news = failure_.code() != why.code();
  failure_ = why;
  if (!is_news || closed_) return;
  log_.write(LogLevel::kWarning, [&] {
    return "naming: " + name_ + ": " + why.to_string() + "; " + std::to_string(list_->endpoints.size()) +
           " known servers are kept";
  });
}

void NameBoard::close() noexcept {
  closed_ = true;
  held_.reset();
  log_.clear();
  loop_.disarm(*this);
  event_.set();
}

Task<Result<NameSnapshot>> NameBoard::changed(std::shared_ptr<NameBoard> board, std::uint64_t seen) {
  if (!board->closed_ && !board->loop_.is_used_here()) co_return Status::of<kOffTheLoop>();
  while (!board->closed_) {
    if (board->list_->version > seen) co_return board->list_;
    auto waited = co_await board->event_.wait();
    if (!waited.ok()) co_return std::move(waited).status();
  }
  co_return Status{StatusCode::kCancelled, Layer::kRuntime, "the watch of this name has ended"};
}

}  // namespace weft::detail
