// SPDX-License-Identifier: Apache-2.0
#include "transport/tcp/connect_race.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace weft::detail::tcp {

namespace {

constexpr Duration kAttemptDelay = std::chrono::milliseconds{250};

/// Takes turns between the family of the first address, which the system likes best, and the others.
std::vector<SocketAddress> interleaved(const std::vector<SocketAddress>& addresses) {
  std::vector<SocketAddress> first, others, all;
  for (const SocketAddress& address : addresses) {
    (address.family() == addresses.front().family() ? first : others).push_back(address);
  }
  for (std::size_t i = 0; i < std::max(first.size(), others.size()); ++i) {
    if (i < first.size()) all.push_back(first[i]);
    if (i < others.size()) all.push_back(others[i]);
  }
  return all;
}

std::string_view outcome_of(const ConnectAttempt& attempt) {
  using State = ConnectAttempt::State;
  if (attempt.state() == State::kFailed) return attempt.failure().message();
  return attempt.state() == State::kNotBegun ? "not tried" : "the peer did not answer in time";
}

}  // namespace

ConnectRace::ConnectRace(Loop& loop, const std::vector<SocketAddress>& addresses, const TcpOptions& tcp,
                         const ConnectOptions& options)
    : loop_(loop), tcp_(tcp), options_(options) {
  ConnectAttemptOwner& owner = *this;
  for (const SocketAddress& address : interleaved(addresses)) {
    attempts_.push_back(std::make_unique<ConnectAttempt>(loop, owner, address));
  }
}

bool ConnectRace::begin(CancelScope* scope) {
  if (scope != nullptr && scope->cancelled()) {
    outcome_ = to_status(scope->reason());
    return false;
  }
  if (options_.deadline.expired(loop_.now())) {
    outcome_ = failure(StatusCode::kDeadlineExceeded);
    return false;
  }
  if (!try_next()) return false;
  if (scope != nullptr) scope->add(*this);
  return true;
}

// Begins with the next address, and goes on as long as they fail at once. False when the race is over by
// that.
bool ConnectRace::try_next() {
  bool under_way = any_under_way();
  while (begun_ < attempts_.size()) {
    ConnectAttempt& attempt = *attempts_[begun_++];
    attempt.begin(tcp_, options_.local_address);
    if (attempt.state() == ConnectAttempt::State::kConnected) {
      outcome_ = &attempt;
      return false;
    }
    under_way = any_under_way();
    if (attempt.state() == ConnectAttempt::State::kUnderWay) break;
  }
  if (!under_way) {
    outcome_ = failure(common_code());
    return false;
  }
  Deadline next = options_.deadline;
  if (begun_ < attempts_.size()) next = next.earlier(Deadline::after(loop_.now(), kAttemptDelay));
  if (!next.is_infinite()) loop_.arm(*this, next.at());
  return true;
}

bool ConnectRace::any_under_way() const {
  return std::any_of(attempts_.begin(), attempts_.end(), [](const auto& attempt) {
    return attempt->state() == ConnectAttempt::State::kUnderWay;
  });
}

void ConnectRace::on_attempt_ended(ConnectAttempt& attempt) {
  if (ended_) return;
  if (attempt.state() == ConnectAttempt::State::kConnected) return end(&attempt);
  if (!try_next()) end(std::move(outcome_));
}

void ConnectRace::on_timer() {
  if (options_.deadline.expired(loop_.now())) {
    // A late loop may not have heard yet that a peer accepted.
    for (std::size_t i = 0; i < begun_ && !ended_; ++i) attempts_[i]->look();
    return end(failure(StatusCode::kDeadlineExceeded));
  }
  if (!try_next()) end(std::move(outcome_));
}

void ConnectRace::on_cancel(CancelReason reason) noexcept {
  end(to_status(reason));
}

void ConnectRace::end(Result<ConnectAttempt*> outcome) {
  if (std::exchange(ended_, true)) return;
  outcome_ = std::move(outcome);
  for (const auto& attempt : attempts_) {
    if (!outcome_.ok() || attempt.get() != *outcome_) attempt->close();
  }
  loop_.disarm(*this);
  stop_listening();
  loop_.schedule(resumption_);
}

StatusCode ConnectRace::common_code() const {
  const StatusCode first = attempts_.front()->failure().code();
  const bool same = std::all_of(attempts_.begin(), attempts_.end(),
                                [first](const auto& attempt) { return attempt->failure().code() == first; });
  return same ? first : StatusCode::kUnavailable;
}

Status ConnectRace::failure(StatusCode code) const {
  const ConnectAttempt& last = *attempts_.back();
  if (attempts_.size() == 1 && last.state() == ConnectAttempt::State::kFailed) return last.failure();
  return {code, Layer::kTransport, [this] { return outcomes(); }, last.failure().native()};
}

std::string ConnectRace::outcomes() const {
  std::string text;
  for (const auto& attempt : attempts_) {
    if (attempts_.size() > 1) {
      text += (text.empty() ? "" : "; ") + url_of(attempt->address()).to_string() + ": ";
    }
    text += outcome_of(*attempt);
  }
  return text;
}

}  // namespace weft::detail::tcp
