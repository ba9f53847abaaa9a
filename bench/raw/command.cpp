// SPDX-License-Identifier: Apache-2.0
#include "raw/command.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>

#include "load/cpu.hpp"
#include "load/flags.hpp"
#include "load/report.hpp"
#include "load/stop_signal.hpp"
#include "raw/client.hpp"
#include "raw/http_server.hpp"
#include "raw/server.hpp"

namespace weft::raw {
namespace {

int fail(const Status& status) {
  std::fprintf(stderr, "weft raw: %s\n", std::string{status.message()}.c_str());
  return 1;
}

template <typename Kind>
int serve(const load::ServerOptions& options) {
  load::raise_file_limit();
  load::StopSignal stop;
  auto server = Kind::start(options);
  if (!server) return fail(server.status());
  std::printf("listening on %s\n", (*server)->url().c_str());
  std::fflush(stdout);
  stop.blocking_wait();
  return 0;
}

int measure(const load::ClientOptions& options) {
  load::raise_file_limit();
  auto report = blocking_measure(options);
  if (!report) return fail(report.status());
  load::print_report(*report, options);
  return 0;
}

}  // namespace

void add_commands(CLI::App& app, int& exit_code) {
  CLI::App* raw = app.add_subcommand(
      "raw", "The limit: a bare epoll echo, against which `weft perf` is held; none of Weft's layers");
  raw->require_subcommand(1);

  auto server_options = std::make_shared<load::ServerOptions>();
  CLI::App* server = raw->add_subcommand("server", "Echo frames until SIGINT or SIGTERM");
  load::add_server_flags(*server, *server_options);
  auto http = std::make_shared<bool>(false);
  server->add_flag("--http", *http,
                   "Answer HTTP/1.1 requests with their body instead of frames: the limit of weft::http()");
  server->footer(
      "Examples:\n"
      "  weft raw server --listen tcp://127.0.0.1:9000 --cpus 0\n"
      "  weft raw server --listen unix:///tmp/limit.sock --mode busy --nobatch\n"
      "  weft raw server --listen tcp://127.0.0.1:9000 --http");
  server->callback([server_options, http, &exit_code] {
    exit_code = *http ? serve<HttpServer>(*server_options) : serve<Server>(*server_options);
  });

  auto client_options = std::make_shared<load::ClientOptions>();
  CLI::App* client = raw->add_subcommand("client", "Measure a raw server");
  load::add_client_flags(*client, *client_options);
  load::add_streams_flag(*client, client_options->streams, false);
  client->add_flag(
      "--own-buffers", client_options->own_buffers,
      "Give each of the calls in flight a buffer of its own for its answer, as the callers of an RPC\n"
      "have, from 64 KiB on (default: one buffer for all of a connection)");
  client->footer(
      "Examples:\n"
      "  weft raw client --connect tcp://127.0.0.1:9000 --size 128 --depth 256 --cpus 1\n"
      "  weft raw client --connect tcp://127.0.0.1:9000 --rate 20000 --connections 16 --json");
  client->callback([client_options, &exit_code] { exit_code = measure(*client_options); });
}

}  // namespace weft::raw
