// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/base/time.hpp"
#include "weft/calls/attachment_view.hpp"
#include "weft/calls/landing_view.hpp"
#include "weft/calls/metadata.hpp"

namespace weft {

/// Options of one call. Trivially copyable on purpose: g++ 12 destroys a braced temporary inside a co_await
/// expression twice, which is harmless only for such a type (docs/pitfalls).
struct CallOptions {
  /// How long the call may take, from its beginning on; zero: as long as ClientOptions::call_timeout says.
  /// The earliest of this, `deadline` and the deadline that the calling coroutine carries counts. kNoTimeout:
  /// only these two. Negative, such as what is left of a time that is over: it has passed.
  Duration timeout = Duration::zero();
  Deadline deadline{};
  /// Sent behind the request, leased until the call has ended.
  AttachmentView attachment{};
  /// Where the attachment of the answer is to land, in one piece or several; it fails the call when the
  /// answer brings more than fits. Leased until the call has ended.
  LandingView landing{};
  /// Travels beside the arguments, and stays as it is until the call has ended. A call that a coroutine
  /// awaits while it serves another one carries that one's when it is given none; with an empty Metadata it
  /// carries none.
  MetadataView metadata{};
};

}  // namespace weft
