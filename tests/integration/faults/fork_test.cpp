// SPDX-License-Identifier: Apache-2.0
// Faults, part "lifetime": a child of fork inherits everything and must change nothing of its parent's.
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <latch>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>
#include <weft/weft.hpp>

#include "integration/faults/faults_testing.hpp"
#include "weft/detail/base/descriptor.hpp"
#include "weft/detail/coro/event.hpp"

namespace weft::faults {
namespace {

/// Its calls are under way when the process is doubled.
struct Gate {
  Event event;
  Task<int> pass(std::uint32_t) {
    [[maybe_unused]] const Result<void> opened = co_await event.wait();
    co_return 7;
  }
};

Stream<int> count_to(int last) {
  for (int next = 1; next <= last; ++next) co_yield next;
}

std::size_t length_of(std::string_view text) {
  return text.size();
}

/// Doubles the process in the middle of what the loop does with the bytes that came. The child goes on as if
/// it were the parent, who waits meanwhile.

int fork_and_go_on(int) {
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit no_core{0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    ::alarm(20);
    return 1;
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT ? 2 : 3;
}

/// A poller that the server keeps for each loop, with a descriptor among the loop's.
class Asked final : public Poller {
 public:
  explicit Asked(Loop&) {}
  std::size_t poll() override { return 0; }
  bool arm() override { return true; }
  int descriptor() const override { return event_.get(); }

 private:
  detail::Descriptor event_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
};

/// A server and a client, over TCP and over a Unix socket. Everything is the parent's.
struct World {
  explicit World(PollerKind poller, unsigned threads) : loop(Loop::create({.poller = poller}).value()) {
    directory = std::filesystem::temp_directory_path() / ("weft-fork-" + std::to_string(::getpid()));
    std::filesystem::create_directory(directory);
    ServerOptions options;
    options.listen = {"tcp://127.0.0.1:0", "unix://" + (directory / "socket").string()};
    options.threads = threads;
    options.loop = threads == 0 ? loop.get() : nullptr;
    options.loop_options.poller = poller;
    server = std::make_unique<Server>(std::move(options));
    server->register_handler<&Gate::pass>(&gate);
    server->register_handler<add, count_to, fork_and_go_on, length_of>();
    server->per_loop<Asked>();
    server->start().value();
    for (const std::string& url : server->urls()) clients.push_back(client_of(url));
    for (const auto& client : clients) EXPECT_TRUE(connect(*client));
  }
  ~World() {
    clients.clear();
    server.reset();
    if (!directory.empty()) std::filesystem::remove_all(directory);
  }

  std::unique_ptr<Client> client_of(const std::string& url) {
    ClientOptions options;
    options.connect = url;
    options.call_timeout = 10s;
    return std::make_unique<Client>(*loop, std::move(options));
  }
  bool connect(Client& client) { return loop->block_on(client.connect()).ok(); }
  bool answers(Client& client) {
    return loop->block_on(outcome_of(client.start<add>(3, 4))).value_or(0) == 7;
  }

  std::filesystem::path directory;
  Gate gate;
  std::unique_ptr<Loop> loop;
  std::unique_ptr<Server> server;
  std::vector<std::unique_ptr<Client>> clients;
};

/// `work` in a child that ends itself when it hangs. True when it ended in order.
template <typename Work>
bool in_a_child(Work work) {
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    work();
    std::_Exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  return ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

class Fork : public ::testing::TestWithParam<std::tuple<PollerKind, unsigned>> {
 protected:
  World world_{std::get<0>(GetParam()), std::get<1>(GetParam())};

  void expect_untouched() {
    struct stat there{};
    EXPECT_EQ(::lstat((world_.directory / "socket").c_str(), &there), 0)
        << "the child removed the socket's file";
    for (const auto& client : world_.clients) {
      EXPECT_TRUE(world_.answers(*client)) << "the connection is as it was";
      EXPECT_EQ(client->stats().connections, 1u);
    }
    for (const std::string& url : world_.server->urls()) {
      EXPECT_TRUE(world_.answers(*world_.client_of(url))) << "the parent still accepts at " << url;
    }
  }
};

TEST_P(Fork, AChildThatEndsInOrderTakesNothingFromItsParent) {
  EXPECT_TRUE(in_a_child([&] {
    world_.directory.clear();
    world_.clients.clear();
    world_.server.reset();
    world_.loop.reset();
  }));
  expect_untouched();
}

TEST_P(Fork, CallsUnderWayThatAChildDropsAreNotCancelled) {
  // So many that their cancels would be much, and be sent at once.
  std::vector<Call<int>> calls;
  for (int i = 0; i < 1000; ++i) calls.push_back(world_.clients.front()->start<&Gate::pass>(1u));
  ASSERT_TRUE(world_.answers(*world_.clients.front()));
  EXPECT_TRUE(in_a_child([&] {
    world_.directory.clear();
    calls.clear();
    world_.clients.clear();
  }));
  ASSERT_TRUE(world_.answers(*world_.clients.front()));
  EXPECT_EQ(world_.server->stats().calls_running, calls.size());
}

TEST_P(Fork, AChildMakesALoopAServerAndAClientOfItsOwn) {
  const PollerKind poller = std::get<0>(GetParam());
  EXPECT_TRUE(in_a_child([&] {
    World own{poller, 1};
    for (const auto& client : own.clients) EXPECT_TRUE(own.answers(*client));
  }));
  expect_untouched();
}

TEST_P(Fork, AChildThatDrivesItsParentsLoopIsToldSo) {
  EXPECT_DEATH(world_.loop->run_once(0s), "a loop of the parent was driven in a child of fork");
}

/// Tells whether `ended` says that nothing was begun, because the client is a parent's.
bool is_refused_in_child(const Status& ended) {
  return ended.code() == StatusCode::kFailedPrecondition && ended.unprocessed() &&
         std::string_view{ended.message()}.find("child of fork") != std::string_view::npos;
}

Task<void> call_in_a_child(Client* client, bool* in_order) {
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    const Result<int> called = co_await client->call<add>(3, 4);
    auto items = client->open<count_to>(3);
    const bool came = (co_await items.next()).has_value();
    const bool in_order =
        !came && is_refused_in_child(items.status()) && is_refused_in_child(called.status());
    std::_Exit(in_order ? 0 : 1);
  }
  int status = 0;
  *in_order = ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// The child is in the middle of its parent's turn, where everything looks as if it were its own.
TEST_P(Fork, CallsAndStreamsInATurnOfTheParentAreRefused) {
  for (const auto& client : world_.clients) {
    bool in_order = false;
    world_.loop->block_on(call_in_a_child(client.get(), &in_order));
    EXPECT_TRUE(in_order);
  }
  expect_untouched();
}

// Requests lie in the socket behind the one whose handler forks. The child must not read them away.
TEST_P(Fork, AChildThatGoesOnWithATurnTakesNoBytesAndIsEnded) {
  const std::string text(std::size_t{64} << 10, 'x');
  for (const auto& client : world_.clients) {
    std::vector<Call<std::size_t>> before;
    std::vector<Call<std::size_t>> behind;
    for (int i = 0; i < 2; ++i) before.push_back(client->start<length_of>(text));
    Call<int> forks = client->start<fork_and_go_on>(0);
    for (int i = 0; i < 100; ++i) behind.push_back(client->start<length_of>(text));
    EXPECT_EQ(world_.loop->block_on(std::move(forks)).value_or(0), 2);
    for (auto* calls : {&before, &behind}) {
      for (auto& call : *calls) EXPECT_EQ(world_.loop->block_on(std::move(call)).value_or(0), text.size());
    }
  }
  expect_untouched();
}

Task<void> store_result(WorkerPool* pool, std::latch* entered, std::latch* open, Result<int>* result) {
  Result<int> got = co_await on_worker(*pool, [entered, open] {
    entered->count_down();
    open->wait();
    return 1;
  });
  *result = std::move(got);
}

TEST(ForkOfAPool, AChildLeavesItToItsParentAndStartsItsOwn) {
  const auto loop = Loop::create().value();
  auto pool = WorkerPool::start({.threads = 1}).value();
  std::latch entered{1};
  std::latch open{1};
  Result<int> result = 0;
  Scope scope;
  loop->post([&] { scope.spawn(&store_result, pool.get(), &entered, &open, &result); });
  loop->run_once(0s);
  entered.wait();
  EXPECT_TRUE(in_a_child([&] {
    const auto own = Loop::create().value();
    const Result<int> refused = own->block_on(on_worker(*pool, [] { return 1; }));
    EXPECT_EQ(refused.status().code(), StatusCode::kFailedPrecondition);
    scope.drop_all();
    pool.reset();
    const auto other = WorkerPool::start({.threads = 1}).value();
    EXPECT_EQ(own->block_on(on_worker(*other, [] { return 2; })).value(), 2);
  }));
  open.count_down();
  loop->block_on(scope.join());
  EXPECT_EQ(result.value(), 1);
}

std::string name_of(const ::testing::TestParamInfo<std::tuple<PollerKind, unsigned>>& info) {
  const std::string poller = std::get<0>(info.param) == PollerKind::kEpoll ? "Epoll" : "IoUring";
  return poller + (std::get<1>(info.param) == 0 ? "OneLoop" : "OwnThread");
}
INSTANTIATE_TEST_SUITE_P(Each, Fork,
                         ::testing::Combine(::testing::Values(PollerKind::kEpoll, PollerKind::kIoUring),
                                            ::testing::Values(0u, 1u)),
                         name_of);

}  // namespace
}  // namespace weft::faults
