// SPDX-License-Identifier: Apache-2.0
// One port serves clients over RDMA and clients over TCP; only URLs tell them apart.
#include <cstdio>
#include <string>
#include <weft/weft.hpp>

std::string greet(std::string_view name) {
  return "hello, " + std::string{name};
}

weft::Task<int> ask_both(weft::Client& by_rdma, weft::Client& by_tcp) {
  auto [fast, plain] = co_await weft::when_all(by_rdma.call<greet>("RDMA"), by_tcp.call<greet>("TCP"));
  for (const auto& answer : {fast, plain}) {
    std::printf("%s\n", answer.ok() ? answer->c_str() : answer.status().to_string().c_str());
  }
  co_return fast.ok() && plain.ok() ? 0 : 1;
}

int main() {
  // begin: compose
  weft::Server server{{.listen = {"verbs://127.0.0.1:0"}}};
  server.register_handler<greet>();
  if (auto started = server.start(); !started.ok()) {
    std::printf("%s\n", started.status().to_string().c_str());  // this machine has no RDMA device
    return 1;
  }

  const std::string rdma_url = server.urls().front();      // verbs://127.0.0.1:4242
  const std::string tcp_url = "tcp" + rdma_url.substr(5);  // the same port
  auto loop = weft::Loop::create().value();
  weft::Client by_rdma{*loop, {.connect = rdma_url}};
  weft::Client by_tcp{*loop, {.connect = tcp_url}};
  // end: compose
  return loop->block_on(ask_both(by_rdma, by_tcp));
}
