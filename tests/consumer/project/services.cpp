// SPDX-License-Identifier: Apache-2.0
// A stranger's first service of protobuf.
#include <cstdio>

#include "greet.weft.hpp"
#include "weft/weft.hpp"

class Greeter : public consumer::GreeterServer {
  weft::Task<weft::Result<void>> Greet(weft::CallContext&, const consumer::Person& person,
                                       consumer::Greeting& greeting) override {
    greeting.set_text("hello, " + person.name());
    co_return weft::Result<void>{};
  }
};

weft::Task<int> ask(weft::Client& client) {
  consumer::GreeterStub stub{client};
  consumer::Person person;
  person.set_name("outside");
  const auto greeting = co_await stub.Greet(person);
  std::printf("services: %s\n",
              greeting.ok() ? greeting->text().c_str() : greeting.status().to_string().c_str());
  co_return greeting.ok() && greeting->text() == "hello, outside" ? 0 : 1;
}

int main() {
  Greeter greeter;
  weft::Server server{{.listen = {"tcp://127.0.0.1:0"}}};
  weft::protobuf::Services{server}.add(greeter);
  if (const auto started = server.start(); !started.ok()) {
    std::fprintf(stderr, "%s\n", started.status().to_string().c_str());
    return 1;
  }
  const auto loop = weft::Loop::create().value();
  weft::Client client{*loop, {.connect = server.urls().front()}};
  return loop->block_on(ask(client));
}
