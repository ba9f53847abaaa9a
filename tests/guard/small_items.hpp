// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "guard/progress.hpp"
#include "weft/client.hpp"
#include "weft/detail/coro/scope.hpp"
#include "weft/server.hpp"

namespace weft::guard {

/// Registers the handlers of use_streams().
void register_items(Server& server);

/// Opens `streams` streams on `client`, over which the items that are to be started go in equal parts: down,
/// from the server, or up. An item ends where it is read. All of them outlive `scope`.
void use_streams(Scope& scope, Client& client, Progress& progress, std::uint64_t streams, bool down);

}  // namespace weft::guard
