// SPDX-License-Identifier: Apache-2.0
// A callback destroys a stream on which a coroutine waits.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>
#include <weft/weft.hpp>

#include "weft/detail/coro/event.hpp"

namespace weft::testing::destroyed_stream {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kAttachmentBytes = std::size_t{4} << 20;

int add(int number) {
  return number + 1;
}
Stream<int> send_nothing() {
  Event event;
  [[maybe_unused]] const Result<void> told = co_await event.wait();
  co_yield 0;
}
Stream<int> count_up(int number) {
  for (int i = 0; i < number; ++i) co_yield i;
}
Task<int> read_nothing(Reader<int>&) {
  Event event;
  [[maybe_unused]] const Result<void> told = co_await event.wait();
  co_return 0;
}
Task<int> sum_up(Reader<int>& numbers) {
  int sum = 0;
  while (auto number = co_await numbers.next()) sum += *number;
  co_return sum;
}

/// Calls a function after each stream or call of its client.
class After final : public ClientInterceptor {
 public:
  void after(const EndedCall&) noexcept override {
    if (call) call();
  }
  std::function<void()> call;
};

/// The end of a stream as its coroutine saw it.
struct Seen {
  int items = 0;
  bool ended = false;
  StatusCode code = StatusCode::kOk;
};

template <typename OpenStream>
Task<void> read_items(OpenStream* stream, Seen* seen) {
  while (const auto item = co_await stream->next()) ++seen->items;
  seen->ended = true;
}
template <typename OpenStream>
Task<void> write_items(OpenStream* stream, Seen* seen) {
  bool goes_on = true;
  while (goes_on) {
    const bool written = co_await stream->write(1);
    if (written) ++seen->items;
    goes_on = written;
  }
  seen->ended = true;
}
template <typename OpenStream>
Task<void> finish(OpenStream* stream, Seen* seen) {
  const auto outcome = co_await stream->finish();
  seen->code = outcome.status().code();
  seen->ended = true;
}
Task<void> write_bytes(StreamOf<sum_up>* upload, Buffer bytes, Seen* seen) {
  const bool written = co_await upload->write(1, std::move(bytes));
  if (written) ++seen->items;
  seen->ended = true;
}

class DestroyedStream : public ::testing::Test {
 protected:
  DestroyedStream() {
    ServerOptions options;
    options.listen = {"tcp://127.0.0.1:0"};
    options.threads = 0;
    options.loop = loop_.get();
    server_ = std::make_unique<Server>(std::move(options));
    server_->register_handler<add, send_nothing, count_up, read_nothing, sum_up>();
    server_->start().value();
    make_client();
  }
  ~DestroyedStream() override {
    after_->call = nullptr;
    client_.reset();
    server_->stop(0s);
    EXPECT_TRUE(turn_until([this] { return server_->stopped(); }));
  }

  template <typename Condition>
  bool turn_until(Condition condition) {
    const auto patience = std::chrono::steady_clock::now() + 30s;
    while (!condition() && std::chrono::steady_clock::now() < patience) loop_->run_once(1ms);
    return condition();
  }
  void turn(int times) {
    for (int i = 0; i < times; ++i) loop_->run_once(Duration::zero());
  }
  void expect_calls_go_on() {
    make_client();
    for (int i = 0; i < 100; ++i) EXPECT_EQ(loop_->block_on(client_->call<add>(i)).value(), i + 1);
    EXPECT_EQ(client_->stats().calls_in_flight, 0u);
    EXPECT_TRUE(turn_until([this] { return server_->stats().calls_running == 0; }));
  }

  /// Opens a stream by `open`, lets `wait` wait on the stream, and destroys the stream from each place.
  template <typename Open, typename Wait>
  void destroy_while_waiting(Open open, Wait wait, StatusCode expected) {
    using OpenStream = decltype(open());
    enum class From { kOutside, kPostedWork, kItsOwnAfter, kAfterOfALostConnection };
    for (const From from :
         {From::kOutside, From::kPostedWork, From::kItsOwnAfter, From::kAfterOfALostConnection}) {
      for (int turns = 0; turns < 12; ++turns) {
        SCOPED_TRACE("from " + std::to_string(static_cast<int>(from)) + " after " + std::to_string(turns) +
                     " turns");
        make_client();
        std::optional<OpenStream> stream{std::in_place, open()};
        Seen seen;
        Scope scope;
        scope.spawn(wait, &*stream, &seen);
        turn(turns);
        ASSERT_FALSE(seen.ended);
        after_->call = [&] { stream.reset(); };
        switch (from) {
          case From::kOutside:
            stream.reset();
            break;
          case From::kPostedWork:
            loop_->post([&] { stream.reset(); });
            break;
          case From::kItsOwnAfter:
            loop_->post([&] { stream->cancel(); });
            break;
          case From::kAfterOfALostConnection:
            loop_->post([&] { client_->close(); });
            break;
        }
        ASSERT_TRUE(turn_until([&] { return seen.ended; }));
        EXPECT_FALSE(stream);
        EXPECT_EQ(scope.count(), 0u);
        EXPECT_EQ(seen.code, expected);
      }
    }
    expect_calls_go_on();
  }
  /// Lets `wait` wait on a stream, and destroys the client of the stream outside of a turn, or in one.
  template <typename Open, typename Wait>
  void destroy_the_client_while_waiting(Open open, Wait wait) {
    using OpenStream = decltype(open());
    for (const bool in_turn : {false, true}) {
      for (int turns = 0; turns < 12; ++turns) {
        SCOPED_TRACE((in_turn ? "in a turn after " : "after ") + std::to_string(turns));
        make_client();
        std::optional<OpenStream> stream{std::in_place, open()};
        Seen seen;
        Scope scope;
        scope.spawn(wait, &*stream, &seen);
        turn(turns);
        if (in_turn) loop_->post([&] { client_.reset(); });
        if (!in_turn) client_.reset();
        ASSERT_TRUE(turn_until([&] { return seen.ended; }));
        EXPECT_EQ(stream->status().code(), StatusCode::kCancelled);
      }
    }
    expect_calls_go_on();
  }
  /// Lets `wait` wait on a stream, and destroys the coroutine before it is resumed, or before the stream.
  template <typename Open, typename Wait>
  void destroy_with_its_coroutine(Open open, Wait wait) {
    using OpenStream = decltype(open());
    struct Ignored : detail::Completion {
      Ignored() : Completion{[](detail::Completion&, detail::TaskPromiseBase&) noexcept {}} {}
    };
    for (const bool stream_first : {true, false}) {
      for (int turns = 1; turns < 12; ++turns) {
        make_client();
        std::optional<OpenStream> stream{std::in_place, open()};
        Seen seen;
        Ignored ended;
        std::optional<Task<void>> task;
        bool destroyed = false;
        loop_->post([&] { detail::start(task.emplace(wait(&*stream, &seen)), nullptr, ended); });
        turn(turns);
        loop_->post([&] {
          if (!stream_first) task.reset();
          stream.reset();
          task.reset();
          destroyed = true;
        });
        ASSERT_TRUE(turn_until([&] { return destroyed; }));
        turn(3);
        EXPECT_FALSE(seen.ended);
      }
    }
    expect_calls_go_on();
  }
  void make_client() {
    ClientOptions options{.connect = server_->urls().front()};
    options.interceptors = {after_};
    after_->call = nullptr;
    client_ = std::make_unique<Client>(*loop_, std::move(options));
    loop_->block_on(client_->connect()).value();
  }

  std::unique_ptr<Loop> loop_ = Loop::create().value();
  std::shared_ptr<After> after_ = std::make_shared<After>();
  std::unique_ptr<Server> server_;
  std::unique_ptr<Client> client_;
};

TEST_F(DestroyedStream, WhileACoroutineReadsIt) {
  const auto open = [this] { return client_->open<send_nothing>(); };
  destroy_while_waiting(open, &read_items<StreamOf<send_nothing>>, StatusCode::kOk);
  destroy_with_its_coroutine(open, &read_items<StreamOf<send_nothing>>);
}

// The window of the reader is full: write() waits.
TEST_F(DestroyedStream, WhileACoroutineWritesToIt) {
  const auto open = [this] { return client_->open<read_nothing>(); };
  destroy_while_waiting(open, &write_items<StreamOf<read_nothing>>, StatusCode::kOk);
  destroy_with_its_coroutine(open, &write_items<StreamOf<read_nothing>>);
}

TEST_F(DestroyedStream, WhileACoroutineAwaitsItsEnd) {
  const auto open = [this] { return client_->open<read_nothing>(); };
  destroy_while_waiting(open, &finish<StreamOf<read_nothing>>, StatusCode::kCancelled);
  destroy_with_its_coroutine(open, &finish<StreamOf<read_nothing>>);
}

TEST_F(DestroyedStream, OutlivesItsClientWhileACoroutineWaits) {
  const auto open_silent = [this] { return client_->open<send_nothing>(); };
  destroy_the_client_while_waiting(open_silent, &read_items<StreamOf<send_nothing>>);
  destroy_the_client_while_waiting(open_silent, &finish<StreamOf<send_nothing>>);
  const auto open_full = [this] { return client_->open<read_nothing>(); };
  destroy_the_client_while_waiting(open_full, &write_items<StreamOf<read_nothing>>);
  destroy_the_client_while_waiting(open_full, &finish<StreamOf<read_nothing>>);
}

// The items arrive at once: the reader is in the middle of its work, or gives way to others.
TEST_F(DestroyedStream, WhileItsItemsArriveWithoutAPause) {
  const auto open = [this] { return client_->open<count_up>(1'000'000'000); };
  destroy_while_waiting(open, &read_items<StreamOf<count_up>>, StatusCode::kOk);
  destroy_with_its_coroutine(open, &read_items<StreamOf<count_up>>);
}

// The write is cancelled when nothing, a part, or all of the attachment has been sent.
TEST_F(DestroyedStream, ByTheReleaseOfAnItemsAttachment) {
  std::vector<std::byte> bytes(kAttachmentBytes);
  for (int turns = 0; turns < 24; ++turns) {
    for (const bool in_turn : {false, true}) {
      std::optional<StreamOf<sum_up>> upload;
      std::function<void()> destroy = [&] { upload.reset(); };
      Buffer buffer = Buffer::adopt(
          bytes, &destroy, [](void* owner) noexcept { (*static_cast<std::function<void()>*>(owner))(); });
      upload.emplace(client_->open<sum_up>());
      Seen seen;
      Scope scope;
      scope.spawn(&write_bytes, &*upload, std::move(buffer), &seen);
      turn(turns);
      bool cancelled = false;
      const auto cancel = [&] {
        cancelled = true;
        scope.cancel(CancelReason::kRequested);
      };
      if (in_turn) {
        loop_->post(cancel);
      } else {
        cancel();
      }
      ASSERT_TRUE(turn_until([&] { return cancelled && !upload && seen.ended; })) << turns;
    }
  }
  expect_calls_go_on();
}

}  // namespace
}  // namespace weft::testing::destroyed_stream
