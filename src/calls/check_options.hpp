// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "weft/base/status.hpp"
#include "weft/calls/client_options.hpp"
#include "weft/calls/pool_options.hpp"
#include "weft/calls/server_options.hpp"

namespace weft::detail {

/// Ok, or kInvalidArgument for the first option with which nothing would ever work: its name and what to do.
Status check_options(const ClientOptions& options);
Status check_options(const PoolOptions& options);
/// `blocking`: a handler is registered as blocking.
Status check_options(const ServerOptions& options, bool blocking);

/// The same for what a server and a method have both; `option` is its name.
Status check_rate(const Rate& rate, std::string_view option);
Status check_adaptive(const AdaptiveLimitOptions& limit, std::string_view option);

}  // namespace weft::detail
