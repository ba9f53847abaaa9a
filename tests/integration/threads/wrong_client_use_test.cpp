// SPDX-License-Identifier: Apache-2.0
// The process ends with a message when a thread uses a client, a pool or a fleet whose loop another thread
// runs, or an object of these. tests/checks/thread_rules.txt names these tests.
#include <atomic>
#include <optional>

#include "integration/threads/misuse.hpp"
#include "weft/connection_pool.hpp"
#include "weft/fleet.hpp"

namespace weft::testing::wrong_client_use_tests {
namespace {

constexpr const char* kOfACall =
    "a call or stream was cancelled or destroyed on another thread than its client's";
constexpr const char* kOfAStream = "a stream was read or written on another thread than its loop's";
constexpr const char* kNowhere = "tcp://127.0.0.1:1";

inline void never(Reply<int> reply, int) {
  static std::deque<Reply<int>> owed;
  owed.push_back(std::move(reply));
}
inline Stream<int> no_items(int) {
  static_cast<void>(co_await sleep_for(1h));
}
inline void read_the_tag(CallContext& context) {
  context.connection_tag();
}

std::atomic<Reader<int>*> lent_reader = nullptr;
std::atomic<Writer<int>*> lent_writer = nullptr;
inline Task<int> lend(Reader<int>& items, Writer<int>& back) {
  lent_reader = &items;
  lent_writer = &back;
  lent_writer.notify_all();
  static_cast<void>(co_await sleep_for(1h));
  co_return 1;
}

/// Calls `use` while a handler of another thread's loop has its reader and its writer.
template <typename Use>
void use_lent(Use use) {
  Server server{{.listen = {"tcp://127.0.0.1:0"}, .threads = 1}};
  server.register_handler<lend>();
  server.start().value();
  BlockingClient client{{.connect = server.urls().front()}};
  const auto stream = client.open<lend>();
  lent_writer.wait(nullptr);
  const auto here = Loop::create().value();
  use(*here);
}

/// A server whose calls and streams wait, and a client of it on `loop`.
struct Asked {
  explicit Asked(Loop& loop) {
    server.register_handler<never, no_items, lend>();
    server.start().value();
    client.emplace(loop, ClientOptions{.connect = server.urls().front()});
  }
  Server server{{.listen = {"tcp://127.0.0.1:0"}, .threads = 1}};
  std::optional<Client> client;
};

Task<void> await_answer(Call<int>* call) {
  static_cast<void>(co_await std::move(*call));
}

const Misuse kCallMisuses[] = {
    {"CallIsDestroyed",
     [](Loop& loop) {
       Asked asked{loop};
       std::optional<Call<int>> call;
       run_on(loop, [&] { call.emplace(asked.client->start<never>(1)); });
       call.reset();
     },
     kOfACall},
    {"CallIsCancelled",
     [](Loop& loop) {
       Asked asked{loop};
       Scope scope;
       std::optional<Call<int>> call;
       run_on(loop, [&] {
         call.emplace(asked.client->start<never>(1));
         scope.spawn(&await_answer, &*call);
       });
       scope.cancel_scope().cancel(CancelReason::kRequested);
     },
     kOfACall},
    {"ClientStreamIsOpened",
     [](Loop& loop) {
       Asked asked{loop};
       run_on(loop, [] {});
       auto stream = asked.client->open<no_items>(1);
     },
     kOfAClient},
    {"ClientStreamIsRead",
     [](Loop& loop) {
       Asked asked{loop};
       std::optional<decltype(asked.client->open<no_items>(1))> stream;
       run_on(loop, [&] { stream.emplace(asked.client->open<no_items>(1)); });
       static_cast<void>(Loop::create().value()->block_on(stream->next()));
     },
     kOfAStream},
    {"ClientStreamIsDestroyed",
     [](Loop& loop) {
       Asked asked{loop};
       std::optional<decltype(asked.client->open<no_items>(1))> stream;
       run_on(loop, [&] { stream.emplace(asked.client->open<no_items>(1)); });
       stream.reset();
     },
     kOfACall},
    {"ClientStreamIsWrittenTo",
     [](Loop& loop) {
       Asked asked{loop};
       std::optional<decltype(asked.client->open<lend>())> stream;
       run_on(loop, [&] { stream.emplace(asked.client->open<lend>()); });
       static_cast<void>(Loop::create().value()->block_on(stream->write(1)));
     },
     kOfAStream},
    {"ClientStreamEndsItsItems",
     [](Loop& loop) {
       Asked asked{loop};
       std::optional<decltype(asked.client->open<lend>())> stream;
       run_on(loop, [&] { stream.emplace(asked.client->open<lend>()); });
       stream->end_writing();
     },
     kOfAStream},
    {"ReaderIsRead",
     [](Loop&) {
       use_lent([](Loop& here) { static_cast<void>(here.block_on(lent_reader.load()->next())); });
     },
     kOfAStream},
    {"WriterIsWrittenTo",
     [](Loop&) {
       use_lent([](Loop& here) { static_cast<void>(here.block_on(lent_writer.load()->write(1))); });
     },
     kOfAStream},
    {"ConnectionTagInABlockingHandler",
     [](Loop&) {
       Server server{{.listen = {"tcp://127.0.0.1:0"}, .threads = 1, .worker_threads = 1}};
       server.register_handler<read_the_tag>({.blocking = true});
       server.start().value();
       BlockingClient client{{.connect = server.urls().front()}};
       static_cast<void>(client.call<read_the_tag>());
     },
     "CallContext::connection_tag\\(\\) was called on another thread"},
};

// The functions of CallPool.
const Misuse kPoolMisuses[] = {
    {"ConnectionPoolIsClosed",
     [](Loop& loop) {
       ConnectionPool pool{loop, {.client = {.connect = kNowhere}}};
       run_on(loop, [] {});
       pool.close();
     },
     kOfAClient},
    {"ConnectionPoolTellsItsStats",
     [](Loop& loop) {
       ConnectionPool pool{loop, {.client = {.connect = kNowhere}}};
       run_on(loop, [] {});
       static_cast<void>(pool.stats());
     },
     kOfAClient},
    {"ConnectionPoolCalls",
     [](Loop& loop) {
       ConnectionPool pool{loop, {.client = {.connect = kNowhere}}};
       run_on(loop, [] {});
       [[maybe_unused]] const auto call = pool.start<add>(1, 2);
     },
     kOfAClient},
    {"ConnectionPoolConnects",
     [](Loop& loop) {
       ConnectionPool pool{loop, {.client = {.connect = kNowhere}}};
       run_on(loop, [] {});
       const auto connecting = pool.connect();
     },
     kOfAClient},
    {"ConnectionPoolTellsIfConnected",
     [](Loop& loop) {
       ConnectionPool pool{loop, {.client = {.connect = kNowhere}}};
       run_on(loop, [] {});
       pool.connected();
     },
     kOfAClient},
    {"ConnectionPoolRegistersMemory",
     [](Loop& loop) {
       ConnectionPool pool{loop, {.client = {.connect = kNowhere}}};
       run_on(loop, [] {});
       static_cast<void>(pool.register_memory({}));
     },
     kOfAClient},
    {"ConnectionPoolRegistersAHandler",
     [](Loop& loop) {
       ConnectionPool pool{loop, {.client = {.connect = kNowhere}}};
       run_on(loop, [] {});
       pool.register_handler<add>();
     },
     kOfAClient},
    {"ConnectionPoolIsDestroyed",
     [](Loop& loop) {
       auto pool = std::make_unique<ConnectionPool>(loop, PoolOptions{.client = {.connect = kNowhere}});
       run_on(loop, [] {});
       pool.reset();
     },
     "destroyed while another thread runs its loop"},
    {"ConnectionPoolsGiveAPool",
     [](Loop& loop) {
       ConnectionPools pools{loop, {}};
       run_on(loop, [] {});
       pools.at(kNowhere);
     },
     "ConnectionPools::at\\(\\) or drop\\(\\) was called while another thread"},
    {"ConnectionPoolsDropAPool",
     [](Loop& loop) {
       ConnectionPools pools{loop, {}};
       run_on(loop, [] {});
       pools.drop(kNowhere);
     },
     "ConnectionPools::at\\(\\) or drop\\(\\) was called while another thread"},
};

const Misuse kFleetMisuses[] = {
    {"FleetClientTellsItsStats",
     [](Loop& loop) {
       FleetClient fleet{loop, {.name = "static:tcp://127.0.0.1:1"}};
       run_on(loop, [] {});
       static_cast<void>(fleet.stats());
     },
     "a FleetClient was used on another thread"},
    {"FleetClientIsDestroyed",
     [](Loop& loop) {
       auto fleet = std::make_unique<FleetClient>(loop, FleetOptions{.name = "static:tcp://127.0.0.1:1"});
       run_on(loop, [] {});
       fleet.reset();
     },
     "destroyed while another thread runs its loop"},
};

class WrongClientUseDeathTest : public ::testing::TestWithParam<Misuse> {};

TEST_P(WrongClientUseDeathTest, EndsTheProcessWithAMessage) {
  expect_death_by(GetParam());
}

INSTANTIATE_TEST_SUITE_P(Calls, WrongClientUseDeathTest, ::testing::ValuesIn(kCallMisuses), name_of_misuse);
INSTANTIATE_TEST_SUITE_P(Pools, WrongClientUseDeathTest, ::testing::ValuesIn(kPoolMisuses), name_of_misuse);
INSTANTIATE_TEST_SUITE_P(Fleets, WrongClientUseDeathTest, ::testing::ValuesIn(kFleetMisuses), name_of_misuse);

}  // namespace
}  // namespace weft::testing::wrong_client_use_tests
