// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/base/log.hpp"

namespace weft::ucx {

/// Gives what UCX has to say to `logger` instead of to UCX's own log, which is standard output or a file;
/// null lets UCX write for itself again. How much that is stays UCX's setting LOG_LEVEL: warnings and errors
/// unless it says otherwise.
///
/// For the whole process, whoever uses UCX in it, so it is for main to call: before the first context, to
/// hear all of it. `logger` lives as long as UCX is used, is called by any thread, also by one of UCX's own
/// and inside of UCX, and so calls nothing of UCX's. Thread: any.
void log_to(Logger* logger);

}  // namespace weft::ucx
