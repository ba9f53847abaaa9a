// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <stop_token>
#include <utility>

#include "weft/detail/fleet/far_call.hpp"
#include "weft/detail/fleet/fleet_calls.hpp"
#include "weft/detail/fleet/fleet_client.hpp"
#include "weft/detail/fleet/way_to_fleet.hpp"
#include "weft/detail/runtime/told_task.hpp"

namespace weft {

/// Access to a fleet for threads without a loop, returned by `weft::blocking(fleet)`: `Result<R> answer =
/// weft::blocking(fleet).call<f>(x);`. May be copied, kept and used by any thread, even after the fleet has
/// ended: calls fail with kCancelled then.
///
/// The functions are those of detail::FleetCalls; each blocks its thread until the outcome is known.
/// Arguments are encoded on the calling thread. Time: as for a fleet's calls; if the loop is blocked, the
/// call ends a second later. Additional errors: kCancelled when a stop was requested, when the loop was
/// stopped or the fleet has ended; kFailedPrecondition on a thread that must not block (inside a turn of a
/// loop, or on the thread that drives the fleet's loop), and in a child of fork. Throws std::bad_alloc.
/// Memory in a call's options, such as an attachment, is used until the call returns: such a call always
/// waits for the loop, even after a stop request.
class BlockingFleet : public detail::FleetCalls<BlockingFleet> {
 public:
  BlockingFleet(const FleetClient& fleet, std::stop_token stop)
      : core_(fleet.core()), way_(*fleet.core()), stop_(std::move(stop)) {}

  /// Does as call(), and returns the attachment of the answer as well: a Result<Answer<R>>.
  template <auto M, typename... Given>
    requires detail::WithoutFleetOptions<Given...>
  auto call_with_attachment(Given&&... arguments) const {
    return call_with_attachment<M>(FleetCallOptions{}, std::forward<Given>(arguments)...);
  }
  template <auto M, typename... Given>
  auto call_with_attachment(const FleetCallOptions& options, Given&&... arguments) const {
    if constexpr (can_call<M, Given...>()) {
      return wait<M>(&detail::far_answer<M>, options, true, std::forward<Given>(arguments)...);
    } else {
      return never<Result<void>>();
    }
  }
  template <auto M>
  void call_with_attachment(const CallOptions& /*options*/, ...) const {
    detail::explain_fleet_options<M>();
  }

 private:
  friend detail::FleetCalls<BlockingFleet>;

  template <auto M, typename... Given>
  Result<detail::ResultOfMethod<M>> make_call(const FleetCallOptions& options, Given&&... arguments) const {
    return wait<M>(&detail::far_value<M>, options, false, std::forward<Given>(arguments)...);
  }
  template <auto M, typename... Given>
  FleetAnswers<detail::ResultOfMethod<M>> make_call_all(const FleetCallOptions& options,
                                                        Given&&... arguments) const {
    return wait<M>(&detail::far_call_all<M>, options, detail::kAllServers, std::forward<Given>(arguments)...);
  }
  template <auto M, typename... Given>
  FleetAnswers<detail::ResultOfMethod<M>> make_call_quorum(std::size_t wanted,
                                                           const FleetCallOptions& options,
                                                           Given&&... arguments) const {
    return wait<M>(&detail::far_call_quorum<M>, options, wanted, std::forward<Given>(arguments)...);
  }
  /// The type of a call that does not compile.
  template <typename T>
  static T never();

  template <auto M, typename Outcome, typename Wish, typename... Given>
  Outcome wait(Task<Outcome> (*begins)(detail::FarCall, Wish), const FleetCallOptions& options, Wish wish,
               Given&&... arguments) const {
    if (Status refused = way_.check_thread(); !refused.ok()) return refused;
    Status failure;
    auto encoded = detail::EncodedArguments::of<M>(failure, std::forward<Given>(arguments)...);
    if (!failure.ok()) return failure;
    using Record = detail::ToldTaskOf<Outcome, detail::BeginFarCall<Outcome, Wish>, detail::FarCall, Wish>;
    detail::FarCall call{core_, options, std::move(encoded)};
    const std::unique_ptr<Record, detail::ToldTask::Release> task{
        new Record{way_.mailbox(), begins, std::move(call), wish}};
    if (Status failed = way_.wait(*task, options, stop_); !failed.ok()) return failed;
    return task->take();
  }

  std::weak_ptr<detail::FleetCore> core_;
  detail::WayToFleet way_;
  std::stop_token stop_;
};

/// Returns access to a fleet on another thread's loop, for a thread that blocks until it has the answer.
/// `fleet` must exist during this call only. A stop request on `stop` ends the calls with kCancelled. Thread:
/// any.
inline BlockingFleet blocking(FleetClient& fleet, std::stop_token stop = {}) {
  return {fleet, std::move(stop)};
}

}  // namespace weft
