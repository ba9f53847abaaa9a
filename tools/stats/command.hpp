// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace CLI {
class App;
}

namespace weft::stats {

/// Adds `weft stats`. Running it stores the process's exit code in `exit_code`, which must outlive `app`: 0,
/// or 1 with the reason on standard error, or in JSON on standard output.
void add_command(CLI::App& app, int& exit_code);

}  // namespace weft::stats
