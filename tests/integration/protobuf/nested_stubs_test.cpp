// SPDX-License-Identifier: Apache-2.0
// CR-21: blocking services that call services of the same server by stubs that block do not starve each
// other.
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "dropin.pb.h"
#include "integration/protobuf/services_testing.hpp"
#include "weft/detail/fleet/protobuf/fleet_channel.hpp"
#include "weft/detail/protobuf/channel.hpp"

namespace weft::testing::nested_stubs_tests {
namespace {

using ::testing::HasSubstr;

/// Runs `work` on the thread of `thread`, and waits for it.
template <typename Work>
void run_there(LoopThread& thread, Work work) {
  run_on(thread.loop(), std::move(work));
}

/// A client or a fleet with a channel, on a loop of their own.
template <typename C>
class ChannelThread {
 public:
  explicit ChannelThread(const std::string& url) {
    run_there(*thread_, [&] {
      if constexpr (std::is_same_v<C, FleetClient>) {
        caller_ = std::make_unique<C>(thread_->loop(), FleetOptions{.name = "static:" + url});
        channel_ = std::make_unique<protobuf::FleetChannel>(*caller_);
      } else {
        caller_ = std::make_unique<C>(thread_->loop(), ClientOptions{.connect = url});
        channel_ = std::make_unique<protobuf::Channel>(*caller_);
      }
    });
  }
  ~ChannelThread() {
    run_there(*thread_, [this] {
      channel_.reset();
      caller_.reset();
    });
  }
  google::protobuf::RpcChannel& channel() { return *channel_; }

 private:
  std::unique_ptr<LoopThread> thread_ = LoopThread::start().value();
  std::unique_ptr<C> caller_;
  std::unique_ptr<google::protobuf::RpcChannel> channel_;
};

/// Asks itself, by a stub that blocks, for one level less than it is asked for; answers with the levels.
class Descending : public dropin::RelayService {
 public:
  void RelayEcho(google::protobuf::RpcController* controller, const dropin::EchoRequest* request,
                 dropin::EchoResponse* response, google::protobuf::Closure* done) override {
    note_thread();
    const int depth = std::stoi(request->text());
    if (depth == 0) {
      response->set_text("0");
      return done->Run();
    }
    dropin::RelayService_Stub stub{next};
    dropin::EchoRequest below;
    below.set_text(std::to_string(depth - 1));
    dropin::EchoResponse answer;
    protobuf::Controller nested;
    stub.RelayEcho(&nested, &below, &answer, nullptr);
    if (nested.Failed()) {
      dynamic_cast<protobuf::Controller&>(*controller).fail(nested.status());
    } else {
      response->set_text(std::to_string(std::stoi(answer.text()) + 1));
    }
    done->Run();
  }
  std::size_t threads() {
    const std::lock_guard lock{mutex_};
    return threads_.size();
  }

  google::protobuf::RpcChannel* next = nullptr;

 private:
  void note_thread() {
    const std::lock_guard lock{mutex_};
    threads_.insert(std::this_thread::get_id());
  }

  std::mutex mutex_;
  std::set<std::thread::id> threads_;
};

/// A server of the blocking service, which calls the same server.
template <typename C>
class DescendingServer {
 public:
  explicit DescendingServer(ServerOptions options) {
    options.listen = {kAnyPort};
    server_ = std::make_unique<Server>(std::move(options));
    protobuf::Services services{*server_};
    services.add(service, {.blocking = true});
    server_->start().value();
    self_ = std::make_unique<ChannelThread<C>>(url());
    service.next = &self_->channel();
  }
  ~DescendingServer() {
    server_->stop();
    server_->wait();
  }
  std::string url() const { return server_->urls().front(); }

  Descending service;

 private:
  std::unique_ptr<Server> server_;
  std::unique_ptr<ChannelThread<C>> self_;
};

/// Outcome of one thread's call.
struct Level {
  Status status;
  std::string text;
};

/// Two clients with `callers` threads each call at the same time; returns all outcomes.
template <typename C>
std::vector<Level> call_from_two(const std::string& url, int depth, std::size_t callers) {
  ChannelThread<C> first{url};
  ChannelThread<C> second{url};
  std::vector<Level> levels(2 * callers);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    threads.emplace_back([&, i] {
      dropin::RelayService_Stub stub{i % 2 == 0 ? &first.channel() : &second.channel()};
      dropin::EchoRequest request;
      request.set_text(std::to_string(depth));
      dropin::EchoResponse response;
      protobuf::Controller controller;
      controller.options().timeout = 60s;
      stub.RelayEcho(&controller, &request, &response, nullptr);
      levels[i] = {controller.status(), response.text()};
    });
  }
  for (std::thread& thread : threads) thread.join();
  return levels;
}

template <typename C>
class NestedStubs : public ::testing::Test {};
using CallersOfStubs = ::testing::Types<Client, FleetClient>;
TYPED_TEST_SUITE(NestedStubs, CallersOfStubs);

TYPED_TEST(NestedStubs, CallsOfEachDepthSucceedOnABoundedNumberOfThreads) {
  for (const int depth : {1, 2, 3}) {
    DescendingServer<TypeParam> server{{.worker_threads = 4}};
    for (const Level& level : call_from_two<TypeParam>(server.url(), depth, 8)) {
      ASSERT_TRUE(level.status.ok()) << level.status.to_string();
      EXPECT_EQ(level.text, std::to_string(depth));
    }
    EXPECT_LE(server.service.threads(), ServerOptions{}.worker_threads_max);
    // One thread for each call that waits, and the four.
    EXPECT_LE(server.service.threads(), 16u * static_cast<std::size_t>(depth) + 4);
  }
}

TYPED_TEST(NestedStubs, OneWorkerIsEnoughForAll) {
  DescendingServer<TypeParam> server{{.worker_threads = 1}};
  for (const Level& level : call_from_two<TypeParam>(server.url(), 3, 2)) {
    ASSERT_TRUE(level.status.ok()) << level.status.to_string();
  }
}

TYPED_TEST(NestedStubs, OverTheMaximumACallFailsAtOnceWithWords) {
  // A depth of four needs five threads, so that even a call alone finds too few.
  DescendingServer<TypeParam> server{{.worker_threads = 2, .worker_threads_max = 4}};
  for (const Level& level : call_from_two<TypeParam>(server.url(), 4, 4)) {
    EXPECT_EQ(level.status.code(), StatusCode::kResourceExhausted) << level.status.to_string();
    EXPECT_THAT(level.status.to_string(), HasSubstr("ServerOptions::worker_threads_max"));
  }
  EXPECT_LE(server.service.threads(), 4u);
  // The workers are free again.
  for (const Level& level : call_from_two<TypeParam>(server.url(), 1, 1)) {
    EXPECT_TRUE(level.status.ok()) << level.status.to_string();
  }
}

}  // namespace
}  // namespace weft::testing::nested_stubs_tests
