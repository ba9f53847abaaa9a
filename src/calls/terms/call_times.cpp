// SPDX-License-Identifier: Apache-2.0
#include "calls/terms/call_times.hpp"

#include <algorithm>
#include <new>
#include <span>
#include <utility>

#include "weft/detail/calls/terms/answer_sink.hpp"

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
    if (duration >= slow_from_ && calls.code == StatusCode::kOk) [[unlikely]] {
      const Duration sending =
          calls.sending_since != TimePoint{} ? end - calls.sending_since : Duration::zero();
      const Duration each_waited = waited / static_cast<Duration::rep>(calls.calls);
      sample_slow(calls, {each_waited, duration - each_waited - sending, sending}, end);
    }
    times->received(calls.bytes_received);
    times->sent(calls.bytes_sent);
  }
  in_turn_ = &none_;
  counted_ = end;
}

void CallTimes::sample_slow(const EndedCalls& calls, const CallParts& parts, TimePoint end) noexcept {
  if (!calls.method->times.need()->may_sample(calls.code, end)) return;
  samples_.add_slow({.method = calls.method,
                     .code = calls.code,
                     .calls = calls.calls,
                     .parts = parts,
                     .ended = std::chrono::system_clock::now()});
}

// The turn has looked at the clock before the handler of a call began that ends with the turn.
void CallTimes::sample_failed(const EndedCalls& calls, bool began, std::string_view message,
                              const AnswerSink& sink) noexcept {
  MethodTimes* const times = calls.method->times.need();
  const TimePoint looked = loop_.now();
  if (times == nullptr || !times->may_sample(calls.code, looked)) return;
  const TimePoint end = loop_.clock().now();
  CallParts parts;
  parts.waited = calls.in_turn ? std::max(looked - calls.received, Duration::zero()) : calls.waited;
  if (calls.sending_since != TimePoint{}) parts.sending = end - calls.sending_since;
  const Duration rest = std::max(end - calls.received - parts.all(), Duration::zero());
  (began ? parts.ran : parts.waited) += rest;
  try {
    samples_.add_failed({.method = calls.method,
                         .code = calls.code,
                         .parts = parts,
                         .ended = std::chrono::system_clock::now(),
                         .message = sampled_text(message),
                         .endpoint = sampled_text(sink.remote_endpoint()),
                         .caller = sampled_text(sink.peer_identity().name())});
  } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): a sample less
  }
}

}  // namespace weft::detail
