// SPDX-License-Identifier: Apache-2.0
#include "calls/terms/call_times.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace weft::detail {

void CallTimes::ended(const EndedCalls& calls) noexcept {
  if (size_ != 0) {
    EndedCalls& last = ended_[size_ - 1];
    if (last.method == calls.method && last.received == calls.received && last.code == calls.code &&
        last.in_turn == calls.in_turn) {
      last.calls += calls.calls;
      last.waited += calls.waited;
      last.bytes_sent += calls.bytes_sent;
      return;
    }
  }
  add(calls);
}

void CallTimes::begin_in_turn(MethodCounters& method, TimePoint received) noexcept {
  in_turn_ = &add({.method = &method, .received = received, .in_turn = true, .calls = 0});
}

EndedCalls& CallTimes::add(const EndedCalls& calls) noexcept {
  if (size_ == ended_.size()) count();
  if (size_ == 0) loop_.at_turn_end(*this, true);
  return ended_[size_++] = calls;
}

void CallTimes::count() noexcept {
  const TimePoint end = loop_.read_clock();
  const std::span<const EndedCalls> all{ended_.data(), std::exchange(size_, 0)};
  TimePoint began = end;
  std::uint64_t in_turn = 0;
  for (const EndedCalls& calls : all) {
    if (!calls.in_turn) continue;
    began = std::min(began, calls.received);
    in_turn += calls.calls;
  }
  const Duration busy = end - std::max(began, counted_);
  const Duration each = in_turn != 0 ? busy / static_cast<Duration::rep>(in_turn) : Duration::zero();
  for (const EndedCalls& calls : all) {
    MethodTimes* const times = calls.method->times.need();
    if (times == nullptr) continue;
    const Duration duration = std::max(end - calls.received, Duration::zero());
    const Duration waited =
        calls.in_turn ? (duration - each) * static_cast<Duration::rep>(calls.calls) : calls.waited;
    times->ended(calls.code, duration, calls.calls, waited);
    times->received(calls.bytes_received);
    times->sent(calls.bytes_sent);
  }
  in_turn_ = &none_;
  counted_ = end;
}

}  // namespace weft::detail
