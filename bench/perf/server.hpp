// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "load/options.hpp"
#include "weft/weft.hpp"

namespace weft::perf {

/// A Weft server with the functions that `weft perf client` calls; serves from now until destroyed.
/// Errors: those of Server::start().
Result<std::unique_ptr<Server>> start_server(const load::ServerOptions& options);

}  // namespace weft::perf
