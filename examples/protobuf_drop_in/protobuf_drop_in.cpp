// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <thread>
#include <weft/protobuf.hpp>
#include <weft/weft.hpp>

#include "relay.pb.h"

using demo::relay::EchoRequest;
using demo::relay::EchoResponse;
using google::protobuf::Closure;
using google::protobuf::RpcController;

// begin: services
class EchoImpl : public demo::relay::EchoService {
  void Echo(RpcController* controller, const EchoRequest* request, EchoResponse* response,
            Closure* done) override {
    if (request->message().empty()) controller->SetFailed("nothing to say");
    response->set_message("echo: " + request->message());
    done->Run();
  }
};

class RelayImpl : public demo::relay::RelayService {
 public:
  explicit RelayImpl(google::protobuf::RpcChannel* echo) : echo_(echo) {}

 private:
  /// One call of the other server, for one of ours.
  struct Relayed {
    weft::protobuf::Controller nested;
    RpcController* controller;
    Closure* done;
  };

  void RelayEcho(RpcController* controller, const EchoRequest* request, EchoResponse* response,
                 Closure* done) override {
    // Ends when its own caller's deadline passes, and is cancelled with it.
    auto* relayed = new Relayed{weft::protobuf::Controller{*controller}, controller, done};
    echo_.Echo(&relayed->nested, request, response,
               google::protobuf::NewCallback(this, &RelayImpl::answered, relayed));
  }

  void answered(Relayed* relayed) {
    if (relayed->nested.Failed()) relayed->controller->SetFailed(relayed->nested.ErrorText());
    relayed->done->Run();
    delete relayed;
  }

  demo::relay::EchoService_Stub echo_;
};
// end: services

// begin: coroutine
weft::Task<void> relay_in_a_coroutine(google::protobuf::RpcChannel* channel) {
  demo::relay::RelayService_Stub stub{channel};
  EchoRequest request;
  request.set_message("from a coroutine");
  EchoResponse response;
  weft::protobuf::Controller controller;
  weft::protobuf::Finished finished{controller};
  stub.RelayEcho(&controller, &request, &response, &finished);
  const weft::Result<void> outcome = co_await finished;
  std::printf("%s\n", outcome.ok() ? response.message().c_str() : outcome.status().to_string().c_str());
}
// end: coroutine

// begin: blocking
void relay_in_a_thread(google::protobuf::RpcChannel* channel, const char* message) {
  demo::relay::RelayService_Stub stub{channel};
  EchoRequest request;
  request.set_message(message);
  EchoResponse response;
  weft::protobuf::Controller controller;
  stub.RelayEcho(&controller, &request, &response, nullptr);  // blocks until the answer is there
  std::printf("%s\n", controller.Failed() ? controller.ErrorText().c_str() : response.message().c_str());
}
// end: blocking

// begin: main
int main() {
  auto loop = weft::Loop::create().value();
  EchoImpl echo;
  weft::Server echo_server{{.listen = {"tcp://127.0.0.1:0"}}};
  weft::protobuf::Services{echo_server}.add(echo);
  echo_server.start().value();

  // The relay runs on our loop, which its client of the other server belongs to.
  weft::Client to_echo{*loop, {.connect = echo_server.urls().front()}};
  weft::protobuf::Channel echo_channel{to_echo};
  RelayImpl relay{&echo_channel};
  weft::Server relay_server{{.listen = {"tcp://127.0.0.1:0"}, .threads = 0, .loop = loop.get()}};
  weft::protobuf::Services{relay_server}.add(relay);
  relay_server.start().value();

  weft::Client client{*loop, {.connect = relay_server.urls().front()}};
  weft::protobuf::Channel channel{client};
  loop->block_on(relay_in_a_coroutine(&channel));

  std::thread caller{[&] {
    relay_in_a_thread(&channel, "from a thread");
    relay_in_a_thread(&channel, "");
    loop->stop();
  }};
  loop->run();
  caller.join();
}
// end: main
