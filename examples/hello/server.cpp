// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <weft/weft.hpp>

#include "echo.hpp"

int main(int argc, char** argv) {
  const char* url = argc > 1 ? argv[1] : "tcp://127.0.0.1:9000";
  weft::Server server{{.listen = {url}, .threads = 2}};
  server.register_handler<echo>();
  if (auto started = server.start(); !started.ok()) {
    std::fprintf(stderr, "%s\n", started.status().to_string().c_str());
    return 1;
  }
  std::printf("listening on %s\n", server.urls().front().c_str());
  std::fflush(stdout);
  server.wait();
}
