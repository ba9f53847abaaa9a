// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "guard/progress.hpp"
#include "weft/client.hpp"
#include "weft/detail/coro/task.hpp"
#include "weft/server.hpp"

namespace weft::guard {

/// Registers the handler of call_with_attachment().
void register_attached(Server& server);

/// Calls again and again with a Payload as attachment, which comes back as the attachment of the answer into
/// the caller's own memory. Both outlive the task.
Task<void> call_with_attachment(Client* client, Progress* progress);

}  // namespace weft::guard
