// SPDX-License-Identifier: Apache-2.0
// One port for clients of Weft, of gRPC, and for HTTP.
#include <cstdio>
#include <string>
#include <utility>
#include <weft/grpc.hpp>
#include <weft/http.hpp>
#include <weft/protobuf.hpp>
#include <weft/weft.hpp>

#include "echo.weft.hpp"

// begin: service
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
// end: service

weft::Task<int> ask(weft::Client& client) {
  const demo::EchoStub stub{client};
  demo::EchoRequest request;
  request.set_message("hello by Weft");
  const weft::Result<demo::EchoResponse> answer = co_await stub.Say(request);
  std::printf("%s\n", answer.ok() ? answer->message().c_str() : answer.status().to_string().c_str());
  co_return answer.ok() ? 0 : 1;
}

int main(int argc, char** argv) {
  // begin: server
  Echo echo;
  weft::ServerOptions options{.listen = {argc > 1 ? argv[1] : "tcp://127.0.0.1:0"}};
  options.protocols = {weft::grpc(), weft::http()};
  weft::Server server{std::move(options)};
  weft::protobuf::Services services{server};
  services.add(echo);
  server.start().value();
  // end: server

  const std::string url = server.urls().front();
  if (argc == 1) {
    const auto loop = weft::Loop::create().value();
    weft::Client client{*loop, {.connect = url}};
    return loop->block_on(ask(client));
  }
  const std::string port = url.substr(url.rfind(':') + 1);
  std::printf("curl http://127.0.0.1:%s/demo.Echo/Say -d '{\"message\": \"hello by HTTP\"}'\n", port.c_str());
  std::printf(
      "grpcurl -plaintext -proto echo.proto -d '{\"message\": \"hello by gRPC\"}' 127.0.0.1:%s "
      "demo.Echo/Say\n",
      port.c_str());
  std::fflush(stdout);
  server.wait();
}
