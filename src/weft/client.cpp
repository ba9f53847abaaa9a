// SPDX-License-Identifier: Apache-2.0
#include "weft/client.hpp"

#include "weft/client_transports.hpp"

namespace weft {

// The options are copied, because the arguments may be evaluated in any order.
// NOLINTNEXTLINE(performance-unnecessary-value-param): the declaration takes them by value, as others do
Client::Client(Loop& loop, ClientOptions options, TransportOptions transports)
    : Client(loop, options, detail::make_client_transports(std::move(transports), options.connect)) {}

}  // namespace weft
