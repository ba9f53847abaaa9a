// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "weft/detail/base/thread_end.hpp"

namespace weft::protobuf::detail {

/// Records whose messages were larger on the wire are not kept, so that one large call does not hold its
/// memory without end.
inline constexpr std::size_t kSmallBytes = 4096;
/// A cleared message keeps the memory of all earlier calls, which small calls can make large together, and
/// one call alone where a byte or two are a whole message. So its memory is measured whenever calls have
/// brought this many bytes, and freed when it exceeds its limit.
inline constexpr std::size_t kBytesPerMeasure = 2048;
inline constexpr std::size_t kKeptBytesMax = 64 * 1024;
/// Number of records of a method that each thread keeps.
inline constexpr std::size_t kRecordsKept = 256;

/// The link of a record that waits for its next call.
template <typename Record>
struct CachedRecord {
  Record* next_kept = nullptr;
};

/// One thread's records of one method that wait for their next call.
template <typename Record>
class RecordCache {
 public:
  /// Throws std::bad_alloc.
  static Record* take() {
    State& state = state_;
    Record* const record = state.first;
    if (record == nullptr) [[unlikely]] {
      return new Record;
    }
    state.first = record->next_kept;
    ++state.room;
    return record;
  }
  /// Keeps it for the next call, if `small`, or frees it.
  static void give_back(Record& record, bool small) noexcept {
    State& state = state_;
    if (!small || (state.room == 0 && !open(state))) [[unlikely]] {
      delete &record;
      return;
    }
    record.clear();
    record.next_kept = state.first;
    state.first = &record;
    --state.room;
  }

 private:
  /// Trivially destroyed, so that it can be used until the thread's very end: then, as before its first use
  /// and when it is full, it has no room.
  struct State {
    Record* first = nullptr;
    std::size_t room = 0;
    bool opened = false;
    weft::detail::ThreadEnd end{&close};
  };

  static void close() noexcept {
    State& state = state_;
    state.room = 0;
    while (Record* const record = state.first) {
      state.first = record->next_kept;
      delete record;
    }
  }
  /// False when it was open before, as it is full or its thread ends, or when there is no memory for it.
  static bool open(State& state) noexcept {
    if (state.opened || !run_at_thread_end(state.end)) return false;
    state.opened = true;
    state.room = kRecordsKept;
    return true;
  }

  static inline constinit thread_local State state_{};
};

}  // namespace weft::protobuf::detail
