// SPDX-License-Identifier: Apache-2.0
// Calls, streams and attachments over unix:// by shared memory, and the reasons for which a connection stays
// on its socket.
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "integration/carrier_calls.hpp"
#include "integration/shared_memory/shared_memory_testing.hpp"
#include "support/pattern.hpp"

namespace weft::shared_memory_testing {
namespace {

class SharedMemoryCalls : public SharedMemoryTest {};

TEST_F(SharedMemoryCalls, GoByMemoryWhereBothSidesPreferIt) {
  Client& caller = client(serve().urls().front());
  expect_by_memory(caller);
  EXPECT_EQ(caller.carrier_report().description, "rings of 128 KiB out and 128 KiB in");
}

TEST_F(SharedMemoryCalls, EachSideChoosesTheSizeOfItsRing) {
  TransportOptions small = by_memory();
  small.shared_memory.ring_bytes = 4096;
  Client& caller = client(serve().urls().front(), small);
  expect_by_memory(caller);
  EXPECT_EQ(caller.carrier_report().description, "rings of 4 KiB out and 128 KiB in");
  expect_both_ways(loop(), caller, 300'000);
}

TEST_F(SharedMemoryCalls, ManyInFlightAreAnswered) {
  expect_many_in_flight_are_answered(loop(), client(serve().urls().front()));
}

TEST_F(SharedMemoryCalls, StreamsGoInAllShapes) {
  expect_streams_of_all_shapes(loop(), client(serve().urls().front()));
}

TEST_F(SharedMemoryCalls, AttachmentsOfEverySizeArriveWhole) {
  Client& caller = client(serve().urls().front());
  for (const std::size_t size : {1u, 1000u, 16u * 1024, 128u * 1024, 128u * 1024 + 1, 5'000'011u}) {
    expect_both_ways(loop(), caller, size);
  }
  expect_by_memory(caller);
}

TEST_F(SharedMemoryCalls, ListsOfBlocksGoThereAndBack) {
  Client& caller = client(serve().urls().front());
  for (const std::size_t size : {std::size_t{100}, std::size_t{4096}, std::size_t{40'000}}) {
    expect_lists_both_ways(loop(), caller, size, (std::size_t{1} << 20) / size);
  }
}

// A loop that sleeps at once is woken by each message of its peer.
TEST_F(SharedMemoryCalls, WakeLoopsThatSleep) {
  auto sleeps = Loop::create({.mode = WaitMode::kWait}).value();
  Client caller{*sleeps, {.connect = serve().urls().front()}, by_memory()};
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(sleeps->block_on(outcome_of(caller.start<add>(i, 1))).value(), i + 1);
  }
  EXPECT_EQ(caller.carried_by(), kCarrier);
  EXPECT_GE(sleeps->stats().sleeps, 100u);
}

TEST_F(SharedMemoryCalls, GoByMemoryOnManyConnectionsOfALoop) {
  Server& server = serve();
  std::vector<Client*> callers;
  for (int i = 0; i < 40; ++i) callers.push_back(&client(server.urls().front()));
  for (int round = 0; round < 3; ++round) {
    for (Client* caller : callers) expect_by_memory(*caller);
  }
}

TEST_F(SharedMemoryCalls, LeaveNoDescriptorsBehind) {
  Server& server = serve();
  std::size_t before = 0;
  for (int i = 0; i < 10; ++i) {
    {
      Client caller{loop(), {.connect = server.urls().front()}, by_memory()};
      expect_by_memory(caller);
    }
    ASSERT_TRUE(eventually([&] { return server.stats().connections == 0; }));
    if (i == 2) before = open_descriptors();
  }
  EXPECT_EQ(open_descriptors(), before);
}

TEST_F(SharedMemoryCalls, StayOnTheSocketWhereOneSideDoesNotOfferMemory) {
  Client& without = client(serve().urls().front(), {});
  expect_alive(without);
  EXPECT_EQ(without.carried_by(), "unix");
  expect_by_socket(client(serve({}).urls().front()), "");
}

TEST_F(SharedMemoryCalls, FailWhereMemoryIsRequiredAndThePeerDoesNotOfferIt) {
  Client& caller = client(serve({}).urls().front(), by_memory(CarrierPolicy::kRequire));
  EXPECT_EQ(wait_for(caller.start<add>(1, 2)).status().code(), StatusCode::kFailedPrecondition);
}

TEST_F(SharedMemoryCalls, AreNotOfferedMemoryOverTcp) {
  Server server{{.listen = {faults::kAnyPort}}, by_memory()};
  register_all(server);
  server.start().value();
  Client& caller = client(server.urls().front());
  expect_alive(caller);
  EXPECT_EQ(caller.carried_by(), "tcp");
  EXPECT_TRUE(caller.carrier_report().passed_over.empty());
}

TEST_F(SharedMemoryCalls, OptionsThatCannotBeFailWithTheirName) {
  for (const std::size_t bytes :
       {std::size_t{0}, std::size_t{2048}, std::size_t{100'000}, std::size_t{1} << 27}) {
    SharedMemoryOptions options;
    options.ring_bytes = bytes;
    EXPECT_EQ(check(options).code(), StatusCode::kInvalidArgument);
    TransportOptions all = by_memory();
    all.shared_memory = options;
    SocketPath path;
    Server server{{.listen = {path.url()}}, all};
    const Status refused = server.start().status();
    EXPECT_NE(refused.message().find("ring_bytes"), std::string_view::npos) << refused.to_string();
  }
}

/// Runs `work` in a child of fork. Returns its exit status; -1 for a signal.
template <typename Work>
int in_child(Work work) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(work());
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// Calls from a loop of this process. Returns the number that tells a test how the call was carried.
enum Carried : int { kByMemory, kBySocket, kByNothing, kWithoutReason };
int carried(const std::string& url, const char* why, const std::vector<std::uint32_t>& users = {}) {
  auto loop = Loop::create().value();
  TransportOptions transports = by_memory();
  transports.shared_memory.users = users;
  Client caller{*loop, {.connect = url}, transports};
  const Result<int> sum = loop->block_on(outcome_of(caller.start<add>(1, 2)));
  if (!sum.ok() || *sum != 3) return kByNothing;
  if (caller.carried_by() == kCarrier) return kByMemory;
  const std::string reason = caller.carrier_report().reason;
  return reason.find(why) != std::string::npos ? kBySocket : kWithoutReason;
}

TEST_F(SharedMemoryCalls, StayOnTheSocketWhereALimitForbidsMemory) {
  const std::string url = serve().urls().front();
  EXPECT_EQ(in_child([&] { return carried(url, ""); }), kByMemory);
  const int low = in_child([&] {
    const rlimit limit{4096, 4096};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 99;
    return carried(url, "RLIMIT_FSIZE");
  });
  EXPECT_EQ(low, kBySocket);
}

// The process has descriptors for a loop and a socket, and for ever fewer things beyond these.
TEST_F(SharedMemoryCalls, StayOnTheSocketWhereDescriptorsAreExhausted) {
  const std::string url = serve().urls().front();
  int by_memory_count = 0;
  int by_socket_count = 0;
  for (int spare = 0; spare < 12; ++spare) {
    const int how = in_child([&] {
      // The sanitizer's first check of this object needs a descriptor.
      static_cast<void>(std::generic_category().message(EMFILE));
      auto loop = Loop::create().value();
      const int next = ::dup(STDERR_FILENO);
      ::close(next);
      const rlimit limit{static_cast<rlim_t>(next + spare), static_cast<rlim_t>(next + spare)};
      if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) return 99;
      Client caller{*loop, {.connect = url}, by_memory()};
      const Result<int> sum = loop->block_on(outcome_of(caller.start<add>(1, 2)));
      if (!sum.ok()) return int{kByNothing};
      return int{caller.carried_by() == kCarrier ? kByMemory : kBySocket};
    });
    ASSERT_GE(how, 0) << spare << ": a signal";
    if (how == kByMemory) ++by_memory_count;
    if (how == kBySocket) ++by_socket_count;
  }
  EXPECT_GT(by_memory_count, 0);
  EXPECT_GT(by_socket_count, 0);
}

// As another user, which needs the rights of root.
TEST_F(SharedMemoryCalls, StayOnTheSocketBetweenUsersThatAreNotListed) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root may change its user";
  constexpr std::uint32_t kOther = 54'321;
  const auto as_other = [](const std::string& url, const std::vector<std::uint32_t>& users = {}) {
    return in_child([&] {
      if (::setresuid(kOther, kOther, kOther) != 0) return 99;
      return carried(url, "SharedMemoryOptions::users", users);
    });
  };
  const auto reachable = [](const std::string& url) {
    const std::string path = url.substr(std::string_view{"unix://"}.size());
    return ::chmod(path.c_str(), 0666) == 0 && ::chmod(path.substr(0, path.rfind('/')).c_str(), 0755) == 0;
  };
  const std::string strict = serve().urls().front();
  ASSERT_TRUE(reachable(strict));
  EXPECT_EQ(as_other(strict), kBySocket);
  TransportOptions lists = by_memory();
  lists.shared_memory.users = {kOther};
  const std::string open = serve(lists).urls().front();
  ASSERT_TRUE(reachable(open));
  EXPECT_EQ(as_other(open), kBySocket) << "the client does not list the server's user";
  EXPECT_EQ(as_other(open, {::geteuid()}), kByMemory);
}

// A child has the parent's memory mapped, and must leave it alone.
TEST_F(SharedMemoryCalls, GoOnInTheParentOfAFork) {
  Client& caller = client(serve().urls().front());
  expect_by_memory(caller);
  EXPECT_EQ(in_child([&] {
              end_clients();
              return 0;
            }),
            0);
  expect_by_memory(caller);
  EXPECT_EQ(caller.stats().connections, 1u);
}

}  // namespace
}  // namespace weft::shared_memory_testing
