// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <coroutine>
#include <memory>
#include <type_traits>
#include <utility>

#include "weft/detail/base/assert.hpp"
#include "weft/detail/calls/call/awaited_call.hpp"
#include "weft/detail/calls/terms/answer.hpp"
#include "weft/detail/calls/terms/method_key.hpp"
#include "weft/detail/coro/awaited_first.hpp"
#include "weft/detail/coro/task.hpp"
#include "weft/detail/fleet/fleet_call.hpp"
#include "weft/detail/fleet/fleet_options.hpp"

namespace weft::detail {

/// A call of one of the servers of a fleet, made when it is awaited, once, by itself or within when_all(),
/// with_deadline() or block_on(); returned by FleetClient::call(). `Source` makes the `Body` of each attempt.
/// Objects that it refers to stay in place, unchanged, until the call has ended.
template <typename Body, typename Source, Returns kReturns = Returns::kResult>
class [[nodiscard("a call is made when it is awaited: co_await fleet.call<f>(...)")]] AwaitedFleetCall final
    : public AwaitedBefore<std::conditional_t<
          kReturns == Returns::kAnswer, Result<Answer<typename Body::Value>>, Result<typename Body::Value>>> {
  static constexpr bool kGivesAnswer = kReturns == Returns::kAnswer;
  using R = typename Body::Value;
  using Outcome = std::conditional_t<kGivesAnswer, Result<Answer<R>>, Result<R>>;
  using Calling = Task<FleetOutcome<Body>>;

 public:
  AwaitedFleetCall(std::shared_ptr<FleetCore> core, const MethodKey& method, const FleetCallOptions& options,
                   Source source)
      : core_(std::move(core)), method_(&method), options_(options), source_(std::move(source)) {}
  AwaitedFleetCall(AwaitedFleetCall&&) = default;
  AwaitedFleetCall& operator=(AwaitedFleetCall&&) = delete;

  /// Gives the attachment of the answer too: Result<Answer<R>>. Only before it is awaited.
  auto with_attachment() &&
      requires(kReturns == Returns::kResult) {
        return AwaitedFleetCall<Body, Source, Returns::kAnswer>{std::move(core_), *method_, options_,
                                                                std::move(source_)};
      }

      auto operator co_await() && {
    WEFT_ASSERT(core_ != nullptr, "a call is awaited once");
    return Awaiter{fleet_call<Body>(std::move(core_), *method_, options_, std::move(source_), kGivesAnswer)};
  }
  /// A call is awaited once: say so by std::move.
  void operator co_await() & = delete;

 private:
  class [[nodiscard]] Awaiter {
   public:
    explicit Awaiter(Calling calling) noexcept : calling_(std::move(calling)) {}

    bool await_ready() const noexcept { return false; }
    template <typename Promise>
    bool await_suspend(std::coroutine_handle<Promise> coroutine) noexcept {
      return std::move(calling_).operator co_await().await_suspend(coroutine);
    }
    Outcome await_resume() {
      if constexpr (kGivesAnswer) {
        return take_result(calling_);
      } else {
        return value_of(take_result(calling_));
      }
    }

   private:
    Calling calling_;
  };

  std::shared_ptr<FleetCore> core_;
  const MethodKey* method_;
  FleetCallOptions options_;
  Source source_;
};

}  // namespace weft::detail
