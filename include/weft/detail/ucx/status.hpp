// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ucp/api/ucp.h>

#include <cstdint>
#include <string_view>

#include "weft/detail/base/status.hpp"

namespace weft::ucx {

/// Translates UCX's `status` for a caller: the code, `what` was tried, UCX's own words and what to do.
/// Layer::kTransport, native() is the ucs_status_t. Not for UCS_OK and UCS_INPROGRESS.
Status to_status(ucs_status_t status, std::string_view what);
/// The same where more is known of what to do: `advice`; empty for the usual.
Status to_status(ucs_status_t status, std::string_view what, std::string_view advice);

/// The same for objects created with settings: when UCX only reports that a setting is invalid, the text
/// lists the variables of the environment that may be the cause. `prefix` is
/// ContextOptions::environment_prefix. Thread: any, while the environment does not change.
Status to_setup_status(ucs_status_t status, std::string_view what, std::string_view prefix = {});

namespace detail {

/// The three answers of UCX's non-blocking calls: null for done, a request, or a status in a pointer.
inline bool is_error(ucs_status_ptr_t answer) noexcept {
  return reinterpret_cast<std::uintptr_t>(answer) >=
         static_cast<std::uintptr_t>(static_cast<std::intptr_t>(UCS_ERR_LAST));
}
inline ucs_status_t error_of(ucs_status_ptr_t answer) noexcept {
  return static_cast<ucs_status_t>(reinterpret_cast<std::intptr_t>(answer));
}

}  // namespace detail

}  // namespace weft::ucx
