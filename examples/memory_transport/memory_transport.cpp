// SPDX-License-Identifier: Apache-2.0
// A test without sockets, threads or waiting: server and client on one loop whose time we move ourselves.
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <weft/weft.hpp>

using namespace std::chrono_literals;

weft::Task<weft::Result<std::string>> remind(std::string text) {
  auto slept = co_await weft::sleep_for(1h);
  if (!slept.ok()) co_return slept.status();
  co_return "remember: " + text;
}

weft::Task<void> ask(weft::Client* client, std::string* outcome) {
  auto reminder = co_await client->call<remind>("tea");
  *outcome = reminder.ok() ? *reminder : reminder.status().to_string();
}

int main() {
  // begin: setup
  weft::ManualClock clock;
  auto loop = weft::Loop::create({.clock = &clock}).value();

  weft::Server server{{.listen = {"memory://reminders"}, .threads = 0, .loop = loop.get()}};
  server.register_handler<remind>();
  server.start().value();
  weft::Client client{*loop, {.connect = "memory://reminders", .call_timeout = weft::kNoTimeout}};
  // end: setup

  // begin: drive
  weft::Scope scope;
  std::string outcome = "nothing yet";
  loop->post([&] { scope.spawn(&ask, &client, &outcome); });
  loop->run_until_idle();
  std::printf("now: %s\n", outcome.c_str());
  clock.advance(1h);  // costs nothing
  loop->run_until_idle();
  std::printf("an hour later: %s\n", outcome.c_str());
  // end: drive

  // begin: own_network
  weft::Transports slow;
  slow.add(std::make_unique<weft::MemoryNetwork>(weft::MemoryOptions{.to_server = {.delay = 5s}}));
  weft::Server far_server{{.listen = {"memory://far"}, .threads = 0, .loop = loop.get()}, slow};
  weft::Client far_client{*loop, {.connect = "memory://far", .call_timeout = weft::kNoTimeout}, slow};
  // end: own_network
  far_server.register_handler<remind>();
  far_server.start().value();
  loop->post([&] { scope.spawn(&ask, &far_client, &outcome); });
  for (int second = 0; second < 3700; ++second) {
    loop->run_until_idle();
    clock.advance(1s);
  }
  std::printf("over the slow network: %s\n", outcome.c_str());
  return 0;
}
