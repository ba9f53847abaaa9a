// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "weft/transports.hpp"

namespace weft::detail {

/// Makes the transports that a client of `url` can use, without the others, which would cost each client
/// three kilobytes. Other schemes than tcp:// and unix://, and an empty URL, get all transports.
Transports make_client_transports(TransportOptions options, std::string_view url);

}  // namespace weft::detail
