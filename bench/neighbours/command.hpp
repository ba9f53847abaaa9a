// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>
#include <type_traits>

#include "load/cpu.hpp"
#include "load/flags.hpp"
#include "load/report.hpp"

/// The command line of a program that measures another library with the flags, the payloads and the output of
/// `weft raw`, so that bench/compare can hold them all against each other.
namespace weft::neighbours {

/// HOST:PORT of a URL such as tcp://HOST:PORT.
inline std::string host_and_port(std::string_view url) {
  constexpr std::string_view kScheme = "tcp://";
  return std::string{url.starts_with(kScheme) ? url.substr(kScheme.size()) : url};
}

/// Says where a server listens that was asked to do so at `url` and got `port`.
inline void say_listening(std::string_view url, unsigned port) {
  const std::string address = host_and_port(url);
  std::printf("listening on tcp://%s:%u\n", address.substr(0, address.rfind(':')).c_str(), port);
  std::fflush(stdout);
}

/// Takes away what other libraries leave to their own options; pin with taskset.
inline void keep_to_payloads(CLI::App& command, std::initializer_list<const char*> flags) {
  for (const char* const flag : flags) command.remove_option(command.get_option(flag));
}

/// Runs `serve(ServerOptions)` or `measure(ClientOptions)`, whichever the words ask for, and returns its
/// code. `add_streams(CLI::App&, ClientOptions&)` adds the flags of streams to the client; a library that has
/// it can choose the congestion control of its sockets, too.
template <typename Serve, typename Measure, typename AddStreams = std::nullptr_t>
int run(int argc, char** argv, const char* about, Serve serve, Measure measure, AddStreams add_streams = {}) {
  CLI::App app{about};
  app.require_subcommand(1);
  app.footer(
      "Examples:\n"
      "  taskset -c 0 PROGRAM server --listen tcp://127.0.0.1:9000 &\n"
      "  taskset -c 1 PROGRAM client --connect tcp://127.0.0.1:9000 --size 4096 --depth 64 --json\n"
      "bench/compare grid --neighbours holds it against the limit and against Weft.");
  load::ServerOptions server_options;
  CLI::App* const server = app.add_subcommand("server", "Echo payloads until SIGINT or SIGTERM");
  load::add_server_flags(*server, server_options);
  keep_to_payloads(*server, {"--nobatch", "--mode", "--cpus", "--threads"});
  load::ClientOptions client_options;
  CLI::App* const client = app.add_subcommand("client", "Measure such a server");
  load::add_client_flags(*client, client_options);
  if constexpr (std::is_null_pointer_v<AddStreams>) {
    for (CLI::App* const command : {server, client}) keep_to_payloads(*command, {"--congestion"});
  } else {
    add_streams(*client, client_options);
  }
  keep_to_payloads(*client, {"--reply", "--rate", "--attachment", "--mode", "--cpus"});
  CLI11_PARSE(app, argc, argv);
  load::raise_file_limit();
  return server->parsed() ? serve(server_options) : measure(client_options);
}

}  // namespace weft::neighbours
