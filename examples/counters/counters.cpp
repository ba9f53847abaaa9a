// SPDX-License-Identifier: Apache-2.0
// Counters of a server: calls by method, and what went over its connections.
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <string_view>
#include <weft/weft.hpp>

int half(int number) {
  if (number % 2 != 0) throw weft::user_error(1, "odd", weft::StatusCode::kInvalidArgument);
  return number / 2;
}
weft::Task<std::string> greet(std::string name) {
  co_return "hello " + name;
}

// begin: show
void show(const weft::ServerStats& stats) {
  for (const weft::MethodStats& method : stats.methods) {
    std::printf("%.*s: %llu calls, %llu answered, %llu failed, %llu of them for an invalid argument\n",
                static_cast<int>(method.name.size()), method.name.data(),
                static_cast<unsigned long long>(method.calls),
                static_cast<unsigned long long>(method.answered),
                static_cast<unsigned long long>(method.failures()),
                static_cast<unsigned long long>(method.failed_with(weft::StatusCode::kInvalidArgument)));
  }
  const weft::ConnectionStats& traffic = stats.traffic;
  std::printf("%llu frames received\n", static_cast<unsigned long long>(traffic.frames_received));
}
// end: show

// begin: refusals
void show(const weft::RefusalCounts& refused) {
  for (std::size_t number = 0; number < refused.counts.size(); ++number) {
    const auto reason = static_cast<weft::RefusalReason>(number);
    if (refused[reason] == 0) continue;
    std::printf("%llu refused: %s%s\n", static_cast<unsigned long long>(refused[reason]),
                std::string{to_string(reason)}.c_str(),
                weft::ends_connection(reason) ? ", and their connection ended" : "");
  }
}
// end: refusals

// begin: log
/// Counts what the library complains of, and passes everything on.
class CountingLog final : public weft::Logger {
 public:
  void write(weft::LogLevel level, std::string_view message) override {  // from any loop's thread
    if (level >= weft::LogLevel::kWarning) ++complaints_;
    weft::stderr_logger().write(level, message);
  }
  int complaints() const { return complaints_; }

 private:
  std::atomic<int> complaints_ = 0;
};
// end: log

weft::Task<int> ask(weft::Client& client) {
  int answered = 0;
  for (int number = 0; number < 4; ++number) {
    auto result = co_await client.call<half>(number);
    if (result.ok()) ++answered;
  }
  const std::string name = "you";
  auto greeting = co_await client.call<greet>(name);
  auto unknown = co_await client.call<weft::remote<"no/such", int(int)>>(1);
  co_return answered == 2 && greeting.ok() && !unknown.ok() ? 0 : 1;
}

int main() {
  CountingLog log;
  auto loop = weft::Loop::create().value();
  weft::Server server{{.listen = {"tcp://127.0.0.1:0"}, .threads = 0, .loop = loop.get(), .logger = &log}};
  server.register_handler<half, greet>();
  server.start().value();
  weft::Client client{*loop, {.connect = server.urls().front()}};
  const int outcome = loop->block_on(ask(client));
  show(server.stats());
  show(server.stats().refused);
  std::printf("%d complaints in the log\n", log.complaints());
  // Both sides count the same bytes.
  const bool same = server.stats().traffic.bytes_received == client.stats().traffic.bytes_sent;
  std::printf("%s\n", same ? "the client sent as much" : "the client sent something else");
  return outcome;
}
