// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/base/log.hpp"

namespace weft::ucx {

/// Sends UCX's messages to `logger` instead of to UCX's own log, which is standard output or a file; null
/// restores that. UCX's setting LOG_LEVEL still selects the messages: warnings and errors by default.
///
/// Applies to the whole process, including other users of UCX in it, so main should call it, and before the
/// first context to receive all messages. `logger` must live as long as UCX is used. It is called by any
/// thread, also by threads of UCX and from inside UCX, so it must call neither UCX nor
/// Weft. Exceptions that it throws are dropped. Thread: any.
void log_to(Logger* logger);

}  // namespace weft::ucx
