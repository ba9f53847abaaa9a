// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "calls/terms/id_table.hpp"
#include "calls/terms/method_counters.hpp"
#include "weft/detail/base/status.hpp"
#include "weft/detail/runtime/turn_time.hpp"

namespace weft::detail {

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

  /// All of these outlive this. `turn` is the loop's, and notes each request.
  CallCounting(MethodCounts& counts, const IdTable<ServedCall>& records, TurnTime& turn)
      : counts_(counts), records_(records), turn_(turn), last_(&counts.of_none()) {}

  /// A request was taken for `method`, or for none.
  void taken(const MethodEntry& method) noexcept { taken(counts_.of(method)); }
  void taken_for(const MethodEntry* method) noexcept {
    taken(method != nullptr ? counts_.of(*method) : counts_.of_none());
  }
  /// Counts a request for `method` that was taken before.
  void go_on_with(const MethodEntry& method) noexcept { last_ = &counts_.of(method); }
  void refused(std::uint64_t id) noexcept { ++of_call(id).refused; }
  void failed(std::uint64_t id, StatusCode code) noexcept { of_call(id).fail(code); }
  /// The request that was taken last gets no answer.
  void dropped() noexcept { ++last_->dropped; }

 private:
  void taken(MethodCounters& counters) noexcept {
    last_ = &counters;
    turn_.note_begun(&counters);
    ++counters.taken;
  }
  MethodCounters& of_call(std::uint64_t id) noexcept;

  MethodCounts& counts_;
  const IdTable<ServedCall>& records_;
  TurnTime& turn_;
  MethodCounters* last_;
  /// The id of the request that is being taken.
  const std::uint64_t* taking_ = nullptr;
};

}  // namespace weft::detail
