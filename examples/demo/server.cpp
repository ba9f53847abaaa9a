// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "functions.hpp"

int main(int argc, char** argv) {
  weft::Server server{{.listen = {argc > 1 ? argv[1] : "tcp://127.0.0.1:0"}}};
  server.register_handler<greet>();
  server.register_handler<centre>();
  server.register_handler<count_words>();
  server.register_handler<answer_after>();
  server.register_handler<divide>();
  if (auto started = server.start(); !started.ok()) {
    std::fprintf(stderr, "%s\n", started.status().to_string().c_str());
    return 1;
  }
  std::printf("listening on %s\n", server.urls().front().c_str());
  std::fflush(stdout);
  server.wait();
}
