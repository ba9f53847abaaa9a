// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace CLI {
class App;
}

namespace weft::perf {

/// Adds `weft perf` with its server and client. Running one of them stores the process's exit code in
/// `exit_code`, which must outlive `app`.
void add_commands(CLI::App& app, int& exit_code);

}  // namespace weft::perf
