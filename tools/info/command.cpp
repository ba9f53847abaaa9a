// SPDX-License-Identifier: Apache-2.0
#include "info/command.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>

#include "info/report.hpp"
#include "load/flags.hpp"
#include "load/seconds.hpp"

namespace weft::info {
namespace {

int tell(const Options& options) {
  Report report{all_carriers(), Probe{}};
  for (const auto& carrier : report.carriers) carrier->look(options);
  if (!options.connect.empty()) report.probe = blocking_probe(options);
  const std::string text = options.json ? to_json(report, options) : to_text(report, options);
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
  return exit_code_of(report, options);
}

void add_flags(CLI::App& command, Options& options) {
  CLI::Option* const connect =
      command.add_option("--connect", options.connect, "Connect to this server, and say by which way");
  connect->type_name("URL");
  load::add_prefer_flags(command, options.ucx, options.rdma);
  for (const char* const flag : {"--prefer-ucx", "--prefer-rdma"}) command.get_option(flag)->needs(connect);
  load::add_ucx_flags(command, options.ucx);
  load::add_rdma_flags(command, options.rdma);
  command.add_option("--timeout", options.seconds, "How long connecting may take (default 10)")
      ->needs(connect)
      ->check(load::seconds_between(0.01, 3'600))
      ->type_name("SECONDS");
  command.add_flag("--all", options.all, "Every setting of UCX, not only those that differ from its own");
  command.add_flag("--json", options.json, "Print one JSON object");
}

}  // namespace

void add_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* info = app.add_subcommand(
      "info", "What RDMA devices and UCX are on this machine, and which way a connection to a server takes");
  add_flags(*info, *options);
  info->footer(
      "A connection begins on TCP. When both sides want UCX or RDMA, each tells the other how it is reached\n"
      "there, and only when each has heard the other there do the bytes move to it. --connect does just\n"
      "that, makes no call, and prints what both sides wanted, what carries the bytes now, or why that\n"
      "could not be.\n"
      "\n"
      "Examples:\n"
      "  weft info                                          devices, transports, options\n"
      "  weft info --ucx-tls posix,tcp                      what is left with these transports only\n"
      "  weft info --connect ucx://127.0.0.1:9000           what UCX chooses for this server\n"
      "  weft info --connect tcp://127.0.0.1:9000 --prefer-ucx --json\n"
      "  weft info --connect verbs://10.0.0.7:9000          which device and address carry it");
  info->callback([options, &exit_code] { exit_code = tell(*options); });
}

}  // namespace weft::info
