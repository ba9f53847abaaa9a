// SPDX-License-Identifier: Apache-2.0
// CR-6, CR-13: a URL that can never work fails each call at once, on whatever it is called: clients, pools
// and fleets, whose list comes from their name or from a file, from coroutines and from threads that block.
// The clock of the loop stands still, so that a call that waits never ends.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "integration/rpc/rpc_testing.hpp"
#include "support/manual_time.hpp"
#include "weft/blocking_client.hpp"
#include "weft/detail/fleet/blocking_fleet.hpp"
#include "weft/fleet.hpp"

namespace weft::testing::dead_urls_tests {
namespace {

using ::testing::HasSubstr;

int decrement(int number) {
  return number - 1;
}
Stream<int> count_down_from(int number) {
  while (number > 0) co_yield number--;
}

/// A URL without a scheme, one of an unknown scheme, one with an invalid port, and an empty one.
constexpr const char* kDeadUrls[] = {"127.0.0.1", "smoke://signals:1", "tcp://127.0.0.1:99999", ""};
/// URLs of transports that do not exist. A list of endpoints may contain them.
constexpr const char* kDeadEndpoints[] = {"smoke://signals:1", "carrier-pigeon://loft:7"};

constexpr int kCalls = 50;

/// A file of endpoints, one in a line.
class EndpointFile {
 public:
  EndpointFile() { write({}); }
  ~EndpointFile() { std::filesystem::remove(path_); }
  EndpointFile(const EndpointFile&) = delete;
  EndpointFile& operator=(const EndpointFile&) = delete;

  void write(const std::vector<std::string>& urls) const {
    const std::string next = path_ + ".next";
    {
      std::ofstream file{next};
      for (const std::string& url : urls) file << url << "\n";
    }
    std::filesystem::rename(next, path_);
  }
  std::string name() const { return "file:" + path_; }

 private:
  const std::string path_ = ::testing::TempDir() + "weft_dead_urls_" + std::to_string(::getpid());
};

/// Base of the tests, so that its clock outlives the loop.
struct StoppedClock {
  ManualClock clock;
};

class DeadUrls : protected StoppedClock, public RpcTest {
 protected:
  DeadUrls() : RpcTest(LoopOptions{.clock = &(StoppedClock::clock)}) {}
  ~DeadUrls() override { fleets_.clear(); }

  FleetClient& fleet(std::string name, bool waits_for_ready = true) {
    FleetOptions options{.name = std::move(name)};
    options.waits_for_ready = waits_for_ready;
    fleets_.push_back(std::make_unique<FleetClient>(loop(), std::move(options)));
    return *fleets_.back();
  }

  /// Outcome of a call, which is there although no time passes.
  template <typename C>
  Status outcome_of_call(C& caller) {
    std::optional<Status> outcome;
    Scope scope;
    scope.spawn(&DeadUrls::keep_outcome<C>, &caller, &outcome);
    EXPECT_TRUE(turn_until(loop(), [&] { return outcome.has_value(); })) << "a call waits";
    return outcome.value_or(Status{});
  }
  template <typename C>
  static Task<void> keep_outcome(C* caller, std::optional<Status>* outcome) {
    const Result<int> result = co_await caller->template call<decrement>(1);
    *outcome = result.status();
  }

  template <typename C>
  void expect_each_call_fails_at_once(C& caller, const std::string& way) {
    const TimePoint began = loop().now();
    for (int i = 0; i < kCalls; ++i) {
      const Status failure = outcome_of_call(caller);
      ASSERT_EQ(failure.code(), StatusCode::kInvalidArgument) << way << ", call " << i << failure.to_string();
      EXPECT_FALSE(failure.message().empty()) << way;
    }
    EXPECT_EQ(loop().now(), began);
  }

 private:
  std::vector<std::unique_ptr<FleetClient>> fleets_;
};

TEST_F(DeadUrls, FailEachCallOfAClientAndOfAPoolAtOnce) {
  for (const char* url : kDeadUrls) {
    expect_each_call_fails_at_once(client(url), std::string{"a client of '"} + url + "'");
    ConnectionPool pool{loop(), {.client = {.connect = url}}};
    expect_each_call_fails_at_once(pool, std::string{"a pool of '"} + url + "'");
  }
}

TEST_F(DeadUrls, FailEachCallOfAFleetThatNamesThemAtOnce) {
  for (const char* url : kDeadUrls) {
    expect_each_call_fails_at_once(fleet(std::string{"static:"} + url),
                                   std::string{"a fleet of '"} + url + "'");
  }
  expect_each_call_fails_at_once(fleet("static:smoke://signals:1,carrier-pigeon://loft:7"), "a fleet of two");
}

TEST_F(DeadUrls, FailEachCallOfAFleetWhoseFileHasNothingElseAtOnce) {
  for (const bool waits_for_ready : {true, false}) {
    EndpointFile file;
    file.write({kDeadEndpoints[0], kDeadEndpoints[1]});
    FleetClient& its = fleet(file.name(), waits_for_ready);
    expect_each_call_fails_at_once(its, waits_for_ready ? "waits for ready" : "fails when unready");
    // A server in the file is called, and the dead URL beside it does no harm.
    Server& server = serve({.threads = 1}, [](Server& each) { each.register_handler<decrement>(); });
    const auto outcome_later = [&] {
      pass(loop(), clock, 1s);  // a changed file is read a little later
      return outcome_of_call(its);
    };
    file.write({kDeadEndpoints[0], server.urls().front()});
    ASSERT_TRUE(turn_until(loop(), [&] { return outcome_later().ok(); }));
    for (int i = 0; i < kCalls; ++i) {
      const Status outcome = outcome_of_call(its);
      ASSERT_TRUE(outcome.ok()) << i << ": " << outcome.to_string();
    }
    file.write({kDeadEndpoints[1]});
    ASSERT_TRUE(turn_until(loop(), [&] { return !outcome_later().ok(); }));
    expect_each_call_fails_at_once(its, "dead URLs again");
  }
}

/// Bodies of files that no list can be made of.
TEST_F(DeadUrls, OfAFileThatIsRefusedFailEachCallOfAFleetThatDoesNotWaitAtOnce) {
  for (const char* line : {"127.0.0.1", "tcp://127.0.0.1:99999"}) {
    EndpointFile file;
    file.write({line});
    expect_each_call_fails_at_once(fleet(file.name(), false), line);
  }
}

/// Outcomes of calls on a thread that blocks.
template <typename C>
void expect_thread_is_told(C& caller, const std::string& way) {
  for (int i = 0; i < kCalls; ++i) {
    const Status failure = caller.template call<decrement>(1).status();
    ASSERT_EQ(failure.code(), StatusCode::kInvalidArgument) << way << ", call " << i << failure.to_string();
    EXPECT_FALSE(failure.message().empty()) << way;
  }
  for (int i = 0; i < kCalls; ++i) {
    if constexpr (requires { caller.template open<count_down_from>(1); }) {
      auto stream = caller.template open<count_down_from>(1);
      EXPECT_FALSE(stream.next()) << way;
      EXPECT_EQ(stream.status().code(), StatusCode::kInvalidArgument) << way << stream.status().to_string();
    }
  }
}

/// A loop of another thread, whose clock stands still.
class StoppedThread : protected StoppedClock {
 public:
  StoppedThread() : thread_(LoopThread::start({.loop = {.clock = &(StoppedClock::clock)}}).value()) {}
  LoopThread& thread() { return *thread_; }

 private:
  std::unique_ptr<LoopThread> thread_;
};

TEST(DeadUrlsOfThreads, FailEachCallOfABlockingClientAtOnce) {
  for (const char* url : kDeadUrls) {
    BlockingClient its{{.connect = url, .call_timeout = 60s}};
    const auto began = std::chrono::steady_clock::now();
    expect_thread_is_told(its, std::string{"a blocking client of '"} + url + "'");
    // With the pauses between attempts, which grow to a second, they would take a minute and a half.
    EXPECT_LT(std::chrono::steady_clock::now() - began, 20s) << url;
  }
}

TEST(DeadUrlsOfThreads, FailEachCallOverAClientPoolOrFleetAtOnce) {
  StoppedThread stopped;
  LoopThread& thread = stopped.thread();
  for (const char* url : kDeadUrls) {
    std::unique_ptr<Client> client;
    std::unique_ptr<ConnectionPool> pool;
    std::unique_ptr<FleetClient> fleet;
    run_on(thread.loop(), [&] {
      client = std::make_unique<Client>(thread.loop(), ClientOptions{.connect = url});
      pool = std::make_unique<ConnectionPool>(thread.loop(), PoolOptions{.client = {.connect = url}});
      fleet =
          std::make_unique<FleetClient>(thread.loop(), FleetOptions{.name = std::string{"static:"} + url});
    });
    BlockingCaller of_client = blocking(*client);
    BlockingCaller of_pool = blocking(*pool);
    BlockingFleet of_fleet = blocking(*fleet);
    expect_thread_is_told(of_client, std::string{"a client of '"} + url + "'");
    expect_thread_is_told(of_pool, std::string{"a pool of '"} + url + "'");
    expect_thread_is_told(of_fleet, std::string{"a fleet of '"} + url + "'");
    run_on(thread.loop(), [&] {
      fleet.reset();
      pool.reset();
      client.reset();
    });
  }
}

TEST(DeadUrlsOfThreads, FailEachCallOverAFleetWhoseFileHasNothingElseAtOnce) {
  StoppedThread stopped;
  LoopThread& thread = stopped.thread();
  EndpointFile file;
  file.write({kDeadEndpoints[0], kDeadEndpoints[1]});
  std::unique_ptr<FleetClient> fleet;
  run_on(thread.loop(),
         [&] { fleet = std::make_unique<FleetClient>(thread.loop(), FleetOptions{.name = file.name()}); });
  BlockingFleet of_fleet = blocking(*fleet);
  expect_thread_is_told(of_fleet, "a fleet of a file");
  run_on(thread.loop(), [&] { fleet.reset(); });
}

}  // namespace
}  // namespace weft::testing::dead_urls_tests
