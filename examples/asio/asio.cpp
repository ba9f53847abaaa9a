// SPDX-License-Identifier: Apache-2.0
// Weft beside asio: its coroutines await calls, and a handler of Weft awaits one of its timers.
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>
#include <cstdio>
#include <string>
#include <thread>
#include <weft/asio.hpp>
#include <weft/weft.hpp>

using namespace std::chrono_literals;

int add(int a, int b) {
  return a + b;
}

// begin: call
asio::awaitable<int> ask(weft::AsioCaller server) {
  weft::Result<int> sum = co_await server.call<add>(1, 2)(asio::use_awaitable);
  co_return sum.value_or(-1);
}
// end: call

// begin: wait
weft::Task<bool> wait_for(asio::steady_timer& timer) {
  weft::Result<void> waited = co_await timer.async_wait(weft::UseWeft{timer.get_executor()});
  co_return waited.ok();
}
// end: wait

int main() {
  weft::Server server{{.listen = {"tcp://127.0.0.1:0"}}};
  server.register_handler<add>();
  server.start().value();

  // begin: main
  auto thread = weft::LoopThread::start().value();  // Weft's
  weft::Client client{thread->loop(), {.connect = server.urls().front()}};
  asio::io_context context;  // asio's
  asio::co_spawn(context, ask(weft::as_asio(client)),
                 [](const std::exception_ptr&, int sum) { std::printf("%d\n", sum); });
  context.run();
  // end: main

  auto work = asio::make_work_guard(context);
  context.restart();
  std::jthread runs{[&] { context.run(); }};
  asio::steady_timer timer{context, 1ms};
  auto loop = weft::Loop::create().value();
  std::printf("%s\n", loop->block_on(wait_for(timer)) ? "waited" : "not waited");
  work.reset();
  thread->stop();
}
