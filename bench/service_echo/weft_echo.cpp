// SPDX-License-Identifier: Apache-2.0
// Weft's side of bench/compare services. KIND is `service`, or what echoes as many bytes without protobuf:
// `function`, which is called inside the receiving and gives a view back, or `coroutine`, which is served as
// a service's method is.
#include <memory>
#include <vector>
#include <weft/weft.hpp>

#include "echo.weft.hpp"
#include "load/stop_signal.hpp"
#include "plan.hpp"

namespace weft::bench {
namespace {

class Service : public EchoServiceServer {
  Task<Result<void>> Echo(CallContext&, const EchoRequest& request, EchoResponse& response) override {
    response.set_text(request.text());
    co_return Result<void>{};
  }
};

std::string_view echo(std::string_view text) {
  return text;
}

Task<std::string_view> echo_in_coroutine(CallContext&, std::string_view text) {
  co_return text;
}

int serve(const Plan& plan) {
  load::StopSignal stop;
  Service service;
  Server server{{.listen = {plan.address}}};
  protobuf::Services services{server};
  services.add(service);
  server.register_handler<echo>();
  server.register_handler<echo_in_coroutine>();
  if (const auto started = server.start(); !started.ok()) {
    std::fprintf(stderr, "%s\n", started.status().to_string().c_str());
    return 1;
  }
  std::printf("listening on %s\n", server.urls().front().c_str());
  std::fflush(stdout);
  stop.blocking_wait();
  return 0;
}

/// Clock that with several in flight is the time of the loop's turn, which all answers of a batch share.
class Clock {
 public:
  Clock(const Plan& plan, Loop& loop) : exact_(plan.depth == 1), loop_(loop) {}
  std::int64_t now_ns() const {
    return exact_ ? load::now_ns() : loop_.now().time_since_epoch() / std::chrono::nanoseconds{1};
  }

 private:
  bool exact_;
  Loop& loop_;
};

Task<void> call_service(Client* client, Count* count, const Clock* clock) {
  const EchoServiceStub stub{*client};
  EchoRequest request;
  request.set_text(text_of_message());
  EchoResponse response;
  for (std::int64_t now = clock->now_ns(); !count->over(now);) {
    const std::int64_t started = now;
    const Result<void> outcome = co_await stub.Echo(request).into(response);
    now = clock->now_ns();
    count->end_one(started, now, outcome.ok() && response.text().size() == request.text().size());
  }
}

template <auto F>
Task<void> call_function(Client* client, Count* count, const Clock* clock) {
  const std::string text(128, 'x');
  for (std::int64_t now = clock->now_ns(); !count->over(now);) {
    const std::int64_t started = now;
    const Result<std::string> answer = co_await client->call<F>(text);
    now = clock->now_ns();
    count->end_one(started, now, answer.ok() && answer->size() == text.size());
  }
}

Task<void> make_caller(const Plan& plan, Client* client, Count* count, const Clock* clock) {
  if (plan.kind == "function") return call_function<echo>(client, count, clock);
  if (plan.kind == "coroutine") return call_function<echo_in_coroutine>(client, count, clock);
  return call_service(client, count, clock);
}

Task<int> measure(const Plan* plan, Loop* loop, std::vector<std::unique_ptr<Client>>* clients) {
  for (const auto& client : *clients) {
    const Result<void> connected = co_await client->connect();
    if (!connected.ok()) {
      std::fprintf(stderr, "%s\n", connected.status().to_string().c_str());
      co_return 1;
    }
  }
  const Clock clock{*plan, *loop};
  Count count{*plan};
  std::vector<Task<void>> callers;
  callers.reserve(plan->depth);
  for (unsigned i = 0; i < plan->depth; ++i) {
    callers.push_back(make_caller(*plan, (*clients)[i % clients->size()].get(), &count, &clock));
  }
  co_await when_all(std::move(callers));
  count.print();
  co_return 0;
}

int call(const Plan& plan) {
  load::raise_file_limit();
  const auto loop = Loop::create().value();
  std::vector<std::unique_ptr<Client>> clients;
  clients.reserve(plan.connections);
  for (unsigned i = 0; i < plan.connections; ++i) {
    clients.push_back(std::make_unique<Client>(*loop, ClientOptions{.connect = plan.address}));
  }
  return loop->block_on(measure(&plan, loop.get(), &clients));
}

}  // namespace
}  // namespace weft::bench

int main(int argc, char** argv) {
  const auto plan = weft::bench::Plan::parse(argc, argv);
  return plan.serves ? weft::bench::serve(plan) : weft::bench::call(plan);
}
