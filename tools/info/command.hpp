// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace CLI {
class App;
}

namespace weft::info {

/// Adds `weft info`. Running it stores the process's exit code in `exit_code`, which must outlive `app`: 0,
/// or 1 when a carrier cannot be had with the options given, or the server could not be reached as asked.
void add_command(CLI::App& app, int& exit_code);

}  // namespace weft::info
