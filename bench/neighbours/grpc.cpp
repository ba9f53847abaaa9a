// SPDX-License-Identifier: Apache-2.0
// gRPC, by its callback interface, under the loads of bench/compare grid and streams.
#include <grpcpp/grpcpp.h>

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "load/payload.hpp"
#include "load/stop_signal.hpp"
#include "neighbours/command.hpp"
#include "neighbours/grpc_item_service.hpp"
#include "neighbours/grpc_shared.hpp"
#include "neighbours/grpc_streams.hpp"
#include "neighbours/sockets.hpp"
#include "payload.grpc.pb.h"

namespace weft::neighbours {
namespace {

constexpr int kUnlimited = -1;

class Service final : public Echo::CallbackService {
  grpc::ServerWriteReactor<Payload>* Send(grpc::CallbackServerContext*, const ItemsWanted* wanted) override {
    return send_items(*wanted);
  }
  grpc::ServerReadReactor<Payload>* Take(grpc::CallbackServerContext*, Taken* taken) override {
    return take_items(*taken);
  }
  grpc::ServerBidiReactor<Payload, Payload>* SayAgain(grpc::CallbackServerContext*) override {
    return echo_items();
  }
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
  if (server == nullptr || !set_congestion(options.congestion)) return 1;
  say_listening(options.listen, static_cast<unsigned>(port));
  stop.blocking_wait();
  server->Shutdown(std::chrono::system_clock::now());
  return 0;
}

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
    const bool intact = status.ok() && load::answer_intact(as_bytes(response_.data()), bytes, tag_, bytes);
    if (shared_.count(intact, started_ns_, now_ns)) {
      call();
    } else {
      shared_.end_one();
    }
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

int measure(const load::ClientOptions& options, bool may_wait) {
  if (may_wait && options.streams == load::Streams::kPingPong) {
    std::fputs("--may-wait is about --streams down and up: an item that waits never comes back\n", stderr);
    return 1;
  }
  std::vector<std::shared_ptr<grpc::Channel>> channels;
  channels.reserve(options.connections);
  for (unsigned i = 0; i < options.connections; ++i) {
    channels.push_back(connect(host_and_port(options.connect)));
    if (channels.back() == nullptr) {
      std::fprintf(stderr, "no connection to %s\n", options.connect.c_str());
      return 1;
    }
  }
  if (!set_congestion(options.congestion)) return 1;
  Shared shared{options};
  shared.running = options.depth * options.connections;
  std::vector<std::unique_ptr<Caller>> callers;
  std::vector<std::unique_ptr<ClientStream>> streams;
  for (std::uint64_t i = 0; i < shared.running; ++i) {
    const auto& channel = channels[i % channels.size()];
    if (options.streams == load::Streams::kNone) {
      callers.push_back(std::make_unique<Caller>(channel, shared, options, i << 40));
    } else {
      streams.push_back(make_stream(channel, shared, options, may_wait, i << 40));
    }
  }
  for (const auto& caller : callers) caller->call();
  for (const auto& stream : streams) stream->start();
  std::unique_lock lock(shared.mutex);
  shared.ended.wait(lock, [&] { return shared.running == 0; });
  load::print_report(shared.meter.report(), options);
  return 0;
}

}  // namespace
}  // namespace weft::neighbours

int main(int argc, char** argv) {
  using namespace weft;
  bool may_wait = false;
  const auto measure = [&](const load::ClientOptions& options) {
    return neighbours::measure(options, may_wait);
  };
  const auto add_streams = [&](CLI::App& client, load::ClientOptions& options) {
    load::add_streams_flag(client, options.streams, true);
    client
        .add_flag(
            "--may-wait", may_wait,
            "With --streams down or up: gRPC may keep items back to send more at once, by its buffer hint")
        ->needs("--streams");
  };
  return neighbours::run(argc, argv, "gRPC under the loads of `weft raw`", neighbours::serve, measure,
                         add_streams);
}
