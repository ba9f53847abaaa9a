// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace CLI {
class App;
}

namespace weft::info {

/// Adds `weft info`. Running it stores the process's exit code in `exit_code`, which must outlive `app`: 0,
/// or 1 when the server that it was to connect to could not be reached as asked.
void add_command(CLI::App& app, int& exit_code);

}  // namespace weft::info
