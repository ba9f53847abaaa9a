// SPDX-License-Identifier: Apache-2.0
#include "transport/ucx/conversation.hpp"

#include "transport/ucx/limits.hpp"
#include "weft/detail/ucx/status.hpp"

namespace weft::detail::ucx_carrier {

Conversation::Conversation(Loop& loop, Ready& told)
    : loop_(loop),
      told_(told),
      protocol_({.kinds = kCommonMessageKinds | bit_of(MessageKind::kAsk) | bit_of(MessageKind::kPlace) |
                          bit_of(MessageKind::kPart),
                 .credit_max = static_cast<std::uint32_t>(kWindowBytesMax),
                 .over = "over UCX"}) {}

void Conversation::end() noexcept {
  over_ = true;
  loop_.unschedule(told_);
}

void Conversation::fail(ucs_status_t status) noexcept {
  if (failed_ == UCS_OK) failed_ = status;
  touch();
}

void Conversation::misbehaved(const char* what) noexcept {
  protocol_.misbehaved(what);
  touch();
}

Status Conversation::failure() const {
  if (protocol_.misbehaves()) return protocol_.misbehaviour();
  const Status status = ucx::to_status(failed_, "the UCX carrier");
  return {StatusCode::kUnavailable, Layer::kTransport, status.message(), status.native()};
}

}  // namespace weft::detail::ucx_carrier
