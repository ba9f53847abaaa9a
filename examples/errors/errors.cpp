// SPDX-License-Identifier: Apache-2.0
// What can go wrong comes back as a Status: a code, who says so, a text, and what the caller should do.
#include <cstdio>
#include <stdexcept>
#include <string>
#include <weft/weft.hpp>

// begin: handlers
weft::Result<int> withdraw(int amount) {
  if (amount > 100) {
    return weft::user_error(4711, "only 100 left", weft::StatusCode::kFailedPrecondition);
  }
  return 100 - amount;
}

int careless(const std::string& number) {
  return std::stoi(number);  // may throw: the caller gets a failure, and the server goes on
}

std::string page(int number) {
  if (number > 9) throw weft::user_error(404, "no such page", weft::StatusCode::kNotFound);
  return "page " + std::to_string(number);
}
// end: handlers

// begin: fixed
/// Text and all of this failure are part of the program: giving it takes no memory.
constexpr weft::FixedFailure kClosed{weft::StatusCode::kFailedPrecondition, weft::Layer::kUser,
                                     weft::Retry::kElsewhere, "the bank is closed"};

weft::Result<int> deposit(int /*amount*/) {
  return weft::Status::of<kClosed>();
}
// end: fixed

// begin: lost
bool may_be_repeated(const weft::Status& failure, bool harmless_twice) {
  if (failure.code() != weft::StatusCode::kUnavailable) return false;
  return failure.unprocessed() || harmless_twice;
}
// end: lost

void show(const char* what, const weft::Status& status) {
  std::printf("%s: %s, retry: %s\n", what, std::string{to_string(status.code())}.c_str(),
              std::string{to_string(status.retry())}.c_str());
}

weft::Task<int> ask(weft::Client& client) {
  // begin: client
  auto refused = co_await client.call<withdraw>(500);
  if (!refused.ok() && refused.status().layer() == weft::Layer::kUser && refused.status().native() == 4711) {
    std::printf("refused: %s\n", std::string{refused.status().message()}.c_str());
  }
  // end: client
  show("refused", refused.status());

  auto thrown = co_await client.call<careless>("many");
  show("thrown", thrown.status());

  auto missing = co_await client.call<page>(10);
  if (missing.ok() || missing.status().code() != weft::StatusCode::kNotFound) co_return 1;
  show("no page", missing.status());

  auto unknown = co_await client.call<weft::remote<"no/such", int(int)>>(1);
  show("unknown method", unknown.status());

  auto other = co_await client.call<weft::remote<"withdraw", std::string(std::string)>>("all");
  show("another signature", other.status());

  auto closed = co_await client.call<deposit>(50);
  if (closed.ok() || closed.status().retry() != weft::Retry::kElsewhere) co_return 1;
  show("closed", closed.status());

  auto left = co_await client.call<withdraw>(30);  // the connection is as good as before
  if (!left.ok()) co_return 1;
  std::printf("%d left\n", *left);
  co_return 0;
}

weft::Task<int> ask_nobody(weft::Client& client) {
  auto lost = co_await client.call<withdraw>(30);
  show("nobody is there", lost.status());
  std::printf("it %s be repeated\n", may_be_repeated(lost.status(), false) ? "may" : "must not");
  co_return 0;
}

int main() {
  weft::Server server{{.listen = {"tcp://127.0.0.1:0"}}};
  server.register_handler<withdraw>();
  server.register_handler<careless>();
  server.register_handler<page>();
  server.register_handler<deposit>();
  server.start().value();
  auto loop = weft::Loop::create().value();
  weft::Client client{*loop, {.connect = server.urls().front()}};
  weft::Client lonely{*loop, {.connect = "tcp://127.0.0.1:1"}};
  return loop->block_on(ask(client)) + loop->block_on(ask_nobody(lonely));
}
