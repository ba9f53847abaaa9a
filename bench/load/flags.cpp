// SPDX-License-Identifier: Apache-2.0
#include "load/flags.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <map>
#include <string>

#include "load/cpu.hpp"
#include "load/seconds.hpp"

namespace weft::load {
namespace {

void add_mode(CLI::App& command, LoopMode& mode) {
  command
      .add_option_function<std::string>(
          "--mode",
          [&mode](const std::string& text) {
            static const std::map<std::string, LoopMode> names{
                {"busy", LoopMode::kBusy}, {"adaptive", LoopMode::kAdaptive}, {"wait", LoopMode::kWait}};
            const auto found = names.find(text);
            if (found == names.end()) {
              throw CLI::ValidationError("--mode", "\"" + text + "\" is none of busy, adaptive and wait");
            }
            mode = found->second;
          },
          "When idle: busy never sleeps, adaptive spins 50 us and then sleeps, wait sleeps (default)")
      ->type_name("busy|adaptive|wait");
}

void add_cpus(CLI::App& command, std::vector<int>& cpus) {
  command
      .add_option_function<std::string>(
          "--cpus",
          [&cpus](const std::string& text) {
            auto parsed = parse_cpu_list(text);
            if (!parsed) throw CLI::ValidationError("--cpus", std::string{parsed.status().message()});
            cpus = std::move(parsed).value();
          },
          "Pin the threads to these processors, in turn: 0 or 0,2 or 0-3")
      ->type_name("LIST");
}

void add_congestion(CLI::App& command, std::string& name) {
  command.add_option("--congestion", name, "TCP congestion control of the sockets, such as cubic")
      ->type_name("NAME");
}

}  // namespace

void add_server_flags(CLI::App& command, ServerOptions& options) {
  command
      .add_option("--listen", options.listen,
                  "tcp://HOST:PORT (port 0: any), tls://HOST:PORT, unix:///path or, of perf, ucx:// or "
                  "verbs://HOST:PORT")
      ->required()
      ->type_name("URL");
  command.add_option("--threads", options.threads, "Threads that serve connections (default 1)")
      ->check(CLI::Range(1U, 1024U).description(""))
      ->type_name("N");
  add_cpus(command, options.cpus);
  add_mode(command, options.mode);
  add_congestion(command, options.congestion);
  add_tls_server_flags(command, options.tls);
  command.add_flag("--nobatch", options.nobatch, "One write for each answer");
}

void add_client_flags(CLI::App& command, ClientOptions& options) {
  constexpr std::uint64_t kLargest = 1ULL << 30;
  const auto bytes = CLI::AsSizeValue(false);
  command.add_option("--connect", options.connect, "The server's URL, as it printed it")
      ->required()
      ->type_name("URL");
  command.add_option("--size", options.size_bytes, "Payload of a request, such as 128 or 1MiB (default 128)")
      ->transform(bytes)
      ->check(CLI::Range(std::uint64_t{0}, kLargest).description(""))
      ->type_name("BYTES");
  command
      .add_option("--reply", options.asked_answer_bytes,
                  "Payload of an answer (default: the request, echoed)")
      ->transform(bytes)
      ->check(CLI::Range(std::uint64_t{0}, kLargest).description(""))
      ->type_name("BYTES");
  command.add_option("--depth", options.depth, "Calls in flight on each connection (default 1)")
      ->check(CLI::Range(1U, 1U << 20).description(""))
      ->type_name("N");
  command.add_option("--connections", options.connections, "Connections (default 1)")
      ->check(CLI::Range(1U, 100'000U).description(""))
      ->type_name("N");
  command.add_option("--seconds", options.seconds, "How long to measure (default 2)")
      ->check(seconds_between(0.01, 86'400))
      ->type_name("SECONDS");
  command.add_option("--warmup", options.warmup_seconds, "How long to run before that (default 0.5)")
      ->check(seconds_between(0, 3'600))
      ->type_name("SECONDS");
  command
      .add_option(
          "--rate", options.rate,
          "Open loop: this many calls are due per second, however slow the answers are, and wait while "
          "--depth are in flight; latency counts from the time a call was due")
      ->check(CLI::Range(0.001, 1e9).description(""))
      ->type_name("PER_S");
  command.add_flag("--attachment", options.attachment, "Carry the payload as an attachment");
  add_mode(command, options.mode);
  add_congestion(command, options.congestion);
  add_cpus(command, options.cpus);
  add_tls_client_flags(command, options.tls);
  command.add_flag("--json", options.json, "Print one JSON object instead of a table");
}

void add_streams_flag(CLI::App& command, Streams& streams, bool all) {
  command
      .add_option_function<std::string>(
          "--streams",
          [&streams, all](const std::string& text) {
            static const std::map<std::string, Streams> names{
                {"down", Streams::kDown}, {"up", Streams::kUp}, {"pingpong", Streams::kPingPong}};
            const auto found = names.find(text);
            if (found == names.end() || (!all && found->second != Streams::kDown)) {
              throw CLI::ValidationError(
                  "--streams", "\"" + text + "\" is " + (all ? "none of down, up and pingpong" : "not down"));
            }
            streams = found->second;
          },
          all ? "In place of calls, items of --size bytes in --depth streams: down, the server sends them\n"
                "without end; up, the client does; pingpong, each is sent back before the next.\n"
                "With --attachment they are attachments of small items, for down and up"
              : "In place of calls, messages of --size bytes that the server sends without end")
      ->excludes("--reply")
      ->excludes("--rate")
      ->type_name(all ? "down|up|pingpong" : "down");
  if (!all) command.get_option("--streams")->excludes("--attachment");
}

void add_ucx_flags(CLI::App& command, UcxFlags& flags) {
  command
      .add_option("--ucx-tls", flags.transports,
                  "With UCX: only these of its transports, such as tcp or posix,sysv (default: UCX chooses)")
      ->delimiter(',')
      ->type_name("LIST");
  command
      .add_option(
          "--ucx-devices", flags.devices,
          "With UCX: only these network devices, such as mlx5_0:1 (default: UCX chooses); devices other\n"
          "than lo need --ucx-trusted-network")
      ->delimiter(',')
      ->type_name("LIST");
  command.add_flag(
      "--ucx-trusted-network", flags.trusted_network,
      "With UCX: let it use network devices beside lo; everybody who reaches them can then speak\n"
      "UCX to this process, without a hello");
  command.add_flag(
      "--ucx-error-mode-none", flags.mode_none,
      "With UCX: use its error mode none, which the other side has to use too. UCX copies from\n"
      "process to process (its transport cma) in this mode only; each connection has its own worker");
}

void add_rdma_flags(CLI::App& command, RdmaFlags& flags) {
  command
      .add_option("--rdma-device", flags.device,
                  "With RDMA: only this device, such as mlx5_0 or rxe0 (default: all of them, in turn)")
      ->type_name("NAME");
  command
      .add_option(
          "--rdma-gid-index", flags.gid_index,
          "With RDMA: use the address at this place in the port's table of GIDs, which weft info lists\n"
          "(default: the best one)")
      ->type_name("N");
  command
      .add_flag("--rdma-cm", flags.by_rdma_cm,
                "With RDMA: connect by rdma_cm, whose route chooses device and address; the other side has\n"
                "to do so too")
      ->excludes("--rdma-gid-index");
}

namespace {

void add_own_certificate(CLI::App& command, TlsFlags& flags) {
  CLI::Option* const cert =
      command
          .add_option("--cert", flags.cert,
                      "With tls://: this side's certificate, and its chain behind it, in PEM")
          ->type_name("FILE");
  CLI::Option* const key =
      command.add_option("--key", flags.key, "With tls://: the key of --cert, in PEM")->type_name("FILE");
  cert->needs(key);
  key->needs(cert);
}

}  // namespace

void add_tls_client_flags(CLI::App& command, TlsFlags& flags) {
  CLI::Option* const ca =
      command
          .add_option("--ca", flags.ca,
                      "With tls://: the CAs that the server's certificate has to be of, in PEM "
                      "(default: those of the system)")
          ->type_name("FILE");
  add_own_certificate(command, flags);
  command
      .add_flag_callback(
          "--insecure",
          [&flags] {
            flags.insecure = true;
            std::fputs(
                "WARNING: --insecure: the server's certificate is not checked. Whoever answers is believed, "
                "and "
                "can read and change everything that is sent.\n",
                stderr);
          },
          "With tls://: believe whoever answers; for trying things out only")
      ->excludes(ca);
}

void add_tls_server_flags(CLI::App& command, TlsFlags& flags) {
  add_own_certificate(command, flags);
  command
      .add_option("--ca", flags.ca,
                  "With tls://: each client has to have a certificate of these CAs, in PEM (default: none is "
                  "asked for one)")
      ->type_name("FILE");
}

void add_beside_tls_flag(CLI::App& command, TlsFlags& flags) {
  command
      .add_option("--beside-tls", flags.beside,
                  "With tls://: let these take the connection over, if the other side names them too. What\n"
                  "they carry is NOT encrypted: TLS only says who is at the other end")
      ->delimiter(',')
      ->check([](const std::string& name) {
        return name == "ucx" || name == "rdma" ? std::string{} : "\"" + name + "\" is none of ucx and rdma";
      })
      ->type_name("ucx|rdma|ucx,rdma");
}

void add_prefer_flags(CLI::App& command, UcxFlags& ucx, RdmaFlags& rdma) {
  command.add_flag("--prefer-ucx", ucx.prefer, "With tcp:// and unix://: use UCX if the server offers it");
  command.add_flag("--prefer-rdma", rdma.prefer, "With tcp:// and unix://: use RDMA if the server offers it");
}

void add_beside_flags(CLI::App& command, std::optional<BesideFlags>& beside) {
  constexpr std::uint64_t kLargest = 1ULL << 30;
  const auto given = [&beside]() -> BesideFlags& { return beside ? *beside : beside.emplace(); };
  CLI::Option* const what =
      command
          .add_option_function<std::string>(
              "--beside",
              [given](const std::string& text) {
                static const std::map<std::string, Transfers> names{{"none", Transfers::kNone},
                                                                    {"pull", Transfers::kPull},
                                                                    {"push", Transfers::kPush},
                                                                    {"items", Transfers::kItems}};
                const auto found = names.find(text);
                if (found == names.end()) {
                  throw CLI::ValidationError("--beside",
                                             "\"" + text + "\" is none of none, pull, push and items");
                }
                given().transfers = found->second;
              },
              "Say how late timers of 1 ms are on both sides, and measure the calls while large attachments\n"
              "are pulled (with answers) or pushed (with requests) again and again, or while streams of "
              "items\n"
              "come that the server sends without end")
          ->type_name("none|pull|push|items");
  command
      .add_option_function<unsigned>(
          "--transfers", [given](unsigned count) { given().in_flight = count; },
          "With --beside: as many at a time, or as many streams (default 2)")
      ->check(CLI::Range(1U, 1024U).description(""))
      ->needs(what)
      ->type_name("N");
  command
      .add_option_function<std::uint64_t>(
          "--transfer-size", [given](std::uint64_t bytes) { given().size_bytes = bytes; },
          "With --beside: bytes of each, or of each item (default 64MiB)")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(std::uint64_t{1}, kLargest).description(""))
      ->needs(what)
      ->type_name("BYTES");
  command
      .add_flag_callback(
          "--apart", [given] { given().apart = true; },
          "With --beside: on a connection of their own, of the same loop on both sides")
      ->needs(what);
}

}  // namespace weft::load
