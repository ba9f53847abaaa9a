// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace CLI {
class App;
}

namespace weft::services {

/// Adds `weft list`, `describe`, `call`, `ping` and `health`. Running one of them stores the process's exit
/// code in `exit_code`, which must outlive `app`: 0, or 1 with the reason on standard error, or in JSON on
/// standard output.
void add_commands(CLI::App& app, int& exit_code);

}  // namespace weft::services
