// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/base/time.hpp"
#include "weft/detail/calls/call/call_details.hpp"
#include "weft/detail/calls/terms/attempt_record.hpp"
#include "weft/detail/calls/terms/method_key.hpp"
#include "weft/detail/coro/cancel.hpp"

namespace weft::detail {

/// Everything that the header of a call's request is made of, without its body. Refers to objects that the
/// owner of the call keeps until the call has ended.
struct CallRequest {
  /// The metadata of the call, or else that of its scope.
  Bytes metadata() const {
    if (details != nullptr && details->options.metadata.is_given()) return details->options.metadata.bytes();
    return carrying != nullptr ? carrying->carried() : Bytes{};
  }
  /// Returns true if the request consists only of arguments, with the target's default timeout.
  bool is_plain() const {
    return details == nullptr && carrying == nullptr && (deadline.is_infinite() || default_timeout != 0);
  }

  /// The caller declares that running the call twice does no harm.
  bool is_idempotent() const {
    return method->idempotent || (details != nullptr && details->options.idempotent);
  }
  /// The body can be written again.
  bool keeps_body() const { return details == nullptr || details->keeps_body; }

  const MethodKey* method;
  /// May be null.
  CallDetails* details;
  /// The scope that the call was begun under, if it carries metadata.
  const CancelScope* carrying = nullptr;
  Deadline deadline{};
  /// The target's default timeout as encoded in a header; zero unless `deadline` results from it and
  /// CallTimeouts watches it.
  std::uint32_t default_timeout = 0;
  /// Number of times that the call was begun again after a lost connection.
  std::uint32_t repeats = 0;
  /// Attempts of the call on connections that were lost, which may have run even if later ones were refused.
  AttemptRecord attempts{};
  /// The call has waited at its target, so that its owner may destroy it when it ends.
  bool has_waited = false;
};

}  // namespace weft::detail
