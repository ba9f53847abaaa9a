// SPDX-License-Identifier: Apache-2.0
// Calls that run at the same time: all of them, the first of them, one with a limit.
#include <chrono>
#include <cstdio>
#include <string>
#include <variant>
#include <vector>
#include <weft/weft.hpp>

using namespace std::chrono_literals;

int square(int number) {
  return number * number;
}

std::string greet(std::string_view name) {
  return "hello " + std::string{name};
}

weft::Task<weft::Result<int>> think() {
  auto slept = co_await weft::sleep_for(1h);
  if (!slept.ok()) co_return slept.status();
  co_return 42;
}

weft::Task<int> ask_lambdas(weft::Client& client) {
  // begin: parameters
  // A function without captures: the frame of the coroutine owns what the task needs.
  constexpr auto square_of = [](weft::Client* to, int number) -> weft::Task<weft::Result<int>> {
    co_return co_await to->call<square>(number);
  };
  weft::Task<weft::Result<int>> later = square_of(&client, 12);
  auto squared = co_await std::move(later);
  // end: parameters
  if (!squared.ok() || *squared != 144) co_return 1;

  // NOLINTBEGIN(cppcoreguidelines-avoid-capturing-lambda-coroutines): `sum_to` outlives its tasks
  // begin: named
  // A function with captures has a name, and is declared before the tasks that refer to it.
  const auto sum_to = [&client](int last) -> weft::Task<int> {
    int sum = 0;
    for (int i = 1; i <= last; ++i) sum += (co_await client.call<square>(i)).value_or(0);
    co_return sum;
  };
  auto [three, four] = co_await weft::when_all(sum_to(3), sum_to(4));
  // end: named
  // NOLINTEND(cppcoreguidelines-avoid-capturing-lambda-coroutines)
  co_return three == 14 && four == 30 ? 0 : 1;
}

weft::Task<int> ask(weft::Client& client) {
  // begin: when_all
  auto [number, text] = co_await weft::when_all(client.call<square>(7), client.call<greet>("you"));
  if (!number.ok() || !text.ok()) co_return 1;
  std::printf("%d, %s\n", *number, text->c_str());
  // end: when_all

  // begin: vector
  std::vector<weft::Call<int>> calls;
  for (int i = 1; i <= 10; ++i) calls.push_back(client.start<square>(i));
  auto answers = co_await weft::when_all(std::move(calls));  // std::vector<weft::Result<int>>
  int sum = 0;
  for (const auto& answer : answers) sum += answer.ok() ? *answer : 0;
  std::printf("squares: %d\n", sum);
  // end: vector

  // begin: race
  auto winner = co_await weft::race(client.call<think>(), weft::sleep_for(20ms));
  if (winner.index == 1) {
    std::printf("no answer for 20 ms, the call was cancelled\n");
  } else {
    const weft::Result<int>& thought = std::get<0>(winner.value);
    std::printf("an answer: %s\n", thought.ok() ? "good" : "bad");
  }
  // end: race
  co_return co_await ask_lambdas(client);
}

int main() {
  weft::Server server{{.listen = {"tcp://127.0.0.1:0"}}};
  server.register_handler<square>();
  server.register_handler<greet>();
  server.register_handler<think>();
  server.start().value();

  auto loop = weft::Loop::create().value();
  weft::Client client{*loop, {.connect = server.urls().front()}};
  // begin: block_on
  auto first = loop->block_on(client.call<square>(3));  // outside of coroutines
  // end: block_on
  return first.ok() ? loop->block_on(ask(client)) : 1;
}
