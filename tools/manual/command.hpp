// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace CLI {
class App;
}

namespace weft::manual {

/// Adds `weft version`, `weft completion` and `weft man`, which print the table of commands in `app` in other
/// forms. Running one of them stores the exit code in `exit_code`. `app` and `exit_code` must be alive then.
void add_commands(CLI::App& app, int& exit_code);

}  // namespace weft::manual
