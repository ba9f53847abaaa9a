// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "weft/detail/base/result.hpp"
#include "weft/detail/coro/task.hpp"

namespace weft {
class Client;
}

namespace weft::services {

/// Connects, makes `count` round trips, at least one, and returns their times, as text or as JSON.
Task<Result<std::string>> ping(Client* client, unsigned count, bool as_json);
/// Returns that the server answers calls, as text or as JSON; a failure if it does not.
Task<Result<std::string>> health(Client* client, bool as_json);

}  // namespace weft::services
