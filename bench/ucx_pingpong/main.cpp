// SPDX-License-Identifier: Apache-2.0
// The UCX binding under the tests of ucx_perftest; bench/compare ucx holds the two against each other.
#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "fail.hpp"
#include "side_channel.hpp"
#include "station.hpp"

namespace weft::bench {
namespace {

constexpr const char* kAbout =
    "Measures the UCX binding with the tests of ucx_perftest, between two processes of this machine.\n"
    "UCX's own variables choose the transport, the same for both: UCX_TLS=posix,cma or UCX_TLS=tcp.";
constexpr const char* kExamples =
    "examples:\n"
    "  ucx_pingpong server                              # prints where it listens; serves one client\n"
    "  ucx_pingpong client --connect 127.0.0.1:PORT --test tag_lat\n"
    "  ucx_pingpong client --connect 127.0.0.1:PORT --test tag_bw --size 64KiB --window 32 --json\n"
    "  ucx_pingpong client --connect 127.0.0.1:PORT --test idle   # what two sleeping sides cost";

const std::map<std::string, Test> kTests{{"tag_bw", Test::kTagBw}, {"tag_lat", Test::kTagLat},
                                         {"am_lat", Test::kAmLat}, {"put_lat", Test::kPutLat},
                                         {"put_bw", Test::kPutBw}, {"get_bw", Test::kGetBw},
                                         {"idle", Test::kIdle}};
const std::map<std::string, Style> kStyles{{"weft", Style::kWeft}, {"c", Style::kC}};

struct Flags {
  std::uint16_t listen_port = 0;
  std::string connect;
  Plan plan;
  bool json = false;
};

void add_server(CLI::App& app, Flags& flags) {
  auto& server = *app.add_subcommand("server", "Waits for one client, and does what it asks for");
  server.add_option("--port", flags.listen_port, "The port for agreeing on addresses (default: a free one)")
      ->type_name("PORT");
}

void add_client(CLI::App& app, Flags& flags) {
  Plan& plan = flags.plan;
  const auto size = CLI::AsSizeValue(false);
  auto& client = *app.add_subcommand("client", "Runs one test with a server, and prints what came of it");
  client.add_option("--connect", flags.connect, "What the server printed")
      ->required()
      ->type_name("HOST:PORT");
  client
      .add_option(
          "--test", plan.test,
          "tag_lat (default), am_lat, put_lat: half of a round trip; tag_bw, put_bw, get_bw: many one "
          "way; idle: the processor time of two sides that sleep")
      ->transform(CLI::CheckedTransformer(kTests).description(""))
      ->type_name("TEST");
  client.add_option("--style", plan.style, "weft: coroutines in a busy loop (default); c: UCX's calls alone")
      ->transform(CLI::CheckedTransformer(kStyles).description(""))
      ->type_name("weft|c");
  client.add_option("--size", plan.size, "Bytes of a message, such as 8 (default) or 64KiB")
      ->transform(size)
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 30).description(""))
      ->type_name("BYTES");
  client.add_option("--window", plan.window, "Operations in flight in a bw test (default 1)")
      ->check(CLI::Range(1U, 1024U).description(""))
      ->type_name("N");
  client
      .add_option("--iterations", plan.iterations,
                  "Operations, or round trips, to measure (default 1,000,000)")
      ->check(CLI::PositiveNumber.description(""))
      ->type_name("N");
  client.add_option("--warmup", plan.warmup, "The same before that, not measured (default 10,000)")
      ->check(CLI::PositiveNumber.description(""))
      ->type_name("N");
  client.add_option("--seconds", plan.idle_seconds, "How long the test idle sleeps (default 3)")
      ->check(CLI::Range(0.1, 3600.0).description(""))
      ->type_name("S");
  client.add_flag("--json", flags.json, "Print one JSON object");
}

std::uint16_t port_of(const std::string& address) {
  constexpr std::string_view kHost = "127.0.0.1:";
  std::uint16_t port = 0;
  const char* end = address.data() + address.size();
  if (!address.starts_with(kHost)) fail("--connect wants 127.0.0.1:PORT, as the server printed it");
  const auto [at, error] = std::from_chars(address.data() + kHost.size(), end, port);
  if (error != std::errc{} || at != end) fail("--connect wants 127.0.0.1:PORT, as the server printed it");
  return port;
}

void run(Station& station, std::uint64_t iterations, Stopwatch& watch) {
  if (station.plan.style == Style::kC) return run_plain_calls(station, iterations, watch);
  run_coroutines(station, iterations, watch);
}

void print_idle(bool json, double ours, double servers) {
  std::printf(json ? "{\"client_cpu\": %.5f, \"server_cpu\": %.5f}\n"
                   : "idle: client %.2g, server %.2g of a processor\n",
              ours, servers);
}

void print_report(const Flags& flags, Stopwatch& watch) {
  // A round trip is two messages.
  const double ways = flags.plan.latency() ? 2 : 1;
  const double operations = static_cast<double>(watch.operations());
  const double median = watch.median_us() / ways;
  const double average = watch.seconds() * 1e6 / operations / ways;
  const double rate = operations / watch.seconds();
  std::printf(flags.json
                  ? "{\"operations\": %.0f, \"seconds\": %.6f, \"p50_us\": %.4f, \"average_us\": %.4f, "
                    "\"per_second\": %.0f}\n"
                  : "%.0f operations in %.3f s; one way p50 %.3f us, average %.3f us; %.0f/s\n",
              operations, watch.seconds(), median, average, rate);
}

double idle_of(Station& station) {
  Stopwatch watch;
  run(station, station.plan.warmup, watch);
  return measure_idle(station);
}

void serve(const Flags& flags) {
  SideChannel channel = SideChannel::accept_one(flags.listen_port);
  const Plan plan = channel.receive_value<Plan>();
  Station station{plan, true, std::move(channel)};
  if (plan.test == Test::kIdle) return station.channel.send_value(idle_of(station));
  Stopwatch watch;
  run(station, plan.warmup, watch);
  run(station, plan.iterations, watch);
}

void ask(const Flags& flags) {
  SideChannel channel = SideChannel::connect(port_of(flags.connect));
  channel.send_value(flags.plan);
  Station station{flags.plan, false, std::move(channel)};
  if (flags.plan.test == Test::kIdle) {
    const double ours = idle_of(station);
    return print_idle(flags.json, ours, station.channel.receive_value<double>());
  }
  Stopwatch watch;
  run(station, flags.plan.warmup, watch);
  run(station, flags.plan.iterations, watch);
  print_report(flags, watch);
}

int main(int argc, char** argv) {
  Flags flags;
  CLI::App app{kAbout, "ucx_pingpong"};
  app.footer(kExamples);
  app.require_subcommand(1);
  add_server(app, flags);
  add_client(app, flags);
  CLI11_PARSE(app, argc, argv);
  if (app.got_subcommand("server")) {
    serve(flags);
  } else {
    ask(flags);
  }
  return 0;
}

}  // namespace
}  // namespace weft::bench

int main(int argc, char** argv) {
  return weft::bench::main(argc, argv);
}
