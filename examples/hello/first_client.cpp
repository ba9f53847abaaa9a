// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <weft/weft.hpp>

#include "echo.hpp"

int main(int argc, char** argv) {
  weft::BlockingClient client{{.connect = argc > 1 ? argv[1] : "tcp://127.0.0.1:9000"}};
  auto answer = client.call<echo>("hello");  // weft::Result<std::string>
  if (!answer.ok()) {
    std::fprintf(stderr, "%s\n", answer.status().to_string().c_str());
    return 1;
  }
  std::printf("%s\n", answer->c_str());
}
