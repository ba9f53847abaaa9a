// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/verbs/way.hpp"

#include <cerrno>

#include "weft/detail/verbs/status.hpp"

namespace weft::verbs {

// Whoever makes an address handle looks for the way first, as connecting does. Devices that make none have
// none that anybody waits for.
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
