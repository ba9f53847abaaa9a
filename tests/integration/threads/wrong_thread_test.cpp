// SPDX-License-Identifier: Apache-2.0
// CR-21: whoever uses a client on the wrong thread is told what to write instead.
#include "integration/threads/threads_testing.hpp"

namespace weft::testing::wrong_thread_tests {
namespace {

constexpr const char* kWords = "weft::blocking\\(client\\)";

// A death test's child has the thread that makes the mistake only, so each makes its own.
class WrongThreadDeathTest : public ::testing::Test {
 protected:
  void SetUp() override { ::testing::FLAGS_gtest_death_test_style = "threadsafe"; }
};

template <typename Use>
void use_while_another_thread_runs_the_loop(Use use) {
  RemoteLoop remote{"tcp://127.0.0.1:1"};
  run_on(remote.loop(), [] {});
  use(remote.client());
}

TEST_F(WrongThreadDeathTest, ACallFromAThreadWithoutALoopIsTold) {
  EXPECT_DEATH(use_while_another_thread_runs_the_loop(
                   [](Client& client) { [[maybe_unused]] const auto call = client.start<add>(1, 2); }),
               kWords);
}

// The functions of CallClient.
TEST_F(WrongThreadDeathTest, EveryUseIsTold) {
  EXPECT_DEATH(use_while_another_thread_runs_the_loop([](Client& client) { client.close(); }), kWords);
  EXPECT_DEATH(use_while_another_thread_runs_the_loop([](Client& client) { client.connected(); }), kWords);
  EXPECT_DEATH(use_while_another_thread_runs_the_loop([](Client& client) { client.stats(); }), kWords);
  EXPECT_DEATH(use_while_another_thread_runs_the_loop([](Client& client) { client.remote_endpoint(); }),
               kWords);
  EXPECT_DEATH(use_while_another_thread_runs_the_loop([](Client& client) { client.local_endpoint(); }),
               kWords);
  EXPECT_DEATH(use_while_another_thread_runs_the_loop([](Client& client) { client.carried_by(); }), kWords);
  EXPECT_DEATH(use_while_another_thread_runs_the_loop([](Client& client) { client.carrier_report(); }),
               kWords);
  EXPECT_DEATH(use_while_another_thread_runs_the_loop(
                   [](Client& client) { const auto connecting = client.connect(); }),
               kWords);
}

const ClientOptions kNowhere{.connect = "tcp://127.0.0.1:1"};

void destroy_elsewhere() {
  auto thread = LoopThread::start().value();
  auto client = std::make_unique<Client>(thread->loop(), kNowhere);
  run_on(thread->loop(), [] {});
  client.reset();
}

TEST_F(WrongThreadDeathTest, AClientThatIsDestroyedElsewhereIsTold) {
  EXPECT_DEATH(destroy_elsewhere(), "destroyed while another thread runs its loop: stop that loop first");
}

Task<void> use_of_another_loop(Client& client) {
  static_cast<void>(co_await client.call<add>(1, 2));
}

void use_in_another_loop() {
  auto home = Loop::create().value();
  auto other = Loop::create().value();
  Client client{*other, kNowhere};
  home->block_on(use_of_another_loop(client));
}

TEST_F(WrongThreadDeathTest, ACoroutineOfAnotherLoopIsTold) {
  EXPECT_DEATH(use_in_another_loop(), "weft::on_loop_of\\(client\\)");
}

void use_beside_a_foreign_loop() {
  auto loop = Loop::create().value();
  Client client{*loop, kNowhere};
  loop->descriptor();
  loop->run_once(Duration::zero());
  std::thread{[&] { client.stats(); }}.join();
}

TEST_F(WrongThreadDeathTest, AThreadBetweenTheTurnsOfAForeignLoopIsTold) {
  EXPECT_DEATH(use_beside_a_foreign_loop(), kWords);
}

void destroy_the_loop_first() {
  auto loop = Loop::create().value();
  const Client client{*loop, kNowhere};
  loop.reset();
}

TEST_F(WrongThreadDeathTest, ALoopThatIsDestroyedBeforeItsClientSaysSo) {
  EXPECT_DEATH(destroy_the_loop_first(), "destroyed before a client of it");
}

TEST(WrongThread, ALoopThatNobodyRunsMayBeUsedByWhoeverHasIt) {
  Served served;
  auto loop = Loop::create().value();
  auto client = std::make_unique<Client>(*loop, ClientOptions{.connect = served.url()});
  std::thread{[&] { EXPECT_EQ(loop->block_on(client->call<add>(1, 2)).value(), 3); }}.join();
  EXPECT_EQ(client->stats().calls, 1u);
  std::thread{[&] { client.reset(); }}.join();
}

}  // namespace
}  // namespace weft::testing::wrong_thread_tests
