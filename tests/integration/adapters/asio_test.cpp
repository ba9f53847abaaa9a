// SPDX-License-Identifier: Apache-2.0
// CR-12: asio's coroutines await calls of Weft, and Weft's coroutines await operations of asio.
#include "weft/detail/adapters/asio.hpp"

#include <array>
#include <asio/awaitable.hpp>
#include <asio/bind_cancellation_slot.hpp>
#include <asio/bind_executor.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/local/connect_pair.hpp>
#include <asio/local/stream_protocol.hpp>
#include <asio/read.hpp>
#include <asio/steady_timer.hpp>
#include <asio/strand.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/use_future.hpp>
#include <asio/write.hpp>
#include <latch>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>

#include "integration/threads/threads_testing.hpp"

namespace weft::testing::asio_tests {
namespace {

Task<int> doubled(int number) {
  co_await yield();
  co_return 2 * number;
}
Task<int> throws() {
  co_await yield();
  throw std::runtime_error{"thrown on the loop"};
}

/// A context of asio that a thread of its own runs.
class Context {
 public:
  ~Context() { stop(); }
  asio::io_context& operator*() { return *context_; }
  asio::io_context* operator->() { return &*context_; }
  /// Ends the thread, and then the context with all that waits in it.
  void end() {
    stop();
    context_.reset();
  }

 private:
  void stop() {
    if (!thread_.joinable()) return;
    context_->stop();
    thread_.join();
    work_.reset();
  }

  std::optional<asio::io_context> context_{std::in_place};
  asio::executor_work_guard<asio::io_context::executor_type> work_ = asio::make_work_guard(*context_);
  std::thread thread_{[this] { context_->run(); }};
};

class Asio : public ::testing::Test {
 protected:
  Served served;
};

asio::awaitable<int> sum_of(AsioCaller caller, int count) {
  int sum = 0;
  for (int i = 0; i < count; ++i) {
    Result<int> got = co_await caller.call<add>(i, 1)(asio::use_awaitable);
    sum += got.value_or(-1000);
  }
  co_return sum;
}

TEST_F(Asio, ACoroutineAwaitsCalls) {
  RemoteLoop remote{served.url()};
  Context context;
  auto sum = asio::co_spawn(*context, sum_of(as_asio(remote.client()), 100), asio::use_future);
  EXPECT_EQ(sum.get(), 99 * 100 / 2 + 100);
}

TEST_F(Asio, HandlersGetFailuresAndValues) {
  RemoteLoop remote{served.url()};
  Context context;
  const auto caller = as_asio(remote.client());
  const Result<int> none = caller.call<weft::remote<"none", int()>>()(asio::use_future).get();
  EXPECT_EQ(none.status().code(), StatusCode::kUnimplemented);
  const CallOptions options{.timeout = 20ms};
  EXPECT_EQ(caller.call<&Silence::ask>(options)(asio::use_future).get().status().code(),
            StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(caller.call<nothing>()(asio::use_future).get().ok());
  EXPECT_EQ(caller.call<echoed>(std::string(100'000, 'x'))(asio::use_future).get().value().size(), 100'000u);
}

TEST_F(Asio, CoroutinesOfALoopAreRun) {
  const auto thread = LoopThread::start().value();
  const auto loop = as_asio(thread->loop());
  EXPECT_EQ(loop.run(&doubled, 21)(asio::use_future).get().value(), 42);
  const Status thrown = loop.run(&throws)(asio::use_future).get().status();
  EXPECT_NE(std::string{thrown.message()}.find("thrown on the loop"), std::string::npos)
      << thrown.to_string();
}

TEST_F(Asio, ACancellationSlotEndsACallAtAnyMoment) {
  RemoteLoop remote{served.url()};
  Context context;
  for (int round = 0; round < 200; ++round) {
    std::latch told{1};
    Status failure;
    asio::cancellation_signal signal;
    asio::post(*context, [&] {
      as_asio(remote.client())
          .call<&Silence::ask>()(
              asio::bind_cancellation_slot(signal.slot(), asio::bind_executor(*context, [&](Result<int> got) {
                                             failure = std::move(got).status();
                                             told.count_down();
                                           })));
      if (round % 2 == 0) signal.emit(asio::cancellation_type::terminal);
    });
    if (round % 2 != 0) {
      served.silence.await(1);
      asio::post(*context, [&] { signal.emit(asio::cancellation_type::total); });
    }
    told.wait();
    EXPECT_EQ(failure.code(), StatusCode::kCancelled);
  }
}

asio::awaitable<void> ask(AsioCaller caller, bool* went_on) {
  Result<int> got = co_await caller.call<&Silence::ask>()(asio::use_awaitable);
  *went_on = got.ok();
}

TEST_F(Asio, AContextThatEndsDropsItsCalls) {
  RemoteLoop remote{served.url()};
  bool went_on = false;
  {
    Context context;
    for (int i = 0; i < 20; ++i) {
      asio::co_spawn(*context, ask(as_asio(remote.client()), &went_on), asio::detached);
    }
    served.silence.await(20);
    context.end();
  }
  EXPECT_FALSE(went_on);
  EXPECT_EQ(as_asio(remote.client()).call<add>(1, 2)(asio::use_future).get().value(), 3);
}

TEST_F(Asio, AContextThatEndsWaitsForMemoryThatACallHas) {
  RemoteLoop remote{served.url()};
  auto bytes = pattern(4 << 20);
  Context context;
  const CallOptions options{.attachment = Bytes{bytes}};
  std::latch begun{1};
  asio::post(*context, [&] {
    as_asio(remote.client())
        .call<&Silence::ask>(options)(asio::bind_executor(*context, [](const Result<int>&) {}));
    begun.count_down();
  });
  begun.wait();
  context.end();
  bytes.clear();
  bytes.shrink_to_fit();
  EXPECT_EQ(as_asio(remote.client()).call<add>(1, 2)(asio::use_future).get().value(), 3);
}

TEST_F(Asio, ALoopThatStopsTellsItsHandlers) {
  auto remote = std::make_unique<RemoteLoop>(served.url());
  const auto caller = as_asio(remote->client());
  auto waits = caller.call<&Silence::ask>()(asio::use_future);
  served.silence.await(1);
  remote->stop();
  EXPECT_EQ(waits.get().status().code(), StatusCode::kCancelled);
  remote.reset();
  EXPECT_EQ(caller.call<add>(1, 2)(asio::use_future).get().status().code(), StatusCode::kCancelled);
}

Task<Result<void>> wait(asio::steady_timer* timer) {
  co_return co_await timer->async_wait(UseWeft{timer->get_executor()});
}

using Socket = asio::local::stream_protocol::socket;

Task<std::string> say_and_hear(Socket* here, std::string text) {
  Result<std::size_t> said =
      co_await asio::async_write(*here, asio::buffer(text), UseWeft{here->get_executor()});
  if (!said.ok()) co_return said.status().to_string();
  std::string heard(text.size(), ' ');
  Result<std::size_t> got =
      co_await asio::async_read(*here, asio::buffer(heard), UseWeft{here->get_executor()});
  co_return got.ok() ? heard : got.status().to_string();
}

TEST_F(Asio, ACoroutineOfWeftAwaitsTimersAndSockets) {
  const auto loop = Loop::create().value();
  Context context;
  asio::steady_timer timer{*context, 1ms};
  EXPECT_TRUE(loop->block_on(wait(&timer)).ok());
  Socket here{*context};
  Socket there{*context};
  asio::local::connect_pair(here, there);
  std::array<char, 5> echo{};
  asio::async_read(there, asio::buffer(echo), [&](const asio::error_code&, std::size_t) {
    asio::async_write(there, asio::buffer(echo), [](const asio::error_code&, std::size_t) {});
  });
  EXPECT_EQ(loop->block_on(say_and_hear(&here, "hello")), "hello");
  asio::post(*context, [&] { there.close(); });
  EXPECT_NE(loop->block_on(say_and_hear(&here, "again")).find("asio: "), std::string::npos);
}

Task<void> cancelled_wait(asio::steady_timer* timer, Result<void>* outcome) {
  *outcome = co_await wait(timer);
}

TEST_F(Asio, ACancelOfTheCoroutineEndsTheOperation) {
  const auto loop = Loop::create().value();
  Context context;
  for (int round = 0; round < 50; ++round) {
    asio::steady_timer timer{*context, std::chrono::hours{1}};
    Result<void> outcome;
    Scope scope;
    loop->post([&] { scope.spawn(&cancelled_wait, &timer, &outcome); });
    loop->run_once(0s);
    if (round % 2 != 0) {
      std::latch begun{1};
      asio::post(*context, [&] { begun.count_down(); });
      begun.wait();
    }
    loop->post([&] { scope.cancel(CancelReason::kRequested); });
    loop->block_on(scope.join());
    EXPECT_EQ(outcome.status().code(), StatusCode::kCancelled);
  }
}

TEST_F(Asio, ACoroutineThatIsDroppedLeavesTheOperation) {
  const auto loop = Loop::create().value();
  Context context;
  asio::steady_timer timer{*context, std::chrono::hours{1}};
  Result<void> outcome;
  Scope scope;
  loop->post([&] { scope.spawn(&cancelled_wait, &timer, &outcome); });
  loop->run_once(0s);
  scope.drop_all();
  std::latch gone{1};
  asio::post(*context, [&] { gone.count_down(); });
  gone.wait();
  loop->run_once(0s);
  EXPECT_TRUE(outcome.ok()) << "nobody wrote to it";
}

Task<void> wait_on(asio::steady_timer* timer, asio::any_io_executor executor, Result<void>* outcome) {
  *outcome = co_await timer->async_wait(UseWeft{std::move(executor)});
}

/// Outcome of a wait on an executor of a context that ends meanwhile, with the timer: nobody runs the
/// context, which would say so.
template <typename ExecutorOf>
Result<void> outcome_of_wait_on(ExecutorOf executor_of) {
  const auto loop = Loop::create().value();
  auto context = std::make_unique<asio::io_context>();
  Result<void> outcome;
  Scope scope;
  {
    asio::steady_timer timer{*context, std::chrono::hours{1}};
    loop->post([&] { scope.spawn(&wait_on, &timer, executor_of(*context), &outcome); });
    loop->run_once(0s);
    context->poll();
  }
  context.reset();
  loop->block_on(scope.join());
  return outcome;
}

TEST_F(Asio, AContextThatEndsTellsTheCoroutine) {
  const auto outcome = outcome_of_wait_on([](asio::io_context& context) { return context.get_executor(); });
  EXPECT_EQ(outcome.status().code(), StatusCode::kCancelled);
}
// A strand that outlives its context touches what is gone.
TEST_F(Asio, NoStrandOutlivesItsContext) {
  const auto outcome =
      outcome_of_wait_on([](asio::io_context& context) { return asio::make_strand(context); });
  EXPECT_EQ(outcome.status().code(), StatusCode::kCancelled);
}

TEST_F(Asio, ACancelMeetsTheEndOfTheContext) {
  const auto loop = Loop::create().value();
  for (int round = 0; round < 200; ++round) {
    auto context = std::make_unique<asio::io_context>();
    Result<void> outcome;
    Scope scope;
    {
      asio::steady_timer timer{*context, std::chrono::hours{1}};
      loop->post([&] { scope.spawn(&wait_on, &timer, asio::make_strand(*context), &outcome); });
      loop->run_once(0s);
      if (round % 2 == 0) context->poll();
    }
    std::latch both{2};
    std::thread ends{[&] {
      both.arrive_and_wait();
      context.reset();
    }};
    loop->post([&] {
      both.arrive_and_wait();
      scope.cancel(CancelReason::kRequested);
    });
    loop->block_on(scope.join());
    ends.join();
    EXPECT_EQ(outcome.status().code(), StatusCode::kCancelled);
  }
}

// The handler's strand goes with the context, though the call, whose loop this thread drives, ends later.
TEST_F(Asio, AContextThatEndsOnTheLoopsThreadDoesNotWaitForIt) {
  const auto loop = Loop::create().value();
  Client client{*loop, {.connect = served.url()}};
  auto context = std::make_unique<asio::io_context>();
  auto bytes = pattern(4 << 20);
  const CallOptions options{.attachment = Bytes{bytes}};
  bool called = false;
  loop->post([&] {
    as_asio(client).call<&Silence::ask>(options)(
        asio::bind_executor(asio::make_strand(*context), [&](const Result<int>&) { called = true; }));
  });
  loop->run_once(0s);
  loop->post([&] { context.reset(); });
  loop->run_once(0s);
  EXPECT_EQ(context, nullptr);
  client.close();
  EXPECT_FALSE(called);
}

}  // namespace
}  // namespace weft::testing::asio_tests
