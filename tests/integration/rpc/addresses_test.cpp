// SPDX-License-Identifier: Apache-2.0
// CR-1: a server can be called by each URL that it says, and a Unix path goes over to the next server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <cstdlib>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <weft/weft.hpp>

#if WEFT_ADDRESSES_TLS
#include "support/test_ca.hpp"
#endif
#include "weft/blocking_client.hpp"
#include "weft/detail/transport/url.hpp"

namespace weft::testing::addresses_tests {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using namespace std::chrono_literals;

std::string who(CallContext& context) {
  return std::string{context.remote_endpoint()};
}

/// Calls a server on `url` by its own URL, and returns that URL and the caller's as the server sees it.
std::pair<std::string, std::string> call_by_own_url(const std::string& url) {
  Server server{{.listen = {url}}};
  server.register_handler<who>();
  const auto started = server.start();
  EXPECT_TRUE(started.ok()) << started.status().to_string();
  if (!started.ok()) return {};
  const std::string own = server.urls().front();
  EXPECT_EQ(detail::Url::parse(own).value().to_string(), own);
  BlockingClient client{{.connect = own}};
  const auto answer = client.call<who>();
  EXPECT_TRUE(answer.ok()) << own << ": " << answer.status().to_string();
  return {own, answer.ok() ? *answer : ""};
}

TEST(Addresses, OfEveryHostAreCalledByTheirOwnUrl) {
  EXPECT_THAT(call_by_own_url("tcp://0.0.0.0:0").second, StartsWith("tcp://127.0.0.1:"));
  EXPECT_THAT(call_by_own_url("tcp://[::1]:0").second, StartsWith("tcp://[::1]:"));
  EXPECT_THAT(call_by_own_url("tcp://[::]:0").first, StartsWith("tcp://[::]:"));
  EXPECT_THAT(call_by_own_url("tcp://[::ffff:127.0.0.1]:0").second, StartsWith("tcp://[::ffff:127.0.0.1]:"));
}

/// Runs `work` on a thread that has a network of its own, with a pair of interfaces weft0 and weft1. False
/// without the right to make one.
template <typename Work>
bool on_own_link(Work work) {
  bool made = false;
  std::thread thread{[&] {
    made =
        ::unshare(CLONE_NEWNET) == 0 &&
        std::system(
            "{ ip link set lo up && ip link add weft0 type veth peer name weft1 && ip link set weft0 up && "
            "ip link set weft1 up && ip -6 address add fe80::77/64 dev weft0 nodad; } 2>/dev/null") == 0;
    if (made) work();
  }};
  thread.join();
  return made;
}

TEST(Addresses, OfALinkNameTheirInterface) {
  const bool made = on_own_link([] {
    const auto [own, peer] = call_by_own_url("tcp://[fe80::77%weft0]:0");
    EXPECT_THAT(own, StartsWith("tcp://[fe80::77%weft0]:"));
    EXPECT_THAT(peer, StartsWith("tcp://[fe80::77%weft0]:"));
    Server nowhere{{.listen = {"tcp://[fe80::77]:0"}}};
    EXPECT_THAT(nowhere.start().status().message(), HasSubstr("name the interface too"));
    Server elsewhere{{.listen = {"tcp://[fe80::77%weft9]:0"}}};
    EXPECT_THAT(elsewhere.start().status().message(), HasSubstr("no interface \"weft9\""));
  });
  if (!made)
    GTEST_SKIP() << "no right to make a network namespace with a pair of interfaces (root, ip, veth)";
}

#if WEFT_ADDRESSES_TLS
TEST(Addresses, OfALinkAreCheckedWithoutTheirInterfaceByTls) {
  const TestCa ca;
  const bool made = on_own_link([&] {
    Server server{{.listen = {"tls://[fe80::77%weft0]:0"}},
                  make_transports({.tls = {.certificates = {ca.issue({.alternatives = "IP:fe80::77"})}}})};
    server.register_handler<who>();
    ASSERT_TRUE(server.start().ok());
    BlockingClient client{{.connect = server.urls().front()}, make_transports({.tls = {.ca_pem = ca.pem()}})};
    const auto answer = client.call<who>();
    EXPECT_TRUE(answer.ok()) << answer.status().to_string();
  });
  if (!made)
    GTEST_SKIP() << "no right to make a network namespace with a pair of interfaces (root, ip, veth)";
}
#endif

/// Answers once it may.
struct Held {
  std::latch arrived{1};
  std::latch open{1};
  int wait(int number) {
    arrived.count_down();
    open.wait();
    return number;
  }
};

int generation_one() {
  return 1;
}

TEST(UnixPaths, GoOverToTheNextServerWhileTheLastOneDrains) {
  const std::string url = "unix:///tmp/weft-restart-" + std::to_string(::getpid()) + ".sock";
  Held held;
  auto before = std::make_unique<Server>(ServerOptions{.listen = {url}});
  before->register_handler<&Held::wait>(&held, HandlerOptions{.blocking = true});
  ASSERT_TRUE(before->start().ok());
  std::thread caller{[&] {
    BlockingClient client{{.connect = url}};
    const auto answer = client.call<&Held::wait>(CallOptions{.timeout = 60s}, 7);
    EXPECT_EQ(answer.value(), 7);
  }};
  held.arrived.wait();

  Server after{{.listen = {url}}, make_transports({.tcp = {.take_over = true}})};
  after.register_handler<generation_one>();
  ASSERT_TRUE(after.start().ok());
  EXPECT_EQ(after.urls().front(), url);
  const auto reaches_next = [&] {
    BlockingClient client{{.connect = url}};
    return client.call<generation_one>().ok();
  };
  EXPECT_TRUE(reaches_next()) << "the last server still serves its call";
  before->stop(60s);
  EXPECT_TRUE(reaches_next()) << "the last server drains";
  held.open.count_down();
  caller.join();
  before->wait();
  before.reset();
  EXPECT_TRUE(reaches_next()) << "the last server is gone";
}

TEST(UnixPaths, AreFreeOnceAServerHasBegunToStop) {
  const std::string url = "unix:///tmp/weft-restart-" + std::to_string(::getpid()) + ".sock";
  for (int i = 0; i < 3; ++i) {
    Server server{{.listen = {url}}};
    server.register_handler<generation_one>();
    ASSERT_TRUE(server.start().ok()) << i;
  }
}

}  // namespace
}  // namespace weft::testing::addresses_tests
