// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/verbs/way.hpp"

#include <cerrno>

#include "weft/detail/verbs/status.hpp"

namespace weft::verbs {

// Creating an address handle resolves the route first, as connecting does. Devices without address handles
// need no resolution.
Status Way::look_for() {
  ibv_ah* const handle = domain_->driver().create_ah(domain_->handle(), &attributes_);
  if (handle != nullptr) {
    const int error = domain_->driver().destroy_ah(handle);
    WEFT_ASSERT(detail::has_ended(error), "nobody uses an address handle that was just made");
    return {};
  }
  if (errno != ETIMEDOUT && errno != EHOSTUNREACH && errno != ENETUNREACH) return {};
  return call_status(errno, "looking for the peer's device");
}

}  // namespace weft::verbs
