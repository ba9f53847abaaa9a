// SPDX-License-Identifier: Apache-2.0
// Blocking calls of plain threads, of Weft and of gRPC's stub, in rounds that take turns. Each line gives the
// median of a round's time per call, beside the first line's.
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>
#include <weft/weft.hpp>

#include "payload.grpc.pb.h"

namespace weft::neighbours {
namespace {

constexpr int kRounds = 9;
constexpr int kCalls = 1'000;
constexpr int kThreads = 8;

std::string echo(std::string_view text) {
  return std::string{text};
}

class Service final : public Echo::Service {
  grpc::Status Say(grpc::ServerContext*, const Payload* request, Payload* response) override {
    response->set_data(request->data());
    return grpc::Status::OK;
  }
};

struct Measured {
  std::string name;
  detail::UniqueFunction<void()> round;
  int calls = kCalls;
  std::vector<double> times{};
};

/// Does `work` on so many threads, each with its number.
template <typename Work>
void on_threads(const Work& work) {
  std::vector<std::jthread> threads;
  threads.reserve(kThreads);
  for (int t = 0; t < kThreads; ++t) threads.emplace_back([&work, t] { work(t); });
}

void must(bool right) {
  if (right) return;
  std::fprintf(stderr, "a call failed\n");
  std::abort();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

int compare() {
  const std::string text(16, 'x');
  Server server{{.listen = {"tcp://127.0.0.1:0"}, .threads = 1}};
  server.register_handler<weft::neighbours::echo>();
  server.start().value();
  const std::string url = server.urls().front();

  Service service;
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  const std::unique_ptr<grpc::Server> grpc_server = builder.BuildAndStart();
  const auto channel =
      grpc::CreateChannel("127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials());
  const auto stub = Echo::NewStub(channel);

  auto own = Loop::create().value();
  Client own_client{*own, {.connect = url}};
  auto thread = LoopThread::start().value();
  Client shared{thread->loop(), {.connect = url}};
  std::vector<std::unique_ptr<BlockingClient>> each;
  each.reserve(kThreads);
  for (int t = 0; t < kThreads; ++t)
    each.push_back(std::make_unique<BlockingClient>(ClientOptions{.connect = url}));

  const auto call_weft = [&](auto& caller, int calls) {
    for (int i = 0; i < calls; ++i) must(caller.template call<weft::neighbours::echo>(text).ok());
  };
  const auto call_grpc = [&](int calls) {
    Payload request;
    request.set_data(text);
    for (int i = 0; i < calls; ++i) {
      grpc::ClientContext context;
      Payload response;
      must(stub->Say(&context, request, &response).ok());
    }
  };
  std::uint64_t wakeups = 0;
  std::vector<Measured> all;
  all.push_back({"gRPC, blocking stub", [&] { call_grpc(kCalls); }});
  all.push_back({"Weft, blocking(client)", [&] {
                   const std::uint64_t before = thread->loop().stats().wakeups;
                   BlockingCaller caller = blocking(shared);
                   call_weft(caller, kCalls);
                   wakeups = thread->loop().stats().wakeups - before;
                 }});
  all.push_back({"Weft, block_on() of a loop of its own", [&] {
                   for (int i = 0; i < kCalls; ++i) {
                     must(own->block_on(own_client.call<weft::neighbours::echo>(text)).ok());
                   }
                 }});
  all.push_back({"gRPC, 8 threads, one channel", [&] { on_threads([&](int) { call_grpc(kCalls); }); },
                 kCalls * kThreads});
  all.push_back({"Weft, 8 threads, one client",
                 [&] {
                   on_threads([&](int) {
                     BlockingCaller caller = blocking(shared);
                     call_weft(caller, kCalls);
                   });
                 },
                 kCalls * kThreads});
  all.push_back({"Weft, 8 threads, 8 clients",
                 [&] { on_threads([&](int t) { call_weft(*each[t], kCalls); }); }, kCalls * kThreads});

  for (int round = -1; round < kRounds; ++round) {  // the first warms up
    for (Measured& its : all) {
      const auto begun = std::chrono::steady_clock::now();
      its.round();
      const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begun;
      if (round >= 0) its.times.push_back(took.count() / its.calls);
    }
  }
  for (const Measured& its : all) {
    const double time = median(its.times);
    std::printf("%-40s %7.2f us/call  %5.2f of gRPC's\n", its.name.c_str(), time,
                time / median(all[its.calls == kCalls ? 0 : 3].times));
  }
  std::printf("wake-ups of the client's loop: %.2f a call\n", static_cast<double>(wakeups) / kCalls);
  grpc_server->Shutdown(std::chrono::system_clock::now());
  thread->stop();
  return 0;
}

}  // namespace
}  // namespace weft::neighbours

int main() {
  return weft::neighbours::compare();
}
