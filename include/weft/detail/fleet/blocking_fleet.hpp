// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <stop_token>
#include <utility>

#include "weft/detail/fleet/far_call.hpp"
#include "weft/detail/fleet/fleet_client.hpp"
#include "weft/detail/fleet/way_to_fleet.hpp"
#include "weft/detail/runtime/told_task.hpp"

namespace weft {

/// The way to a fleet for threads without a loop, what `weft::blocking(fleet)` gives: `Result<R> reply =
/// weft::blocking(fleet).call<f>(x);`. May be copied, kept and used by any thread, also when the fleet has
/// ended: calls fail with kCancelled then.
class BlockingFleet {
 public:
  BlockingFleet(const FleetClient& fleet, std::stop_token stop)
      : core_(fleet.core()), way_(*fleet.core()), stop_(std::move(stop)) {}

  /// Calls a function of one of the servers, and blocks this thread until there is an answer. Arguments are
  /// encoded here. Time: as FleetClient::call(); a call whose loop does not turn ends a second later. Errors:
  /// those of FleetClient::call(); kCancelled when the stop_token was asked to stop, when the loop was
  /// stopped or the fleet has ended; kFailedPrecondition on a thread that must not block: inside a turn of a
  /// loop, or where the fleet's loop is driven; and in a child of fork. Throws std::bad_alloc. A call whose
  /// options name memory, such as an attachment, has it until it returns: it waits for the loop in any case,
  /// and no stop ends it before its time.
  template <auto M, typename... Given>
    requires(!detail::fleet_options_first<Given...> && detail::CallableWith<M, Given...>)
  Result<detail::ResultOfMethod<M>> call(Given&&... arguments) {
    return call<M>(FleetCallOptions{}, std::forward<Given>(arguments)...);
  }
  template <auto M, typename... Given>
    requires detail::CallableWith<M, Given...>
  Result<detail::ResultOfMethod<M>> call(const FleetCallOptions& options, Given&&... arguments) {
    return wait<M>(&detail::far_value<M>, options, false, std::forward<Given>(arguments)...);
  }
  /// The same with the attachment of the answer.
  template <auto M, typename... Given>
    requires detail::CallableWith<M, Given...>
  Result<Answer<detail::ResultOfMethod<M>>> call_with_attachment(const FleetCallOptions& options,
                                                                 Given&&... arguments) {
    return wait<M>(&detail::far_answer<M>, options, true, std::forward<Given>(arguments)...);
  }

  /// Calls a function at every server, as FleetClient::call_all(), and blocks this thread until all have
  /// answered or failed. Time, errors, stop: as call().
  template <auto M, typename... Given>
    requires detail::CallableWith<M, Given...>
  FleetReplies<detail::ResultOfMethod<M>> call_all(const FleetCallOptions& options, Given&&... arguments) {
    return wait<M>(&detail::far_call_all<M>, options, detail::kAllServers, std::forward<Given>(arguments)...);
  }
  /// The same until `wanted` servers have answered well, as FleetClient::call_quorum().
  template <auto M, typename... Given>
    requires detail::CallableWith<M, Given...>
  FleetReplies<detail::ResultOfMethod<M>> call_quorum(std::size_t wanted, const FleetCallOptions& options,
                                                      Given&&... arguments) {
    return wait<M>(&detail::far_call_quorum<M>, options, wanted, std::forward<Given>(arguments)...);
  }

 private:
  template <auto M, typename Outcome, typename Wish, typename... Given>
  Outcome wait(Task<Outcome> (*begins)(detail::FarCall, Wish), const FleetCallOptions& options, Wish wish,
               Given&&... arguments) {
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

/// Calls functions of a fleet, whose loop another thread runs, from a thread that blocks until it has the
/// answer. `fleet` must exist while this is called and need not be there afterwards. When `stop` is asked to
/// stop, the calls end with kCancelled. Thread: any.
inline BlockingFleet blocking(FleetClient& fleet, std::stop_token stop = {}) {
  return {fleet, std::move(stop)};
}

}  // namespace weft
