// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <latch>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>
#include <weft/weft.hpp>

#include "support/pattern.hpp"

namespace weft::testing {

using namespace std::chrono_literals;

inline std::string echoed(std::string_view text) {
  return std::string{text};
}
inline int add(int a, int b) {
  return a + b;
}
inline void nothing() {}
inline std::string tenant(CallContext& context) {
  std::string text;
  for (const auto& [key, value] : context.metadata())
    text += std::string{key} + "=" + std::string{value} + ";";
  return text;
}
/// Milliseconds until the caller gives up; zero for one without a deadline.
inline std::int64_t time_left(CallContext& context) {
  if (context.deadline().is_infinite()) return 0;
  return context.deadline().remaining(Loop::current()->now()) / 1ms;
}
inline std::size_t with_attachment(CallContext& context) {
  context.set_attachment(Buffer::copy_of(context.attachment()));
  return context.attachment().size();
}

/// Calls that nobody answers, until it ends.
class Silence {
 public:
  // With a context it takes attachments.
  void ask(Reply<int> reply, CallContext&) {
    {
      const std::lock_guard lock{mutex_};
      if (!over_) owed_.push_back(std::move(reply));
    }
    asked.fetch_add(1);
    asked.notify_all();
  }
  /// Blocks until so many calls are there.
  void await(int calls) const {
    for (int now = asked.load(); now < calls; now = asked.load()) asked.wait(now);
  }
  /// The reply of the call with this number, in the order of arrival. Valid until end().
  const Reply<int>& owed(std::size_t number) {
    const std::lock_guard lock{mutex_};
    return owed_.at(number);
  }
  void end() {
    const std::lock_guard lock{mutex_};
    over_ = true;
    owed_.clear();
  }

  std::atomic<int> asked{0};

 private:
  std::mutex mutex_;
  std::deque<Reply<int>> owed_;
  bool over_ = false;
};

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

/// A server on a thread of its own.
class Served {
 public:
  Served() {
    server_.register_handler<echoed, add, nothing, tenant, time_left, with_attachment>();
    server_.register_handler<&Silence::ask>(&silence);
    server_.start().value();
  }
  ~Served() { silence.end(); }
  std::string url() const { return server_.urls().front(); }
  Server& server() { return server_; }

  Silence silence;

 private:
  Server server_{{.listen = {"tcp://127.0.0.1:0"}, .threads = 1}};
};

/// A client on a loop that another thread runs.
class RemoteLoop {
 public:
  explicit RemoteLoop(const std::string& url, ClientOptions options = {}) {
    options.connect = url;
    client_ = std::make_unique<Client>(loop(), std::move(options));
  }
  ~RemoteLoop() { thread_->stop(); }

  Loop& loop() { return thread_->loop(); }
  Client& client() { return *client_; }
  /// Ends the thread; the client stays.
  void stop() { thread_->stop(); }
  void end_client() {
    run_on(loop(), [this] { client_.reset(); });
  }

 private:
  std::unique_ptr<LoopThread> thread_ = LoopThread::start().value();
  std::unique_ptr<Client> client_;
};

}  // namespace weft::testing
