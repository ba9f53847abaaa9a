// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <infiniband/verbs.h>

#include <cerrno>
#include <string_view>

#include "weft/detail/base/status.hpp"

namespace weft::verbs {

/// Translates a work request's `status` for a caller: the code, `what` was tried, the device's words and
/// what to do. Layer::kTransport, native() is the ibv_wc_status. Not for IBV_WC_SUCCESS.
Status to_status(ibv_wc_status status, std::string_view what);

/// The same for a call that failed with errno `error`; native() is the errno. ENOMEM names the limit on
/// locked memory when that is what refused a registration.
Status call_status(int error, std::string_view what);

namespace detail {

/// Returns true if the answer of destroying something means that it is gone, or with it its whole device,
/// which touches nothing either.
constexpr bool has_ended(int error) noexcept {
  return error == 0 || error == EIO || error == ENODEV;
}

}  // namespace detail

}  // namespace weft::verbs
