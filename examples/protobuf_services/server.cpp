// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <sstream>
#include <weft/weft.hpp>

#include "echo.weft.hpp"

// begin: streams
class Words : public demo::WordsServer {
  weft::Task<weft::Result<void>> Spell(weft::CallContext&, const demo::EchoRequest& request,
                                       weft::protobuf::Writer<demo::EchoResponse>& responses) override {
    std::istringstream words{request.message()};
    demo::EchoResponse response;
    while (words >> *response.mutable_message()) {
      const bool written = co_await responses.write(response);
      if (!written) co_return responses.status();
    }
    co_return weft::Result<void>{};
  }

  weft::Task<weft::Result<void>> Join(weft::CallContext&, weft::protobuf::Reader<demo::EchoRequest>& requests,
                                      demo::EchoResponse& response) override {
    while (const auto* request = co_await requests.next()) *response.mutable_message() += request->message();
    co_return requests.status();
  }

  weft::Task<weft::Result<void>> SayAll(weft::CallContext&,
                                        weft::protobuf::Reader<demo::EchoRequest>& requests,
                                        weft::protobuf::Writer<demo::EchoResponse>& responses) override {
    demo::EchoResponse response;
    while (const auto* request = co_await requests.next()) {
      response.set_message(request->message());
      const bool written = co_await responses.write(response);
      if (!written) co_return responses.status();
    }
    co_return requests.status();
  }
};
// end: streams

// begin: server
class Echo : public demo::EchoServer {
  weft::Task<weft::Result<void>> Say(weft::CallContext&, const demo::EchoRequest& request,
                                     demo::EchoResponse& response) override {
    if (request.message().empty()) co_return weft::user_error(1, "nothing to say");
    response.set_message(request.message());
    co_return weft::Result<void>{};
  }

  weft::Task<weft::Result<void>> SendBack(weft::CallContext& context, const demo::EchoRequest&,
                                          demo::EchoResponse& response) override {
    response.set_message(std::to_string(context.attachment().size()) + " bytes");
    context.set_attachment(context.take_attachment());
    co_return weft::Result<void>{};
  }
};

int main(int argc, char** argv) {
  Echo echo;
  Words words;
  weft::Server server{{.listen = {argc > 1 ? argv[1] : "tcp://127.0.0.1:9000"}}};
  weft::protobuf::Services services{server};
  services.add(echo);
  services.add(words);
  if (auto started = server.start(); !started.ok()) {
    std::fprintf(stderr, "%s\n", started.status().to_string().c_str());
    return 1;
  }
  std::printf("listening on %s\n", server.urls().front().c_str());
  std::fflush(stdout);
  server.wait();
}
// end: server
