// SPDX-License-Identifier: Apache-2.0
// One port serves clients over UCX and clients over TCP; only URLs tell them apart.
#include <cstdio>
#include <string>
#include <weft/weft.hpp>

std::string greet(std::string_view name) {
  return "hello, " + std::string{name};
}

weft::Task<int> ask_both(weft::Client& by_ucx, weft::Client& by_tcp) {
  auto [fast, plain] =
      co_await weft::when_all(by_ucx.call<greet>("shared memory"), by_tcp.call<greet>("TCP"));
  for (const auto& answer : {fast, plain}) {
    std::printf("%s\n", answer.ok() ? answer->c_str() : answer.status().to_string().c_str());
  }
  co_return fast.ok() && plain.ok() ? 0 : 1;
}

int main() {
  // begin: compose
  weft::Server server{{.listen = {"ucx://127.0.0.1:0"}}};
  server.register_handler<greet>();
  server.start().value();

  const std::string ucx_url = server.urls().front();      // ucx://127.0.0.1:4242
  const std::string tcp_url = "tcp" + ucx_url.substr(3);  // the same port
  auto loop = weft::Loop::create().value();
  weft::Client by_ucx{*loop, {.connect = ucx_url}};
  weft::Client by_tcp{*loop, {.connect = tcp_url}};
  // end: compose
  return loop->block_on(ask_both(by_ucx, by_tcp));
}
