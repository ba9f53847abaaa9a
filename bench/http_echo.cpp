// SPDX-License-Identifier: Apache-2.0
// A server that answers HTTP with an ordinary function, for `bench/compare http`: "http_echo URL".
#include <cstdio>
#include <string>
#include <weft/http.hpp>
#include <weft/weft.hpp>

#include "load/cpu.hpp"
#include "load/stop_signal.hpp"

namespace http_bench {

std::string echo(std::string text) {
  return text;
}

}  // namespace http_bench

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "http_echo URL, such as tcp://127.0.0.1:0\n");
    return 2;
  }
  weft::load::raise_file_limit();
  weft::load::StopSignal stop;
  weft::Server server{{.listen = {argv[1]}, .protocols = {weft::http()}}};
  server.register_handler<http_bench::echo>();
  if (const weft::Result<void> started = server.start(); !started.ok()) {
    std::fprintf(stderr, "http_echo: %s\n", started.status().to_string().c_str());
    return 1;
  }
  std::printf("listening on %s\n", server.urls().front().c_str());
  std::fflush(stdout);
  stop.blocking_wait();
}
