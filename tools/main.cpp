// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>

#include "perf/command.hpp"
#include "raw/command.hpp"

namespace {

constexpr int kUsageError = 2;

constexpr const char* kExamples =
    "Examples:\n"
    "  Measure Weft, server and client on a core of their own:\n"
    "    weft perf server --listen tcp://127.0.0.1:9000 --cpus 0 &\n"
    "    weft perf client --connect tcp://127.0.0.1:9000 --size 128 --depth 256 --cpus 1\n"
    "  Measure the limit of this machine:\n"
    "    weft raw server --listen tcp://127.0.0.1:9001 --cpus 0 &\n"
    "    weft raw client --connect tcp://127.0.0.1:9001 --size 128 --depth 256 --cpus 1\n"
    "  See what batching is worth:\n"
    "    weft raw server --listen tcp://127.0.0.1:9002 --nobatch\n"
    "  Ask a script's questions:\n"
    "    weft perf client --connect tcp://127.0.0.1:9000 --seconds 5 --json\n"
    "\n"
    "`weft COMMAND --help` shows the flags of each command.";

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Weft's command-line tool", "weft"};
  app.footer(kExamples);
  app.require_subcommand(1);
  int exit_code = 0;
  weft::perf::add_commands(app, exit_code);
  weft::raw::add_commands(app, exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsageError;
  }
  return exit_code;
}
