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
  CLI::Option* const connect = command.add_option(
      "--connect", options.connect,
      "Connect to the server at this tcp://, tls://, unix://, ucx:// or verbs:// URL, and show what\n"
      "carries the bytes");
  connect->type_name("URL");
  load::add_prefer_flags(command, options.ucx, options.rdma);
  for (const char* const flag : {"--prefer-ucx", "--prefer-rdma"}) command.get_option(flag)->needs(connect);
  load::add_tls_client_flags(command, options.tls);
  load::add_beside_tls_flag(command, options.tls);
  for (const char* const flag : {"--ca", "--cert", "--key", "--insecure", "--beside-tls"}) {
    command.get_option(flag)->needs(connect);
  }
  load::add_ucx_flags(command, options.ucx);
  load::add_rdma_flags(command, options.rdma);
  command.add_option("--timeout", options.seconds, "How long connecting may take (default 10)")
      ->needs(connect)
      ->check(load::seconds_between(0.01, 3'600))
      ->type_name("SECONDS");
  command.add_flag("--all", options.all,
                   "Show every setting of UCX (default: only those that differ from UCX's own)");
  command.add_flag("--json", options.json, "Print one JSON object instead of text");
}

}  // namespace

void add_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* info = app.add_subcommand(
      "info", "Show the RDMA devices and the UCX of this machine, and what carries a connection to a server");
  add_flags(*info, *options);
  info->footer(
      "Without --connect it shows what is here: whether the kernel could encrypt for tls:// URLs; RDMA\n"
      "devices, which verbs:// URLs use; UCX, a library that sends by shared memory, InfiniBand, RoCE or "
      "TCP\n"
      "and that ucx:// URLs use; and Weft's options for both. What this build or this machine has none of "
      "is\n"
      "named with the reason.\n"
      "\n"
      "A connection begins on TCP or a Unix socket. When both sides want RDMA or UCX, they set it up beside\n"
      "that, and the bytes move to it when each side has heard the other by it. --connect does just that,\n"
      "makes no call, and shows what both sides want and what carries the bytes now, or why it is not what\n"
      "was asked for.\n"
      "\n"
      "The exit code is 0; 1 when something that was asked for cannot be had, be it the server, a device or\n"
      "a transport (the output says why); 2 when the command line is wrong.\n"
      "\n"
      "Examples:\n"
      "  weft info                                          what is here, and the options\n"
      "  weft info --ucx-tls posix,tcp                      what UCX has with these transports only\n"
      "  weft info --connect ucx://127.0.0.1:9000           what UCX chooses for this server\n"
      "  weft info --connect verbs://10.0.0.7:9000          which RDMA device and address carry it\n"
      "  weft info --connect tcp://127.0.0.1:9000 --prefer-ucx\n"
      "                                                     whether this server offers UCX, and what it "
      "chooses\n"
      "  weft info --json                                   all that is here, for scripts");
  info->callback([options, &exit_code] { exit_code = tell(*options); });
}

}  // namespace weft::info
