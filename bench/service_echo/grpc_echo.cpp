// SPDX-License-Identifier: Apache-2.0
// gRPC's side of bench/compare services, by its callback interface. KIND is not looked at.
#include <grpcpp/grpcpp.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "echo.grpc.pb.h"
#include "load/stop_signal.hpp"
#include "plan.hpp"

namespace weft::bench {
namespace {

class Service final : public EchoService::CallbackService {
  grpc::ServerUnaryReactor* Echo(grpc::CallbackServerContext* context, const EchoRequest* request,
                                 EchoResponse* response) override {
    response->set_text(request->text());
    auto* const reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
};

int serve(const Plan& plan) {
  load::StopSignal stop;
  Service service;
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort(plan.address, grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) return 1;
  std::printf("listening on %s%d\n", plan.address.substr(0, plan.address.rfind(':') + 1).c_str(), port);
  std::fflush(stdout);
  stop.blocking_wait();
  server->Shutdown(std::chrono::system_clock::now());
  return 0;
}

/// Counts of all callers; they run on gRPC's threads.
struct Shared {
  explicit Shared(const Plan& plan) : count(plan) {}
  std::mutex mutex;
  std::condition_variable ended;
  Count count;
  unsigned running = 0;
};

/// One of the calls in flight, made again and again.
class Caller {
 public:
  Caller(const std::shared_ptr<grpc::Channel>& channel, Shared& shared)
      : stub_(EchoService::NewStub(channel)), shared_(shared) {
    request_.set_text(text_of_message());
  }

  void call() {
    context_.emplace();
    started_ns_ = load::now_ns();
    stub_->async()->Echo(&*context_, &request_, &response_,
                         [this](const grpc::Status& status) { answered(status); });
  }

 private:
  void answered(const grpc::Status& status) {
    const std::int64_t now = load::now_ns();
    {
      const std::lock_guard lock(shared_.mutex);
      shared_.count.end_one(started_ns_, now,
                            status.ok() && response_.text().size() == request_.text().size());
      if (shared_.count.over(now)) {
        if (--shared_.running == 0) shared_.ended.notify_one();
        return;
      }
    }
    call();
  }

  std::unique_ptr<EchoService::Stub> stub_;
  Shared& shared_;
  EchoRequest request_;
  EchoResponse response_;
  std::optional<grpc::ClientContext> context_;
  std::int64_t started_ns_ = 0;
};

int call(const Plan& plan) {
  load::raise_file_limit();
  std::vector<std::shared_ptr<grpc::Channel>> channels;
  for (unsigned i = 0; i < plan.connections; ++i) {
    grpc::ChannelArguments arguments;
    // Otherwise all channels share one connection.
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    channels.push_back(
        grpc::CreateCustomChannel(plan.address, grpc::InsecureChannelCredentials(), arguments));
    if (!channels.back()->WaitForConnected(std::chrono::system_clock::now() + std::chrono::seconds{10})) {
      std::fprintf(stderr, "no connection to %s\n", plan.address.c_str());
      return 1;
    }
  }
  Shared shared{plan};
  shared.running = plan.depth;
  std::vector<std::unique_ptr<Caller>> callers;
  callers.reserve(plan.depth);
  for (unsigned i = 0; i < plan.depth; ++i) {
    callers.push_back(std::make_unique<Caller>(channels[i % channels.size()], shared));
  }
  for (const auto& caller : callers) caller->call();
  std::unique_lock lock(shared.mutex);
  shared.ended.wait(lock, [&] { return shared.running == 0; });
  shared.count.print();
  return 0;
}

}  // namespace
}  // namespace weft::bench

int main(int argc, char** argv) {
  const auto plan = weft::bench::Plan::parse(argc, argv);
  return plan.serves ? weft::bench::serve(plan) : weft::bench::call(plan);
}
