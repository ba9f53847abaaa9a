// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/base/time.hpp"
#include "weft/detail/calls/call_details.hpp"
#include "weft/detail/calls/method_key.hpp"
#include "weft/detail/coro/cancel.hpp"

namespace weft::detail {

/// Request of a call but for its body: everything that its header is made of. Refers to what the call's owner
/// keeps until the call has ended.
struct CallRequest {
  /// Its own metadata, or what its scope carries.
  Bytes metadata() const {
    if (details != nullptr && details->options.metadata.is_given()) return details->options.metadata.bytes();
    return carrying != nullptr ? carrying->carried() : Bytes{};
  }
  /// Nothing but arguments is to be sent, with no time but the target's default.
  bool is_plain() const {
    return details == nullptr && carrying == nullptr && (deadline.is_infinite() || default_timeout != 0);
  }

  /// The caller says that running the call twice does no harm.
  bool is_idempotent() const {
    return method->idempotent || (details != nullptr && details->options.idempotent);
  }
  /// The body can be written once more.
  bool keeps_body() const { return details == nullptr || details->keeps_body; }

  const MethodKey* method;
  /// May be null.
  CallDetails* details;
  /// The scope that the call was begun under, if that carries anything.
  const CancelScope* carrying = nullptr;
  Deadline deadline{};
  /// The target's default timeout as a header has it, if `deadline` is from that and is served by
  /// CallTimeouts.
  std::uint32_t default_timeout = 0;
  /// Times that the call was begun again, after connections that were lost.
  std::uint32_t repeats = 0;
  /// It was on a connection that was lost, and may have run there, whatever became of it since.
  bool may_have_run = false;
  /// The call has waited at its target, so that its owner may destroy it when it ends.
  bool has_waited = false;
};

}  // namespace weft::detail
