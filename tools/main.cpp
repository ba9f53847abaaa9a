// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>

#include "certs/command.hpp"
#include "info/command.hpp"
#include "manual/command.hpp"
#include "perf/command.hpp"
#include "raw/command.hpp"
#include "services/command.hpp"
#include "stats/command.hpp"
#include "weft/detail/describe/error_json.hpp"
#if WEFT_HAVE_UCX
#include "weft/detail/ucx/log.hpp"
#endif

namespace {

#if WEFT_HAVE_UCX
/// UCX would write among what the commands print, which may be read by a program.
void keep_ucx_from_stdout() {
  struct ToStderr final : weft::Logger {
    void write(weft::LogLevel, std::string_view message) override { std::cerr << message << '\n'; }
  };
  static ToStderr to_stderr;
  if (std::getenv("UCX_LOG_FILE") == nullptr) weft::ucx::log_to(&to_stderr);
}
#else
void keep_ucx_from_stdout() {}
#endif

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
    "  See which way a connection takes, and what UCX and RDMA have here:\n"
    "    weft info --connect ucx://127.0.0.1:9000\n"
    "  See what a server has, and call it:\n"
    "    weft list tcp://127.0.0.1:9000\n"
    "    weft call tcp://127.0.0.1:9000 centre '[[[0,0],[6,0],[0,3]]]'\n"
    "    weft call tcp://127.0.0.1:9000 demo.Echo/Say '{\"message\": \"hi\"}'\n"
    "  Ask a script's questions:\n"
    "    weft perf client --connect tcp://127.0.0.1:9000 --seconds 5 --json\n"
    "\n"
    "`weft COMMAND --help` shows the flags of each command.";

/// The command line asks for JSON. Asked where the line could not be parsed.
bool wants_json(int argc, char** argv) {
  return std::any_of(argv, argv + argc, [](std::string_view word) { return word == "--json"; });
}

void print_failure(const std::string& text) {
  std::cout << weft::detail::error_json({weft::StatusCode::kInvalidArgument, weft::Layer::kUser, text})
            << '\n';
}

/// The first word that stands where a command belongs and names none; empty when there is no such word. Asked
/// before the line is parsed, which would only say that a command is missing.
std::string_view unknown_command(const CLI::App& app, int argc, char** argv) {
  const CLI::App* parent = &app;
  for (int i = 1; i < argc && argv[i][0] != '-'; ++i) {
    const auto commands = parent->get_subcommands([](const CLI::App*) { return true; });
    if (commands.empty()) return {};
    const auto found = std::find_if(commands.begin(), commands.end(),
                                    [&](const CLI::App* command) { return command->check_name(argv[i]); });
    if (found == commands.end()) return argv[i];
    parent = *found;
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  keep_ucx_from_stdout();
  CLI::App app{"Weft's command-line tool", "weft"};
  app.footer(kExamples);
  app.require_subcommand(1);
  app.set_version_flag("--version", "weft " WEFT_VERSION);
  int exit_code = 0;
  weft::perf::add_commands(app, exit_code);
  weft::raw::add_commands(app, exit_code);
  weft::certs::add_command(app, exit_code);
  weft::info::add_command(app, exit_code);
  weft::services::add_commands(app, exit_code);
  weft::stats::add_command(app, exit_code);
  weft::manual::add_commands(app, exit_code);
  if (const std::string_view word = unknown_command(app, argc, argv); !word.empty()) {
    const std::string text =
        "there is no command \"" + std::string{word} + "\"; run `weft --help` for all commands";
    wants_json(argc, argv) ? print_failure(text) : static_cast<void>(std::cerr << "weft: " << text << '\n');
    return kUsageError;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0 && wants_json(argc, argv)) {
      print_failure(error.what());
      return kUsageError;
    }
    return app.exit(error) == 0 ? 0 : kUsageError;
  }
  return exit_code;
}
