// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <memory>
#include <string>
#include <vector>
#include <weft/protobuf.hpp>
#include <weft/protobuf_fleet.hpp>
#include <weft/weft.hpp>

#include "relay.pb.h"

using demo::relay::EchoRequest;
using demo::relay::EchoResponse;
using google::protobuf::Closure;
using google::protobuf::RpcController;

class EchoImpl : public demo::relay::EchoService {
  void Echo(RpcController*, const EchoRequest* request, EchoResponse* response, Closure* done) override {
    response->set_message("echo: " + request->message());
    done->Run();
  }
};

// begin: call
weft::Task<bool> ask(google::protobuf::RpcChannel* channel) {
  demo::relay::EchoService_Stub stub{channel};
  EchoRequest request;
  request.set_message("of any server");
  EchoResponse response;
  weft::protobuf::Controller controller;
  controller.options().timeout = std::chrono::seconds{10};  // of all attempts together
  controller.options().idempotent = true;                   // or idempotency_level in the .proto
  weft::protobuf::Finished finished{controller};
  stub.Echo(&controller, &request, &response, &finished);
  const weft::Result<void> outcome = co_await finished;
  co_return outcome.ok() && response.message() == "echo: of any server";
}
// end: call

weft::Task<int> failures_of(int calls, google::protobuf::RpcChannel* channel) {
  int failures = 0;
  for (int i = 0; i < calls; ++i) {
    const bool good = co_await ask(channel);
    if (!good) ++failures;
  }
  co_return failures;
}

int main() {
  EchoImpl echo;
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

  // begin: channel
  auto loop = weft::Loop::create().value();
  weft::FleetOptions options;
  options.name = name;
  options.backup_after = std::chrono::seconds{1};
  weft::FleetClient fleet{*loop, std::move(options)};
  weft::protobuf::FleetChannel channel{fleet};
  // end: channel

  std::printf("%d of 100 calls failed\n", loop->block_on(failures_of(100, &channel)));
  servers.pop_back();
  std::printf("%d of 100 calls failed with a server gone\n", loop->block_on(failures_of(100, &channel)));
}
