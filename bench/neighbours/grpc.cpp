// SPDX-License-Identifier: Apache-2.0
// gRPC, by its callback interface, under the loads of bench/compare grid.
#include <grpcpp/grpcpp.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "load/meter.hpp"
#include "load/payload.hpp"
#include "load/stop_signal.hpp"
#include "neighbours/command.hpp"
#include "payload.grpc.pb.h"

namespace weft::neighbours {
namespace {

constexpr int kUnlimited = -1;

class Service final : public Echo::CallbackService {
  grpc::ServerUnaryReactor* Say(grpc::CallbackServerContext* context, const Payload* request,
                                Payload* response) override {
    response->set_data(request->data());
    auto* const reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
};

int serve(const load::ServerOptions& options) {
  load::StopSignal stop;
  Service service;
  int port = 0;
  grpc::ServerBuilder builder;
  builder.SetMaxReceiveMessageSize(kUnlimited);
  builder.AddListeningPort(host_and_port(options.listen), grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) return 1;
  say_listening(options.listen, static_cast<unsigned>(port));
  stop.blocking_wait();
  server->Shutdown(std::chrono::system_clock::now());
  return 0;
}

/// Where all callers count; they run on gRPC's threads.
struct Shared {
  explicit Shared(const load::ClientOptions& options) : meter(options, load::now_ns()) {}
  std::mutex mutex;
  std::condition_variable ended;
  load::Meter meter;
  unsigned running = 0;
};

/// One of the calls in flight, made again and again.
class Caller {
 public:
  Caller(const std::shared_ptr<grpc::Channel>& channel, Shared& shared, const load::ClientOptions& options,
         std::uint64_t first_tag)
      : stub_(Echo::NewStub(channel)), shared_(shared), tag_(first_tag) {
    request_.mutable_data()->resize(options.size_bytes);
    load::fill_pattern(payload());
  }

  void call() {
    context_.emplace();
    load::write_tag(payload(), ++tag_);
    started_ns_ = load::now_ns();
    stub_->async()->Say(&*context_, &request_, &response_,
                        [this](const grpc::Status& status) { answered(status); });
  }

 private:
  MutableBytes payload() { return std::as_writable_bytes(std::span{*request_.mutable_data()}); }

  void answered(const grpc::Status& status) {
    const std::int64_t now_ns = load::now_ns();
    const std::uint64_t bytes = request_.data().size();
    const bool intact = status.ok() && load::reply_intact(as_bytes(response_.data()), bytes, tag_, bytes);
    {
      const std::lock_guard lock(shared_.mutex);
      if (intact) {
        shared_.meter.complete(started_ns_, now_ns);
      } else {
        shared_.meter.fail();
      }
      if (!shared_.meter.tick(now_ns)) {
        if (--shared_.running == 0) shared_.ended.notify_one();
        return;
      }
    }
    call();
  }

  std::unique_ptr<Echo::Stub> stub_;
  Shared& shared_;
  std::uint64_t tag_;
  Payload request_;
  Payload response_;
  std::optional<grpc::ClientContext> context_;
  std::int64_t started_ns_ = 0;
};

/// None when there is no server.
std::shared_ptr<grpc::Channel> connect(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kUnlimited);
  // Otherwise all channels share one connection.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  auto channel = grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
  const auto patience = std::chrono::system_clock::now() + std::chrono::seconds{10};
  return channel->WaitForConnected(patience) ? channel : nullptr;
}

int measure(const load::ClientOptions& options) {
  std::vector<std::shared_ptr<grpc::Channel>> channels;
  channels.reserve(options.connections);
  for (unsigned i = 0; i < options.connections; ++i) {
    channels.push_back(connect(host_and_port(options.connect)));
    if (channels.back() == nullptr) {
      std::fprintf(stderr, "no connection to %s\n", options.connect.c_str());
      return 1;
    }
  }
  Shared shared{options};
  shared.running = options.depth * options.connections;
  std::vector<std::unique_ptr<Caller>> callers;
  callers.reserve(shared.running);
  for (std::uint64_t i = 0; i < shared.running; ++i) {
    callers.push_back(std::make_unique<Caller>(channels[i % channels.size()], shared, options, i << 40));
  }
  for (const auto& caller : callers) caller->call();
  std::unique_lock lock(shared.mutex);
  shared.ended.wait(lock, [&] { return shared.running == 0; });
  load::print_report(shared.meter.report(), options);
  return 0;
}

}  // namespace
}  // namespace weft::neighbours

int main(int argc, char** argv) {
  return weft::neighbours::run(argc, argv, "gRPC under the loads of `weft raw`", weft::neighbours::serve,
                               weft::neighbours::measure);
}
