// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "calls/terms/call_times.hpp"
#include "calls/terms/id_table.hpp"
#include "calls/terms/method_counters.hpp"
#include "weft/detail/base/status.hpp"
#include "weft/detail/runtime/turn_time.hpp"

namespace weft::detail {

class AnswerSink;
class ServedCall;

/// Counts the calls of one connection, and their failures, per method. A failure is reported with the call's
/// id only: that of the request being taken, otherwise that of a record, otherwise that of the last request
/// taken. A peer may reuse the id of a record.
class CallCounting {
 public:
  /// Lasts while the request that was taken last is served or refused without a record.
  class Taking {
   public:
    /// `id` is where it stays as long.
    Taking(CallCounting& counting, const std::uint64_t& id) noexcept : counting_(counting) {
      counting_.taking_ = &id;
    }
    Taking(const Taking&) = delete;
    Taking& operator=(const Taking&) = delete;
    ~Taking() { counting_.taking_ = nullptr; }

   private:
    CallCounting& counting_;
  };

  /// All of these outlive this. `sink` sends the answers. `turn` is the loop's, and notes each request.
  /// `times` is null where calls are not timed.
  CallCounting(MethodCounts& counts, const IdTable<ServedCall>& records, const AnswerSink& sink,
               TurnTime& turn, CallTimes* times)
      : counts_(counts),
        records_(records),
        sink_(sink),
        turn_(turn),
        times_(times),
        last_(&counts.of_none()) {}

  /// The next requests were received now, or at `held_since` if they were kept until now.
  void receive(TimePoint held_since = TimePoint::max()) noexcept {
    if (times_ != nullptr) received_ = std::min(held_since, times_->now());
  }
  /// Returns the time at which the requests were received; only where calls are timed.
  TimePoint received() const noexcept { return received_; }

  /// A request was taken for `method`, or for none.
  void taken(const MethodEntry& method) noexcept { taken(counts_.of(method)); }
  void taken_for(const MethodEntry* method) noexcept {
    taken(method != nullptr ? counts_.of(*method) : counts_.of_none());
  }
  /// Counts a request for `method` that was taken before.
  void go_on_with(const MethodEntry& method) noexcept { last_ = &counts_.of(method); }
  /// The request was refused with `code`; `why` is for people.
  [[gnu::cold]] void refused(std::uint64_t id, StatusCode code, std::string_view why = {}) noexcept;
  [[gnu::cold]] void failed(std::uint64_t id, StatusCode code, std::string_view why = {}) noexcept;
  /// The ordinary function of the request that is being taken has ended; only where calls are timed. If it
  /// has answered, its answer has `bytes_sent`.
  void function_ended(const MethodEntry& method, std::uint64_t bytes_received,
                      std::uint64_t bytes_sent) noexcept {
    MethodCounters& counters = counts_.of(method);
    if (taking_ == nullptr) [[unlikely]] {
      return times_->received(counters, bytes_received);
    }
    times_->answered_in_turn(counters, received_, bytes_received, bytes_sent);
  }
  /// The request that was taken last gets no answer.
  void dropped() noexcept { ++last_->dropped; }

 private:
  void taken(MethodCounters& counters) noexcept {
    last_ = &counters;
    turn_.note_begun(&counters);
    ++counters.taken;
  }
  const ServedCall* record_of(std::uint64_t id) const noexcept;
  MethodCounters& of(const ServedCall* record) noexcept;
  void note_end(const ServedCall* record, StatusCode code, bool began, std::string_view why) noexcept;

  MethodCounts& counts_;
  const IdTable<ServedCall>& records_;
  const AnswerSink& sink_;
  TurnTime& turn_;
  CallTimes* const times_;
  TimePoint received_{};
  MethodCounters* last_;
  /// The id of the request that is being taken; null after it was refused or failed.
  const std::uint64_t* taking_ = nullptr;
};

}  // namespace weft::detail
