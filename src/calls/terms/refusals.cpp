// SPDX-License-Identifier: Apache-2.0
#include "calls/terms/refusals.hpp"

#include <iterator>

#include "weft/detail/calls/terms/answer_sink.hpp"
#include "weft/detail/wire/frame.hpp"

namespace weft {

namespace {

constexpr int kFirstFault = static_cast<int>(detail::wire::FrameFault::kUnknownType);
constexpr int kFaults = static_cast<int>(detail::wire::FrameFault::kCount);

constexpr RefusalReason of_fault(detail::wire::FrameFault fault) {
  return static_cast<RefusalReason>(static_cast<int>(RefusalReason::kUnknownType) + static_cast<int>(fault) -
                                    kFirstFault);
}
static_assert(of_fault(detail::wire::FrameFault::kBodyTooLarge) == RefusalReason::kBodyTooLarge);
static_assert(of_fault(detail::wire::FrameFault::kChecksum) == RefusalReason::kChecksum);
static_assert(of_fault(detail::wire::FrameFault::kMisplacedItem) == RefusalReason::kMisplacedItem &&
              static_cast<int>(detail::wire::FrameFault::kMisplacedItem) == kFaults - 1);

}  // namespace

std::string_view to_string(RefusalReason why) {
  static constexpr std::string_view kBefore[] = {"bad hello", "hello of another version or feature"};
  static constexpr std::string_view kBehind[] = {"against a carrier's rules",
                                                 "repeated call id",
                                                 "unknown method",
                                                 "wrong schema",
                                                 "bad arguments",
                                                 "bad metadata",
                                                 "body over its method's limit",
                                                 "attachment over its method's limit",
                                                 "attachment for a method that takes none",
                                                 "attachment that stalled",
                                                 "over the connection's memory",
                                                 "over the process's memory",
                                                 "over the output that may wait",
                                                 "over the calls in flight",
                                                 "over the open streams",
                                                 "over the calls that may run",
                                                 "over the workers' queue",
                                                 "waited for too long",
                                                 "over the caller's rate",
                                                 "over its method's rate",
                                                 "over the adaptive limit",
                                                 "by an interceptor",
                                                 "from a caller of whom nothing is known",
                                                 "with a token that is not good",
                                                 "from a caller who may not"};
  constexpr std::size_t kFaultsFrom = std::size(kBefore);
  constexpr std::size_t kFaultsTo = detail::kRefusalReasons - std::size(kBehind);
  static_assert(of_fault(detail::wire::FrameFault::kUnknownType) == RefusalReason{kFaultsFrom});
  static_assert(of_fault(detail::wire::FrameFault::kMisplacedItem) == RefusalReason{kFaultsTo - 1});
  const auto index = static_cast<std::size_t>(why);
  if (index < kFaultsFrom) return kBefore[index];
  if (index >= detail::kRefusalReasons) return "?";
  if (index >= kFaultsTo) return kBehind[index - kFaultsTo];
  return detail::wire::to_string(
      static_cast<detail::wire::FrameFault>(kFirstFault + static_cast<int>(index - kFaultsFrom)));
}

std::optional<RefusalReason> detail::breach_of(const Status& why) {
  if (why.layer() == Layer::kRpc && why.code() == StatusCode::kInvalidArgument) {
    return RefusalReason::kRepeatedCallId;
  }
  if (why.layer() == Layer::kTransport && why.code() == StatusCode::kInvalidArgument) {
    return RefusalReason::kCarrierRules;
  }
  if (why.layer() != Layer::kWire) return std::nullopt;
  if (why.native() >= kFirstFault && why.native() < kFaults) {
    return of_fault(static_cast<detail::wire::FrameFault>(why.native()));
  }
  return why.code() == StatusCode::kFailedPrecondition ? RefusalReason::kHelloMismatch
                                                       : RefusalReason::kBadHello;
}

void detail::AnswerSink::refuse_unrun(std::uint64_t id, const Refusal& refusal) {
  Status why = refusal.status;
  if (refusal.retry_after > Duration::zero()) why.set_retry_after(refusal.retry_after);
  why.mark_unprocessed();
  refuse(id, refusal.reason, why);
}

}  // namespace weft
