// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <latch>
#include <memory>
#include <string>
#include <utility>
#include <vector>
#include <weft/weft.hpp>

#include "support/pattern.hpp"
#include "weft/detail/coro/event.hpp"

namespace weft::testing {

using namespace std::chrono_literals;

inline constexpr const char* kAnyPort = "tcp://127.0.0.1:0";

inline Bytes bytes_of(std::string_view text) {
  return as_bytes(text);
}

/// Turns the loop until `condition` holds. False when it does not within a time that is never needed.
template <typename Condition>
bool turn_until(Loop& loop, Condition condition) {
  const auto patience = std::chrono::steady_clock::now() + 30s;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > patience) return false;
    loop.run_once(5ms);
  }
  return true;
}

/// Runs `work` on a loop of another thread and waits for it.
template <typename Work>
void run_on(Loop& loop, Work work) {
  std::latch done{1};
  loop.post([&] {
    work();
    done.count_down();
  });
  done.wait();
}

/// Waits for the outcomes of calls that were started, in order.
template <typename R>
Task<std::vector<Result<R>>> await_all(std::vector<Call<R>>& calls) {
  std::vector<Result<R>> results;
  for (Call<R>& call : calls) results.push_back(co_await std::move(call));
  co_return results;
}

/// The client's loop, and servers that run on it or on threads of their own.
class RpcTest : public ::testing::Test {
 protected:
  explicit RpcTest(const LoopOptions& options = {}) : loop_(Loop::create(options).value()) {}
  Loop& loop() { return *loop_; }

  /// A server that `fill` gave its handlers, started.
  template <typename Fill>
  Server& serve(ServerOptions options, Fill fill) {
    if (options.listen.empty()) options.listen = {kAnyPort};
    servers_.push_back(std::make_unique<Server>(std::move(options), transport_options));
    fill(*servers_.back());
    servers_.back()->start().value();
    return *servers_.back();
  }
  /// A server on the client's own loop: everything runs on one thread, over sockets all the same.
  template <typename Fill>
  Server& serve_here(Fill fill) {
    return serve_here({}, fill);
  }
  template <typename Fill>
  Server& serve_here(ServerOptions options, Fill fill) {
    options.threads = 0;
    options.loop = &loop();
    return serve(std::move(options), fill);
  }

  Client& client(const std::string& url, ClientOptions options = {}) {
    options.connect = url;
    clients_.push_back(std::make_unique<Client>(loop(), std::move(options), transport_options));
    return *clients_.back();
  }
  Client& client(const Server& server, ClientOptions options = {}) {
    return client(server.urls().front(), std::move(options));
  }

  template <auto M, typename... Arguments>
  auto call(Client& client, Arguments&&... arguments) {
    auto later = client.template start<M>(std::forward<Arguments>(arguments)...);
    return wait_for(std::move(later));
  }
  template <typename R>
  Result<R> wait_for(Call<R> call) {
    return loop().block_on(wait(std::move(call)));
  }
  template <typename R>
  Result<Answer<R>> wait_for_answer(Call<R> call) {
    return loop().block_on(wait_answer(std::move(call)));
  }
  Result<void> connect(Client& client) { return loop().block_on(client.connect()); }

  /// Options of what is made from now on.
  TransportOptions transport_options;

 private:
  template <typename R>
  static Task<Result<R>> wait(Call<R> call) {
    Result<R> result = co_await std::move(call);
    co_return result;
  }
  template <typename R>
  static Task<Result<Answer<R>>> wait_answer(Call<R> call) {
    Result<Answer<R>> result = co_await std::move(call).with_attachment();
    co_return result;
  }

  std::unique_ptr<Loop> loop_;
  std::vector<std::unique_ptr<Server>> servers_;
  std::vector<std::unique_ptr<Client>> clients_;
};

}  // namespace weft::testing
