// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <memory>
#include <string>
#include <vector>
#include <weft/protobuf.hpp>
#include <weft/protobuf_fleet.hpp>
#include <weft/weft.hpp>

#include "echo.weft.hpp"

class Echo : public demo::EchoServer {
  weft::Task<weft::Result<void>> Say(weft::CallContext&, const demo::EchoRequest& request,
                                     demo::EchoResponse& response) override {
    response.set_message(request.message());
    co_return weft::Result<void>{};
  }
  weft::Task<weft::Result<void>> SendBack(weft::CallContext& context, const demo::EchoRequest&,
                                          demo::EchoResponse&) override {
    context.set_attachment(context.take_attachment());
    co_return weft::Result<void>{};
  }
};

// begin: call
weft::Task<bool> say(demo::EchoFleetStub stub) {
  demo::EchoRequest request;
  request.set_message("to any server");
  weft::Result<demo::EchoResponse> answer = co_await stub.Say(request);
  co_return answer.ok() && answer->message() == request.message();
}
// end: call

// begin: options
weft::Task<bool> say_soon(demo::EchoFleetStub stub) {
  weft::FleetCallOptions options;
  options.call.timeout = std::chrono::seconds{10};        // of all attempts together
  options.call.idempotent = true;                         // or idempotency_level in the .proto
  options.backup_after = std::chrono::milliseconds{200};  // a second server is asked then
  options.key_hash = weft::key_hash("to whom");           // for weft::ConsistentHash
  demo::EchoRequest request;
  request.set_message("soon");
  demo::EchoResponse response;
  const weft::Result<void> outcome = co_await stub.Say(options, request).into(response);
  co_return outcome.ok() && response.message() == "soon";
}
// end: options

weft::Task<int> failures_of(int calls, demo::EchoFleetStub stub) {
  int failures = 0;
  for (int i = 0; i < calls; ++i) {
    const bool said = co_await say(stub);
    const bool said_soon = co_await say_soon(stub);
    if (!said || !said_soon) ++failures;
  }
  co_return failures;
}

int main() {
  Echo echo;
  std::vector<std::unique_ptr<weft::Server>> servers;
  std::string name = "static:";
  for (int i = 0; i < 3; ++i) {
    servers.push_back(
        std::make_unique<weft::Server>(weft::ServerOptions{.listen = {"tcp://127.0.0.1:0"}, .threads = 1}));
    weft::protobuf::Services{*servers.back()}.add(echo);
    servers.back()->start().value();
    if (i > 0) name += ",";
    name += servers.back()->urls().front();
  }

  // begin: stub
  auto loop = weft::Loop::create().value();
  weft::FleetOptions options;
  options.name = name;
  weft::FleetClient fleet{*loop, std::move(options)};
  demo::EchoFleetStub stub{fleet};
  // end: stub

  std::printf("%d of 100 calls failed\n", loop->block_on(failures_of(100, stub)));
  servers.pop_back();
  std::printf("%d of 100 calls failed with a server gone\n", loop->block_on(failures_of(100, stub)));
}
