// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/base/unique_function.hpp"
#include "weft/detail/transport/outbox.hpp"
#include "weft/memory/buffer.hpp"

namespace weft::detail {

/// Queues `attachment` behind its answer, and lets `on_sent` hear when that, and everything before it, has
/// left. Each may be empty. False when memory is out; `on_sent` has heard so then.
bool queue_answer_attachment(Outbox& outbox, Buffer attachment, UniqueFunction<void(bool)> on_sent);

}  // namespace weft::detail
