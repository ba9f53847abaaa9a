// SPDX-License-Identifier: Apache-2.0
#include "perf/command.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "load/cpu.hpp"
#include "load/flags.hpp"
#include "load/report.hpp"
#include "load/stop_signal.hpp"
#include "load/token.hpp"
#include "perf/client.hpp"
#include "perf/server.hpp"

namespace weft::perf {
namespace {

constexpr const char* kPreferUcx = "--prefer-ucx";
constexpr const char* kPreferRdma = "--prefer-rdma";
constexpr const char* kRegister = "--register";
constexpr const char* kBesideTls = "--beside-tls";

int fail(const Status& status) {
  std::fprintf(stderr, "weft perf: %s\n", status.to_string().c_str());
  return 1;
}

int serve(const load::ServerOptions& options) {
  load::raise_file_limit();
  load::StopSignal stop;
  auto server = start_server(options);
  if (!server.ok()) return fail(server.status());
  std::printf("listening on %s\n", (*server)->urls().front().c_str());
  std::fflush(stdout);
  stop.blocking_wait();
  (*server)->stop(std::chrono::seconds{1});
  (*server)->wait();
  return 0;
}

int measure(const load::ClientOptions& options) {
  load::raise_file_limit();
  auto report = blocking_measure(options);
  if (!report.ok()) {
    const int code = fail(report.status());
    std::fputs(load::token_hint(report.status(), options.token), stderr);
    return code;
  }
  load::print_report(*report, options);
  return 0;
}

struct FlagOfScheme {
  const char* flag;
  const char* scheme;
  /// Lets, for a client, other URLs have what the flag is about; null: nothing does.
  const char* prefer;
  /// Lets tls:// have it, as a value of --beside-tls; null: nothing does.
  const char* beside = nullptr;
};
constexpr FlagOfScheme kFlagsOfSchemes[] = {
    {"--ucx-tls", "ucx://", kPreferUcx, "ucx"},
    {"--ucx-devices", "ucx://", kPreferUcx, "ucx"},
    {"--ucx-trusted-network", "ucx://", kPreferUcx, "ucx"},
    {"--ucx-error-mode-none", "ucx://", kPreferUcx, "ucx"},
    {"--rdma-device", "verbs://", kPreferRdma, "rdma"},
    {"--rdma-gid-index", "verbs://", kPreferRdma, "rdma"},
    {"--rdma-cm", "verbs://", kPreferRdma, "rdma"},
    {kRegister, "verbs://", kPreferRdma, "rdma"},
    {"--ca", "tls://", nullptr},
    {"--cert", "tls://", nullptr},
    {"--key", "tls://", nullptr},
    {"--insecure", "tls://", nullptr},
    {kBesideTls, "tls://", nullptr},
};

bool given(const CLI::App& command, const char* flag) {
  return command.get_option_no_throw(flag) != nullptr && command.count(flag) != 0;
}

bool lets_beside_tls(const CLI::App& command, const char* carrier) {
  if (!given(command, kBesideTls)) return false;
  const auto carriers = command.get_option(kBesideTls)->as<std::vector<std::string>>();
  return std::find(carriers.begin(), carriers.end(), carrier) != carriers.end();
}

/// Says which flag would let `url` have what a flag of another scheme is about; empty: none would.
std::string or_with(const CLI::App& command, const FlagOfScheme& flag, const std::string& url) {
  if (flag.beside != nullptr && url.starts_with("tls://"))
    return std::string{", or with "} + kBesideTls + " " + flag.beside;
  const bool is_client = flag.prefer != nullptr && command.get_option_no_throw(flag.prefer) != nullptr;
  return is_client ? std::string{", or with "} + flag.prefer : std::string{};
}

/// Refuses flags that would say nothing.
void check_flags(const CLI::App& command, const std::string& url) {
  const bool has_scheme = url.find("://") != std::string::npos;  // without one it is of tcp
  const bool is_stream = !has_scheme || url.starts_with("tcp://") || url.starts_with("unix://");
  for (const char* const flag : {kPreferUcx, kPreferRdma}) {
    if (!given(command, flag) || is_stream) continue;
    throw CLI::ValidationError(flag, "is about tcp:// and unix:// URLs only, and \"" + url + "\" is none");
  }
  const bool is_tls = url.starts_with("tls://");
  for (const FlagOfScheme& known : kFlagsOfSchemes) {
    const auto& [flag, scheme, prefer, beside] = known;
    if (!given(command, flag) || url.starts_with(scheme)) continue;
    if (beside != nullptr && is_tls && lets_beside_tls(command, beside)) continue;
    if (prefer != nullptr && given(command, prefer)) continue;
    throw CLI::ValidationError(flag, std::string{"is about "} + scheme + " URLs only" +
                                         or_with(command, known, url) + ", and \"" + url + "\" is none");
  }
}

void add_register_flag(CLI::App& command, load::RdmaFlags& flags) {
  command.add_flag(
      kRegister, flags.register_memory,
      "With verbs://: attachments are sent from registered memory, and land in it; on both sides,\n"
      "so that none is copied");
}

}  // namespace

void add_commands(CLI::App& app, int& exit_code) {
  CLI::App* perf =
      app.add_subcommand("perf", "Weft itself under load; hold it against `weft raw`, the limit");
  perf->require_subcommand(1);

  auto server_options = std::make_shared<load::ServerOptions>();
  CLI::App* server = perf->add_subcommand("server", "Serve the measured functions until SIGINT or SIGTERM");
  load::add_server_flags(*server, *server_options);
  load::add_ucx_flags(*server, server_options->ucx);
  load::add_rdma_flags(*server, server_options->rdma);
  load::add_beside_tls_flag(*server, server_options->tls);
  add_register_flag(*server, server_options->rdma);
  // Only the limit can be asked to be slow.
  server->remove_option(server->get_option("--nobatch"));
  server->footer(
      "Examples:\n"
      "  weft perf server --listen tcp://127.0.0.1:9000 --cpus 0\n"
      "  weft perf server --listen unix:///tmp/perf.sock --mode busy --threads 2\n"
      "  weft perf server --listen ucx://127.0.0.1:9000 --ucx-tls posix,cma --ucx-error-mode-none --mode "
      "busy\n"
      "  weft perf server --listen verbs://10.0.0.7:9000 --rdma-device mlx5_0 --mode busy\n"
      "  weft perf server --listen tls://127.0.0.1:9000 --cert demo/server.pem --key demo/server.key "
      "--beside-tls ucx");
  server->callback([server, server_options, &exit_code] {
    check_flags(*server, server_options->listen);
    exit_code = serve(*server_options);
  });

  auto client_options = std::make_shared<load::ClientOptions>();
  CLI::App* client = perf->add_subcommand("client", "Measure a `weft perf` server");
  load::add_client_flags(*client, *client_options);
  load::add_streams_flag(*client, client_options->streams, true);
  load::add_prefer_flags(*client, client_options->ucx, client_options->rdma);
  load::add_ucx_flags(*client, client_options->ucx);
  load::add_rdma_flags(*client, client_options->rdma);
  load::add_beside_tls_flag(*client, client_options->tls);
  add_register_flag(*client, client_options->rdma);
  load::add_beside_flags(*client, client_options->beside);
  load::add_token_flags(*client, client_options->token);
  client->get_option(kRegister)->needs(client->get_option("--attachment"));
  client->footer(
      "Each of the calls in flight is a coroutine that calls, checks the answer and calls again, all on one\n"
      "thread. Latency is measured by the clock at --depth 1 and over ucx:// and verbs://, else by the\n"
      "time of the loop's turn, which all answers of a batch share.\n"
      "\n"
      "Examples:\n"
      "  weft perf client --connect tcp://127.0.0.1:9000 --size 128 --depth 256 --cpus 1\n"
      "  weft perf client --connect tcp://127.0.0.1:9000 --size 1MiB --attachment --depth 4\n"
      "  weft perf client --connect tcp://127.0.0.1:9000 --beside pull --apart\n"
      "  weft perf client --connect tcp://127.0.0.1:9000 --streams down --size 4096 --depth 100\n"
      "  weft perf client --connect tcp://127.0.0.1:9000 --streams up --size 1MiB --attachment\n"
      "  weft perf client --connect tcp://127.0.0.1:9000 --beside items --transfers 100 --transfer-size "
      "4096\n"
      "  weft perf client --connect ucx://127.0.0.1:9000 --ucx-tls posix,cma --ucx-error-mode-none --mode "
      "busy\n"
      "  weft perf client --connect tcp://127.0.0.1:9000 --prefer-ucx\n"
      "  weft perf client --connect tls://127.0.0.1:9000 --ca demo/ca.pem --beside-tls ucx\n"
      "  weft perf client --connect verbs://10.0.0.7:9000 --mode busy\n"
      "  weft perf client --connect verbs://10.0.0.7:9000 --attachment --register --reply 1MiB --depth 4\n"
      "  weft perf client --connect tcp://127.0.0.1:9000 --rate 20000 --connections 16 --depth 8 --json");
  client->callback([client, client_options, &exit_code] {
    check_flags(*client, client_options->connect);
    if (client_options->streams == load::Streams::kPingPong && client_options->attachment) {
      throw CLI::ValidationError("--streams", "\"pingpong\" has no attachments: leave out --attachment");
    }
    exit_code = measure(*client_options);
  });
}

}  // namespace weft::perf
