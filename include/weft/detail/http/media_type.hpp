// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "weft/detail/http/request.hpp"

namespace weft::detail::http {

/// Weight of a media type that a client accepts without a preference.
inline constexpr unsigned kFullWeight = 1000;

/// Returns true if `content_type`, the value of a Content-Type field, has the given type and subtype, in any
/// letter case and with any parameters.
bool is_media_type(std::string_view content_type, std::string_view type) noexcept;

/// Weight in thousandths that an Accept field gives to `type`: 0 means that the client refuses it. The most
/// specific range that contains the type decides, and the greatest weight among equals; parameters other than
/// q are ignored (RFC 9110, 12.5.1). A range with a malformed weight is ignored.
unsigned accept_weight(std::string_view accept, std::string_view type) noexcept;

/// The same for all Accept fields of a request; kFullWeight if it has none.
unsigned accept_weight(const Request& request, std::string_view type) noexcept;

}  // namespace weft::detail::http
