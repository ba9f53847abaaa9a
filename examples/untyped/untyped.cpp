// SPDX-License-Identifier: Apache-2.0
// A proxy without declarations: it asks a server for its functions, serves them, and hands the messages on.
#include <cstdio>
#include <string>
#include <vector>
#include <weft/untyped.hpp>
#include <weft/weft.hpp>

int add(int a, int b) {
  return a + b;
}

std::string greet(const std::string& name) {
  return "hello " + name;
}

// begin: forward
struct Forward {
  weft::Client* back;
  weft::UntypedMethod method;

  weft::Task<weft::Result<weft::Buffer>> operator()(weft::CallContext&, weft::Bytes request) const {
    auto answer = co_await weft::untyped_call(*back, method, request);
    co_return answer;
  }
};
// end: forward

// begin: serve
weft::Task<weft::Result<void>> serve_all(weft::Client* back, weft::Server* proxy) {
  auto methods = co_await weft::describe_methods(*back);
  if (!methods.ok()) co_return methods.status();
  for (const weft::UntypedMethod& method : *methods) {
    auto added = weft::register_untyped(*proxy, method, Forward{back, method});
    if (!added.ok()) std::printf("left out: %s\n", method.name().c_str());
  }
  co_return proxy->start();
}
// end: serve

weft::Task<int> ask(weft::Client* client) {
  auto sum = co_await client->call<add>(1, 2);
  auto greeting = co_await client->call<greet>("proxy");
  if (!sum.ok() || !greeting.ok()) co_return 1;
  std::printf("%d, %s\n", *sum, greeting->c_str());
  // begin: call
  auto method = weft::UntypedMethod::function("add", "(i32, i32) -> (i32)");
  if (!method.ok()) co_return 1;
  const std::byte request[8] = {std::byte{20}, {}, {}, {}, std::byte{22}};  // two numbers, four bytes each
  auto answer = co_await weft::untyped_call(*client, *method, request);
  if (!answer.ok()) co_return 1;
  std::printf("%d, in %zu bytes\n", std::to_integer<int>(answer->bytes()[0]), answer->size());
  // end: call
  co_return 0;
}

int main() {
  auto loop = weft::Loop::create().value();
  weft::Server server{{.listen = {"tcp://127.0.0.1:0"}, .threads = 0, .loop = loop.get()}};
  server.register_handler<add, greet>();
  server.start().value();

  weft::Client back{*loop, {.connect = server.urls().front()}};
  weft::Server proxy{{.listen = {"tcp://127.0.0.1:0"}, .threads = 0, .loop = loop.get()}};
  loop->block_on(serve_all(&back, &proxy)).value();
  weft::Client client{*loop, {.connect = proxy.urls().front()}};
  return loop->block_on(ask(&client));
}
