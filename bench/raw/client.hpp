// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "load/options.hpp"
#include "load/report.hpp"
#include "weft/detail/base/result.hpp"

namespace weft::raw {

/// Runs one measurement against a raw server, on the calling thread, and says what it measured.
/// Errors: what connecting can fail with; kUnavailable when the server went away before the end.
Result<load::Report> blocking_measure(const load::ClientOptions& options);

}  // namespace weft::raw
