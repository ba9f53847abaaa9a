// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "weft/detail/base/time.hpp"

namespace weft::detail {

/// Methods of one server that must not be called before a time that the server named. Stores a bounded number
/// of methods; when more are refused at once, the whole server is left alone. Allocates nothing.
class QuietMethods {
 public:
  /// Longest wait that a single answer can impose: a server that asks for more is asked again after this
  /// time.
  static constexpr Duration kLongest = std::chrono::minutes{1};

  /// Returns until when `method` is not to be called; no later than `now` when it may be.
  TimePoint until(std::uint64_t method, TimePoint now) const noexcept {
    return now >= last_ ? now : search(method, now);
  }
  /// Records that `method` must not be called before `until`, nor before a later time recorded earlier.
  void tell(std::uint64_t method, TimePoint until, TimePoint now) noexcept;

 private:
  static constexpr std::size_t kMethods = 4;

  struct Told {
    std::uint64_t method = 0;
    TimePoint until = TimePoint::min();
  };

  TimePoint search(std::uint64_t method, TimePoint now) const noexcept;

  /// The latest time of all.
  TimePoint last_ = TimePoint::min();
  TimePoint whole_server_ = TimePoint::min();
  std::array<Told, kMethods> told_{};
};

}  // namespace weft::detail
