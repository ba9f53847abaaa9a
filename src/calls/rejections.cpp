// SPDX-License-Identifier: Apache-2.0
#include "calls/rejections.hpp"

#include <iterator>

#include "weft/wire/frame.hpp"

namespace weft {

namespace {

constexpr int kFirstFault = static_cast<int>(wire::FrameFault::kUnknownType);
constexpr int kFaults = static_cast<int>(wire::FrameFault::kCount);

constexpr Rejection of_fault(wire::FrameFault fault) {
  return static_cast<Rejection>(static_cast<int>(Rejection::kUnknownType) + static_cast<int>(fault) -
                                kFirstFault);
}
static_assert(of_fault(wire::FrameFault::kBodyTooLarge) == Rejection::kBodyTooLarge);
static_assert(of_fault(wire::FrameFault::kChecksum) == Rejection::kChecksum);
static_assert(of_fault(wire::FrameFault::kMetadataTooLarge) == Rejection::kMetadataTooLarge &&
              static_cast<int>(wire::FrameFault::kMetadataTooLarge) == kFaults - 1);

}  // namespace

std::string_view to_string(Rejection why) {
  static constexpr std::string_view kNames[] = {"bad hello",
                                                "hello of another version or feature",
                                                "unknown frame type",
                                                "unknown or misplaced flags",
                                                "body too large",
                                                "attachment too large",
                                                "unexpected field",
                                                "wrong checksum",
                                                "padding is not zero",
                                                "metadata too large",
                                                "against a carrier's rules",
                                                "repeated call id",
                                                "unknown method",
                                                "wrong schema",
                                                "bad arguments",
                                                "bad metadata",
                                                "body over its method's limit",
                                                "attachment over its method's limit",
                                                "attachment for a method that takes none",
                                                "over the connection's memory",
                                                "over the process's memory",
                                                "over the calls in flight",
                                                "over the calls that may run",
                                                "over the workers' queue",
                                                "waited for too long"};
  static_assert(std::size(kNames) == kRejections);
  const auto index = static_cast<std::size_t>(why);
  return index < std::size(kNames) ? kNames[index] : "?";
}

std::optional<Rejection> breach_of(const Status& why) {
  if (why.layer() == Layer::kRpc && why.code() == StatusCode::kInvalidArgument) {
    return Rejection::kRepeatedCallId;
  }
  if (why.layer() == Layer::kTransport && why.code() == StatusCode::kInvalidArgument) {
    return Rejection::kCarrierRules;
  }
  if (why.layer() != Layer::kWire) return std::nullopt;
  if (why.native() >= kFirstFault && why.native() < kFaults) {
    return of_fault(static_cast<wire::FrameFault>(why.native()));
  }
  return why.code() == StatusCode::kFailedPrecondition ? Rejection::kHelloMismatch : Rejection::kBadHello;
}

}  // namespace weft
