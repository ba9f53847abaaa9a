// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "weft/detail/base/time.hpp"

namespace weft::detail {

/// Methods for which no server was found: calls that wait are woken together, and only the first of them
/// looks at all servers. Remembers a few methods; for others each call looks. Allocates nothing.
class NobodyReady {
 public:
  /// True if no server is known to be ready for `method` while the servers have changed `changes` times;
  /// returns the recorded `quiet_until`.
  bool holds(std::uint64_t method, std::uint64_t changes, TimePoint now,
             TimePoint& quiet_until) const noexcept {
    const Note& note = notes_[method % kMethods];
    if (note.method != method || note.changes != changes) return false;
    if (now != note.at && !(note.all_quiet && now < note.quiet_until)) return false;
    quiet_until = note.quiet_until;
    return true;
  }
  /// Records that no server was found, which holds for this turn; or, if `all_quiet` because every server
  /// asked for a pause, until the first of these pauses is over.
  void note(std::uint64_t method, std::uint64_t changes, TimePoint now, TimePoint quiet_until,
            bool all_quiet) noexcept {
    notes_[method % kMethods] = {method, changes, now, quiet_until, all_quiet};
  }

 private:
  static constexpr std::size_t kMethods = 8;

  struct Note {
    std::uint64_t method = 0;
    std::uint64_t changes = UINT64_MAX;
    TimePoint at{};
    TimePoint quiet_until{};
    bool all_quiet = false;
  };

  std::array<Note, kMethods> notes_{};
};

}  // namespace weft::detail
