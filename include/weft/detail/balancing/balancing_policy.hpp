// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "weft/detail/base/status.hpp"
#include "weft/detail/base/time.hpp"

namespace weft {

/// A server that calls may go to, as a list names it.
struct EndpointSpec {
  /// Name by which it is known again in the next list, such as its URL. It is unique within a list; of
  /// several that have one name, the first is the one that was known.
  std::string_view key;
  /// Share of the calls, against that of the others; zero takes none. More than a million
  /// counts as that.
  std::uint32_t weight = 1;
  /// Zone of the endpoint, such as "eu-west-1b"; empty if unknown.
  std::string_view zone = {};
};

namespace detail {

inline constexpr std::uint32_t kPickWeightMax = 1'000'000;

}  // namespace detail
/// Most endpoints of a list.
inline constexpr std::size_t kEndpointsMax = 65'536;
namespace detail {

/// Endpoints that PickRequest::tried is read to; those behind are not looked at.
inline constexpr std::size_t kTriedMax = 16;

}  // namespace detail

/// Hash of a text, equal in every process and version. Used for endpoint keys, and for PickRequest::key_hash
/// to keep related calls together. Not collision resistant against chosen input.
std::uint64_t key_hash(std::string_view text) noexcept;

/// Everything a pick depends on besides what the policy knows: the same requests and reports in the same
/// order give the same picks.
struct PickRequest {
  TimePoint now;
  /// A number of the whole range, a new one for each pick.
  std::uint64_t random = 0;
  /// Hash of what the call is about, for ConsistentHash; zero: about nothing.
  std::uint64_t key_hash = 0;
  /// Endpoints that this call has already tried; the policy picks another one. A policy may look at the first
  /// sixteen only.
  std::span<const std::uint32_t> tried = {};
};

/// Verdict of a call about the endpoint that it was sent to.
enum class CallOutcome : std::uint8_t {
  kSuccess,
  kFailure,    ///< the endpoint's fault: unavailable, overloaded, out of time, or broken
  kOvertaken,  ///< given up, because a backup of it was answered: it would have taken longer than this
  kIgnored,    ///< not the endpoint's fault: cancelled, or refused because of its arguments
};

/// End of a call.
struct CallReport {
  TimePoint now;
  CallOutcome outcome = CallOutcome::kSuccess;
  /// Time from begun() to now.
  Duration latency = Duration::zero();
  /// The call ended because its time was over, without an answer.
  bool timed_out = false;
};

/// Choice of an endpoint for each call.
///
///   policy                      choose it when
///   LeastLoaded                 in doubt: servers differ, or become slow at times
///   RoundRobin                  all servers and calls are alike; the evenest numbers of calls
///   SmoothWeightedRoundRobin    the same with servers of different sizes
///   RandomPick                  very many clients, each with few calls: nothing to remember, no herds
///   ConsistentHash              servers keep something for each key, such as a cache
///
/// and around two of one kind of these, if wanted:
///
///   LocalityFirst               the servers of the own zone while there are enough
///
/// A fleet puts more around it, from the outside in, as its options say: Subset, by which each client of a
/// large fleet uses a few servers only, and OutlierEjection, which leaves out servers that fail or are slow.
///
/// An endpoint is named by its index in the list that was set last. Who holds calls in flight while a new
/// list comes reports their ends under the index that their endpoint has now, and not at all when it left.
///
/// Policies take no memory but in set_endpoints(), read no clock and have no thread. Each belongs to one
/// thread at a time. An index that is not in the list is a bug.
class BalancingPolicy {
 public:
  virtual ~BalancingPolicy() = default;

  /// Replaces the list; nothing of `list` is kept by reference. Endpoints with an unchanged key keep their
  /// state, new ones begin with the full share. May be empty. Costs O(n log n). Errors: kInvalidArgument,
  /// without a change, for more than kEndpointsMax endpoints. Throws std::bad_alloc when memory is exhausted;
  /// then set_endpoints() must be called again before any other function.
  virtual Status set_endpoints(std::span<const EndpointSpec> list) = 0;
  virtual std::size_t size() const noexcept = 0;

  /// Returns an endpoint, or none if all endpoints with a share were tried.
  virtual std::optional<std::uint32_t> pick(const PickRequest& request) noexcept = 0;

  /// Health according to the owner of the connections, from 0 to 1: an endpoint with 0 is never picked, and
  /// another share multiplies its weight.
  virtual void set_share(std::uint32_t index, double share) noexcept = 0;

  /// A call goes to an endpoint; it ends by ended().
  virtual void begun(std::uint32_t index, TimePoint now) noexcept = 0;
  virtual void ended(std::uint32_t index, const CallReport& report) noexcept = 0;
};

}  // namespace weft
