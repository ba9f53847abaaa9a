// SPDX-License-Identifier: Apache-2.0
#include "weft/client.hpp"

namespace weft {

Client::Client(Loop& loop, ClientOptions options, TransportOptions transports)
    : Client(loop, std::move(options), make_transports(std::move(transports))) {}

}  // namespace weft
