// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <optional>
#include <thread>

#include "dropin.pb.h"
#include "integration/protobuf/services_testing.hpp"
#include "weft/detail/protobuf/channel.hpp"

namespace weft::testing {

using dropin::EchoRequest;
using dropin::EchoResponse;
using dropin::EchoService;
using dropin::EchoService_Stub;
using google::protobuf::Closure;
using google::protobuf::NewCallback;
using google::protobuf::RpcController;

/// Answers as its request says; Other() is not overridden.
class EchoImpl : public EchoService {
 public:
  void Echo(RpcController* controller, const EchoRequest* request, EchoResponse* response,
            Closure* done) override {
    ++calls;
    auto& ours = dynamic_cast<protobuf::Controller&>(*controller);
    tenant = ours.context().metadata().find("tenant").value_or("none");
    response->set_text(request->text());
    if (!ours.context().attachment().empty()) ours.context().set_attachment(ours.context().take_attachment());
    if (request->text() == "fail") controller->SetFailed("as was asked");
    if (request->text().starts_with("fail with ")) controller->SetFailed(request->text().substr(10));
    if (request->text() == "refuse") ours.fail(user_error(7, "refused"));
    if (request->text() == "throw") throw std::runtime_error("thrown by a service");
    if (request->text() == "done then throw") {
      done->Run();
      throw std::runtime_error("thrown when it was done");
    }
    if (request->text() == "keep") {
      ours.NotifyOnCancel(NewCallback(this, &EchoImpl::note_cancel));
      deadline = ours.context().deadline();
      kept_controller = &ours;
      kept = done;
      return arrived.set();
    }
    if (request->text() == "thread") {
      late.emplace([done] { done->Run(); });
      return;
    }
    done->Run();
  }
  ~EchoImpl() override {
    if (late) late->join();
  }

  void note_cancel() {
    was_cancelled = kept_controller->IsCanceled();
    ++cancels_heard;
    if (Closure* done = std::exchange(kept, nullptr)) done->Run();
    cancelled.set();
  }

  std::atomic<int> calls = 0;
  Event arrived;
  Event cancelled;
  bool was_cancelled = false;
  int cancels_heard = 0;
  std::string tenant;
  Deadline deadline;
  protobuf::Controller* kept_controller = nullptr;
  Closure* kept = nullptr;
  std::optional<std::thread> late;
};

inline EchoRequest request_of(std::string text) {
  EchoRequest request;
  request.set_text(std::move(text));
  return request;
}

/// One call, from a coroutine.
inline Task<Result<std::string>> echo(EchoService_Stub* stub, std::string text,
                                      Duration timeout = Duration::zero()) {
  const EchoRequest request = request_of(std::move(text));
  EchoResponse response;
  protobuf::Controller controller;
  controller.options().timeout = timeout;
  protobuf::Finished finished{controller};
  stub->Echo(&controller, &request, &response, &finished);
  const Result<void> outcome = co_await finished;
  if (!outcome.ok()) co_return outcome.status();
  co_return response.text();
}

/// A client, and a server of that service, on the test's loop.
class DropInTest : public ProtobufTest {
 protected:
  EchoImpl service_;
  Server& server_ = serve_services(service_);
  Client& client_ = client(server_);
  protobuf::Channel channel_{client_};
  EchoService_Stub stub_{&channel_};
};

}  // namespace weft::testing
