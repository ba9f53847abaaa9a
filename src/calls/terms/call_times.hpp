// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "calls/terms/call_samples.hpp"
#include "calls/terms/method_counters.hpp"
#include "weft/detail/base/time.hpp"
#include "weft/detail/runtime/loop.hpp"
#include "weft/detail/runtime/turn_end_hook.hpp"

namespace weft::detail {

class AnswerSink;

/// Calls of one method that were received at the same time and ended alike.
struct EndedCalls {
  MethodCounters* method = nullptr;
  TimePoint received{};
  StatusCode code = StatusCode::kOk;
  /// They ran one after the other on the loop, so the time of its turn is divided among them. Otherwise
  /// `waited` is the time that passed before their handlers began.
  bool in_turn = false;
  std::uint32_t calls = 1;
  Duration waited{};
  /// Time from which on an answer waited for room; zero if none did.
  TimePoint sending_since{};
  std::uint64_t bytes_received = 0;
  std::uint64_t bytes_sent = 0;
};

/// Times the calls that one loop serves. A reading of the clock costs as much as a good part of a small call.
/// So calls that are received together share the time of that, and calls that end in the same turn share one
/// reading at its end, after their answers were sent. Thread: the loop's.
class CallTimes final : private TurnEndHook {
 public:
  /// `loop` outlives it. A call that lasts for `slow_from` is sampled.
  CallTimes(Loop& loop, Duration slow_from) noexcept : loop_(loop), slow_from_(slow_from) {}

  /// Returns the time for requests that are received now.
  TimePoint now() noexcept { return loop_.turn_time().recent(); }
  /// A request of `bytes` is served.
  void received(MethodCounters& method, std::uint64_t bytes) noexcept {
    if (MethodTimes* const times = method.times.need()) times->received(bytes);
  }
  void ended(const EndedCalls& calls) noexcept;
  /// Samples a call that has failed now, with `calls.code`, if a sample may be kept. `began`: false if its
  /// handler has not run. `sink` is its connection.
  [[gnu::cold]] void sample_failed(const EndedCalls& calls, bool began, std::string_view message,
                                   const AnswerSink& sink) noexcept;
  /// Thread of its const functions: any.
  const CallSamples& samples() const noexcept { return samples_; }
  /// An ordinary function has answered a call that was received at `received`.
  void answered_in_turn(MethodCounters& method, TimePoint received, std::uint64_t bytes_received,
                        std::uint64_t bytes_sent) noexcept {
    if (in_turn_->method != &method || in_turn_->received != received) [[unlikely]] {
      begin_in_turn(method, received);
    }
    ++in_turn_->calls;
    in_turn_->bytes_received += bytes_received;
    in_turn_->bytes_sent += bytes_sent;
  }

 private:
  void on_turn_end() override { count(); }
  void begin_in_turn(MethodCounters& method, TimePoint received) noexcept;
  EndedCalls& add(const EndedCalls& calls) noexcept;
  void count() noexcept;
  [[gnu::cold]] void sample_slow(const EndedCalls& calls, const CallParts& parts, TimePoint end) noexcept;

  Loop& loop_;
  const Duration slow_from_;
  CallSamples samples_;
  TimePoint counted_ = TimePoint::min();
  std::size_t size_ = 0;
  std::array<EndedCalls, 64> ended_;
  /// Element of ended_ for the answered calls of an ordinary function, or `none_`.
  EndedCalls* in_turn_ = &none_;
  EndedCalls none_;
};

}  // namespace weft::detail
