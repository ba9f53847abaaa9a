// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "weft/detail/calls/client/call_pool.hpp"
#include "weft/detail/coro/task.hpp"
#include "weft/detail/limits/quiet_methods.hpp"

namespace weft::detail {

class FleetLinks;

/// One server of a fleet, as long as it is in the list or has calls in flight.
///
///   kIdle ----picked----> kDialing ------------connected------------> kReady
///     ^                      |                                          |  ^
///     |      failed, or not  |                         picked and lost  |  |
///     |  connected in time   v                                          v  |
///     |                  kLate, kDown ----connected----> kReady      kDialing
///     '--- there was no memory
///
/// The policy gives kLate and kDown no share, and the others their whole share: while an attempt may still
/// succeed, calls that the policy would give to the member are not to go to worse ones.
struct FleetMember {
  enum class Link : std::uint8_t {
    kIdle,
    kDialing,  ///< for less than kDialPatience
    kLate,     ///< for longer than that
    kReady,    ///< was connected when it was last looked at
    kDown,     ///< the last attempt failed, and others go on
  };
  /// Time for which a call waits for a connection before it takes another server, or connects to one.
  static constexpr Duration kDialPatience = std::chrono::milliseconds{200};
  static constexpr std::uint32_t kGone = UINT32_MAX;

  struct DialEnd final : Completion {
    explicit DialEnd(FleetMember& its) : Completion{&ended}, member(its) {}
    static void ended(Completion& self, TaskPromiseBase& task) noexcept;
    FleetMember& member;
  };

  FleetMember(FleetLinks& its, std::string its_url) : links(its), url(std::move(its_url)) {}

  bool is_used() const noexcept { return used_index != kGone; }
  /// Returns true if the member answered the last call whose end is known, and is not silent about others.
  bool is_trusted(TimePoint now) const noexcept {
    return answered_at > failed_at && (in_flight == 0 || now - answered_at < kDialPatience);
  }

  FleetLinks& links;
  const std::string url;
  /// Made when it is picked first; null again when the fleet was closed.
  std::unique_ptr<CallPool> pool;
  /// Place in the list, or kGone.
  std::uint32_t index = kGone;
  /// Index among the members that may be picked, or kGone: beyond the subset, or of weight zero.
  std::uint32_t used_index = kGone;
  /// Number of attempts that ended while the policy could not be notified.
  std::uint32_t unreported = 0;
  /// Index among the ready members; only in kReady.
  std::size_t ready_at = 0;
  std::uint64_t picks = 0;
  std::uint64_t failures = 0;
  /// Attempts that are under way.
  std::size_t in_flight = 0;
  /// Attempts and others that keep it.
  std::size_t holds = 0;
  Duration latency{};
  /// Begin of the attempt to connect; in kDialing.
  TimePoint dialing_since{};
  /// Times of the last success and of the last failure reported to the policy.
  TimePoint answered_at = TimePoint::min();
  TimePoint failed_at = TimePoint::min();
  /// Time at which a call last found it unavailable, by the turn of the loop.
  TimePoint unavailable_at = TimePoint::min();
  /// Its methods that it asked to be left alone.
  QuietMethods quiet;
  /// Failure of the last attempt to connect; ok while it is connected, and before the first attempt. The
  /// reason of kDown.
  Status failure;
  Link link = Link::kIdle;
  DialEnd dial_end{*this};
  Task<void> dialing;
};

}  // namespace weft::detail
