// SPDX-License-Identifier: Apache-2.0
// What every call passes on its way: a token, the ids of a trace, counters, a log, and the limits of the
// server.
#include <atomic>
#include <cstdio>
#include <weft/weft.hpp>

// begin: token
/// Adds the client's token to every call.
class AddToken final : public weft::ClientInterceptor {
 public:
  explicit AddToken(std::string token) : token_(std::move(token)) {}
  weft::Status before(weft::OutgoingCall& call) override { return call.set("token", token_).status(); }

 private:
  const std::string token_;
};

/// The caller of a call; handlers find it there.
struct User {
  std::string name;
};

/// Refuses calls without a token, before an attachment arrives.
class CheckToken final : public weft::ServerInterceptor {
 public:
  weft::Status before(weft::IncomingCall& call) override {
    if (call.metadata().find("token") != "secret of ann") {
      return {weft::StatusCode::kUnauthenticated, weft::Layer::kUser, "this server needs a token"};
    }
    call.attach(std::make_shared<User>(User{"ann"}));
    return {};
  }
};
// end: token

// begin: trace
/// Gives a call the id of the trace that it belongs to, unless it is made on behalf of one that has it.
class AddTrace final : public weft::ClientInterceptor {
 public:
  weft::Status before(weft::OutgoingCall& call) override {
    if (call.metadata().find("trace")) return {};
    return call.set("trace", "trace-" + std::to_string(++last_)).status();
  }

 private:
  int last_ = 0;
};
// end: trace

// begin: metrics
/// Counts calls by their outcome, from all loops of the server.
class Metrics final : public weft::ServerInterceptor {
 public:
  void after(const weft::EndedCall& call) noexcept override {
    ++(call.status.ok() ? good : failed);
    bytes_out += call.answer_bytes;
  }
  std::atomic<int> good = 0;
  std::atomic<int> failed = 0;
  std::atomic<std::uint64_t> bytes_out = 0;
};

/// Writes a line for each call.
class Log final : public weft::ServerInterceptor {
 public:
  weft::Status before(weft::IncomingCall& call) override {
    std::fprintf(stderr, "server: %s, %s\n", std::string{call.method()}.c_str(),
                 std::string{call.metadata().find("trace").value_or("no trace")}.c_str());
    return {};
  }
  void after(const weft::EndedCall& call) noexcept override {
    std::fprintf(stderr, "server: %s ended: %s\n", std::string{call.method}.c_str(),
                 std::string{to_string(call.status.code())}.c_str());
  }
};
// end: metrics

std::string greet(weft::CallContext& context, std::string_view greeting) {
  return std::string{greeting} + ", " + context.attached<User>()->name;
}

int square(int x) {
  return x * x;
}

weft::Task<int> ask(weft::Client& client, weft::Client& stranger) {
  const auto greeting = co_await client.call<greet>("hello");
  std::printf("%s\n", greeting.ok() ? greeting->c_str() : greeting.status().to_string().c_str());

  const auto refused = co_await stranger.call<greet>("hello");
  std::printf("a stranger hears: %s\n", std::string{refused.status().message()}.c_str());

  // begin: retry
  weft::RetryPolicy policy;
  policy.attempts_max = 5;
  for (int x = 1; x <= 4; ++x) {
    // A server over its rate says how long to wait; a call that it refused has not run.
    const auto answer = co_await weft::with_retry(policy, [&] { return client.call<square>(x); });
    if (answer.ok()) std::printf("%d\n", *answer);
  }
  // end: retry
  co_return 0;
}

int main() {
  const auto metrics = std::make_shared<Metrics>();
  // begin: server
  weft::ServerOptions options{.listen = {"tcp://127.0.0.1:0"}};
  options.interceptors = {metrics, std::make_shared<CheckToken>(), std::make_shared<Log>()};
  options.caller_rates.push_back({.rate = {.per_second = 1000, .burst = 100}});
  options.adaptive_limit = weft::AdaptiveLimitOptions{};
  weft::Server server{std::move(options)};
  server.register_handler<greet>();
  server.register_handler<square>({.rate = weft::Rate{.per_second = 20, .burst = 2}});
  // end: server
  server.start().value();

  const auto loop = weft::Loop::create().value();
  // begin: client
  weft::ClientOptions client_options{.connect = server.urls().front()};
  client_options.interceptors = {std::make_shared<AddToken>("secret of ann"), std::make_shared<AddTrace>()};
  weft::Client client{*loop, std::move(client_options)};
  // end: client
  weft::Client stranger{*loop, {.connect = server.urls().front()}};
  const int result = loop->block_on(ask(client, stranger));
  // The calls have ended, and the clients, whose loop turns no more, would not hear that the server goes
  // away.
  server.stop(weft::Duration::zero());
  server.wait();
  std::printf("%s\n", metrics->good == 5 ? "5 good calls" : "another number of good calls");
  return result;
}
