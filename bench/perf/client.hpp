// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "load/options.hpp"
#include "load/report.hpp"
#include "weft/detail/base/result.hpp"

namespace weft::perf {

/// Runs one measurement against a `weft perf` server, on the calling thread, and says what it measured.
/// Errors: what connecting can fail with; what the calls failed with when all of them did before the end.
Result<load::Report> blocking_measure(const load::ClientOptions& options);

}  // namespace weft::perf
