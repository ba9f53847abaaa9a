// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>

#include "raw/command.hpp"

namespace {

constexpr int kUsageError = 2;

constexpr const char* kExamples =
    "Examples:\n"
    "  Measure the limit of this machine, server and client on a core of their own:\n"
    "    weft raw server --listen tcp://127.0.0.1:9000 --cpus 0 &\n"
    "    weft raw client --connect tcp://127.0.0.1:9000 --size 128 --depth 256 --cpus 1\n"
    "  See what batching is worth:\n"
    "    weft raw server --listen tcp://127.0.0.1:9001 --nobatch\n"
    "  Ask a script's questions:\n"
    "    weft raw client --connect tcp://127.0.0.1:9000 --seconds 5 --json\n"
    "\n"
    "`weft COMMAND --help` shows the flags of each command.";

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Weft's command-line tool", "weft"};
  app.footer(kExamples);
  app.require_subcommand(1);
  int exit_code = 0;
  weft::raw::add_commands(app, exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsageError;
  }
  return exit_code;
}
