// SPDX-License-Identifier: Apache-2.0
// CR-25, BU-7: objects of the user's for each loop of a server, made before it serves and gone after its last
// handler, and pollers among them.
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>

#include "integration/rpc/rpc_testing.hpp"

namespace weft::testing::loop_state_tests {
namespace {

/// Tells where objects were made and destroyed, and in which order. Thread: any.
class Diary {
 public:
  void made(int number) {
    const std::lock_guard lock(mutex_);
    made_on_[number] = std::this_thread::get_id();
    in_turn_ = in_turn_ && Loop::current() != nullptr;
  }
  void ended(int number) {
    const std::lock_guard lock(mutex_);
    on_its_thread_ = on_its_thread_ && made_on_.at(number) == std::this_thread::get_id();
    in_turn_ = in_turn_ && Loop::current() != nullptr;
    ended_.push_back(number);
  }

  std::size_t made() const { return made_on_.size(); }
  std::size_t threads() const {
    std::set<std::thread::id> threads;
    for (const auto& [number, thread] : made_on_) threads.insert(thread);
    return threads.size();
  }
  std::vector<int> ended() const {
    const std::lock_guard lock(mutex_);
    return ended_;
  }
  bool all_on_their_threads() const { return on_its_thread_; }
  bool all_in_turns() const { return in_turn_; }

 private:
  mutable std::mutex mutex_;
  std::map<int, std::thread::id> made_on_;
  std::vector<int> ended_;
  bool on_its_thread_ = true;
  bool in_turn_ = true;
};

/// An object that does not move.
class Entry {
 public:
  Entry(Diary& diary, int number) : number(number), diary_(diary) { diary_.made(number); }
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;
  ~Entry() { diary_.ended(number); }

  const int number;
  const std::thread::id thread = std::this_thread::get_id();

 private:
  Diary& diary_;
};

/// Makes entries with the numbers 1, 2 ...
class Entries {
 public:
  explicit Entries(Diary& diary) : diary_(diary) {}
  Entry operator()(Loop&) { return Entry{diary_, ++last_}; }

 private:
  Diary& diary_;
  int last_ = 0;
};

// The number of the entry, below zero when it is another thread's.
int looked_up() {
  const auto& entry = loop_state<Entry>();
  return entry.thread == std::this_thread::get_id() ? entry.number : -entry.number;
}

int number() {
  return looked_up();
}
int number_with_context(CallContext&) {
  return looked_up();
}
Task<int> number_later() {
  co_await yield();
  co_return looked_up();
}
void number_by_reply(Reply<int> reply) {
  std::move(reply)(looked_up());
}

void fill(Server& server) {
  server.register_handler<number, number_with_context, number_later, number_by_reply>();
}

class LoopStates : public RpcTest {
 protected:
  Diary diary_;
};

TEST_F(LoopStates, EachLoopHasItsOwnWhichHandlersOfItsConnectionsFind) {
  Server& server = serve({.threads = 4}, [&](Server& its) {
    fill(its);
    its.per_loop<Entry>(Entries{diary_});
  });
  EXPECT_EQ(diary_.made(), 4);
  EXPECT_EQ(diary_.threads(), 4);
  std::set<int> seen;
  for (int i = 0; i < 8; ++i) {
    Client& its = client(server);
    const int one = call<number>(its).value();
    EXPECT_EQ(call<number_with_context>(its).value(), one);
    EXPECT_EQ(call<number_later>(its).value(), one);
    EXPECT_EQ(call<number_by_reply>(its).value(), one);
    seen.insert(one);
  }
  EXPECT_EQ(seen, (std::set{1, 2, 3, 4}));

  server.stop(0s);
  server.wait();
  EXPECT_EQ(diary_.ended().size(), 4) << "wait() returned before all had ended";
  EXPECT_TRUE(diary_.all_on_their_threads());
  EXPECT_TRUE(diary_.all_in_turns());
}

TEST_F(LoopStates, EndWithAServerThatNobodyStopped) {
  {
    Server server{{.listen = {kAnyPort}, .threads = 2}};
    server.per_loop<Entry>(Entries{diary_});
    server.start().value();
  }
  EXPECT_EQ(diary_.ended().size(), 2);
  EXPECT_TRUE(diary_.all_on_their_threads());
}

TEST_F(LoopStates, AreNotMadeByAServerThatNobodyStarted) {
  {
    Server server{{.listen = {kAnyPort}, .threads = 2}};
    server.per_loop<Entry>(Entries{diary_});
  }
  EXPECT_EQ(diary_.made(), 0);
}

TEST_F(LoopStates, AreMadeAndEndedInTurnsOfALoopOfTheUsers) {
  for (const char* url : {kAnyPort, "memory://states"}) {
    Diary diary;
    {
      Server server{{.listen = {url}, .threads = 0, .loop = &loop()}};
      fill(server);
      server.per_loop<Entry>(Entries{diary});
      server.start().value();
      EXPECT_EQ(diary.made(), 1);
      Client& its = client(server);
      EXPECT_EQ(call<number>(its).value(), 1);
      EXPECT_EQ(call<number_later>(its).value(), 1);
    }
    EXPECT_EQ(diary.ended().size(), 1);
    EXPECT_TRUE(diary.all_in_turns());
  }
}

TEST_F(LoopStates, OfAServerThatCannotListenEndAndItMayBeStartedAgain) {
  Server& first = serve({}, [](Server&) {});
  Server server{{.listen = {"tcp://127.0.0.1:0", first.urls().front()}, .threads = 3}};
  server.per_loop<Entry>(Entries{diary_});
  const Result<void> started = server.start();
  EXPECT_FALSE(started.ok());
  EXPECT_EQ(diary_.ended().size(), 3);
  first.stop(0s);
  first.wait();
  EXPECT_TRUE(server.start().ok());
  EXPECT_EQ(diary_.made(), 6);
}

struct Refused {};

TEST_F(LoopStates, ThatCannotBeMadeOnOneLoopFailTheStartWithTheFactorysWords) {
  Server server{{.listen = {kAnyPort}, .threads = 4}};
  server.per_loop<Entry>(Entries{diary_});
  int calls = 0;
  server.per_loop<Refused>([&calls](Loop&) -> Result<Refused> {
    if (++calls == 3) return user_error(7, "no queue pair is left", StatusCode::kResourceExhausted);
    return Refused{};
  });
  const Result<void> started = server.start();
  ASSERT_FALSE(started.ok());
  EXPECT_EQ(started.status().code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(started.status().native(), 7);
  EXPECT_THAT(std::string{started.status().message()},
              ::testing::AllOf(::testing::HasSubstr("Refused of a loop"),
                               ::testing::HasSubstr("no queue pair is left")));
  EXPECT_EQ(diary_.made(), 3) << "the fourth loop was not asked";
  EXPECT_EQ(diary_.ended().size(), 3);
  EXPECT_TRUE(diary_.all_on_their_threads());
  EXPECT_TRUE(server.start().ok()) << "the next try finds a factory that can";
}

template <typename Factory>
Status start_failure(Factory factory) {
  Server server{{.listen = {kAnyPort}, .threads = 2}};
  server.per_loop<Refused>(std::move(factory));
  return server.start().status();
}

TEST_F(LoopStates, FactoryThatThrowsFailsTheStart) {
  const Status thrown = start_failure([](Loop&) -> Refused { throw std::runtime_error{"no such file"}; });
  EXPECT_EQ(thrown.code(), StatusCode::kUnknown);
  EXPECT_THAT(std::string{thrown.message()}, ::testing::HasSubstr("its factory threw: no such file"));
  EXPECT_EQ(start_failure([](Loop&) -> Refused {
              throw Status{StatusCode::kNotFound, Layer::kUser, "gone"};
            }).code(),
            StatusCode::kNotFound);
  EXPECT_EQ(start_failure([](Loop&) -> Refused { throw std::bad_alloc{}; }).code(),
            StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string{start_failure([](Loop&) -> Refused { throw 5; }).message()},
              ::testing::HasSubstr("no std::exception"));
  EXPECT_EQ(start_failure([](Loop&) { return std::unique_ptr<Refused>{}; }).code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(start_failure([](Loop&) -> Task<Result<std::unique_ptr<Refused>>> {
              co_await yield();
              co_return Status{StatusCode::kUnavailable, Layer::kUser, "not yet"};
            }).code(),
            StatusCode::kUnavailable);
}

TEST_F(LoopStates, OfOneTypeAreRefusedTwiceOnALoop) {
  Server twice{{.listen = {kAnyPort}}};
  twice.per_loop<Entry>(Entries{diary_});
  twice.per_loop<Entry>(Entries{diary_});
  EXPECT_EQ(twice.start().status().code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(diary_.ended().size(), 1);

  Server first{{.listen = {kAnyPort}, .threads = 0, .loop = &loop()}};
  first.per_loop<Entry>(Entries{diary_});
  first.start().value();
  Server second{{.listen = {kAnyPort}, .threads = 0, .loop = &loop()}};
  second.per_loop<Entry>(Entries{diary_});
  EXPECT_EQ(second.start().status().code(), StatusCode::kAlreadyExists);
}

struct Later : Entry {
  using Entry::Entry;
  const int before = loop_state<Entry>().number;
};
int number_before() {
  return loop_state<Later>().before;
}

TEST_F(LoopStates, MayUseThoseBeforeThemAndEndInTheOppositeOrder) {
  {
    Server server{{.listen = {kAnyPort}}};
    server.register_handler<number_before>();
    server.per_loop<Entry>(Entries{diary_});
    server.per_loop<Later>([this](Loop&) { return std::make_unique<Later>(diary_, 10); });
    server.start().value();
    EXPECT_EQ(call<number_before>(client(server)).value(), 1);
  }
  EXPECT_THAT(diary_.ended(), ::testing::ElementsAre(10, 1));
}

/// Runs something beside the handlers, and joins it when it is closed.
class Refresher {
 public:
  Refresher(Loop&, Diary& diary) : entry_(diary, 1) { scope_.spawn(&Refresher::refresh, this); }

  Task<void> close() {
    scope_.cancel(CancelReason::kStopping);
    co_await scope_.join();
    loop_state<Refresher>();  // still there
  }

 private:
  static Task<void> refresh(Refresher*) {
    const Result<void> slept = co_await sleep_for(1h);
    EXPECT_FALSE(slept.ok());
    co_await yield();
  }
  Entry entry_;
  Scope scope_;
};

TEST_F(LoopStates, ThatCloseThemselvesAreAwaitedBeforeTheyEnd) {
  const auto keep = [this](Server& server) {
    server.per_loop<Refresher>([this](Loop& its) { return std::make_unique<Refresher>(its, diary_); });
  };
  for (const unsigned threads : {0U, 2U}) {
    Server server{{.listen = {kAnyPort}, .threads = threads, .loop = threads == 0 ? &loop() : nullptr}};
    keep(server);
    server.start().value();
  }
  EXPECT_EQ(diary_.ended().size(), 3);
  Server refused{
      {.listen = {"tcp://127.0.0.1:0", "tcp://192.0.2.1:0"}, .threads = 2}};  // not an address of ours
  keep(refused);
  EXPECT_FALSE(refused.start().ok());
  EXPECT_EQ(diary_.ended().size(), 5);
}

class ClosesLate {
 public:
  explicit ClosesLate(Event& may_end) : may_end_(may_end) {}
  Task<void> close() {
    const Result<void> passed = co_await may_end_.wait();
    EXPECT_TRUE(passed.ok());
  }

 private:
  Event& may_end_;
};
class Lines final : public Logger {
 public:
  void write(LogLevel, std::string_view line) override { lines.emplace_back(line); }
  std::vector<std::string> lines;
};

TEST(LoopStatesOfASimulation, ThatDoNotCloseAreNamedInTheLog) {
  ManualClock clock;
  const auto simulated = Loop::create({.clock = &clock}).value();
  Lines log;
  Event may_end;
  Server server{
      {.listen = {"memory://late"}, .threads = 0, .loop = simulated.get(), .limits = {}, .logger = &log}};
  server.per_loop<ClosesLate>([&may_end](Loop&) { return ClosesLate{may_end}; });
  server.start().value();
  server.stop(0s);
  simulated->run_until_idle();
  EXPECT_FALSE(server.stopped());
  clock.advance(5s);
  simulated->run_until_idle();
  clock.advance(5s);
  simulated->run_until_idle();
  EXPECT_THAT(log.lines, ::testing::SizeIs(2));
  EXPECT_THAT(log.lines.at(0), ::testing::HasSubstr("waits for close() of the"));
  EXPECT_THAT(log.lines.at(0), ::testing::HasSubstr("ClosesLate"));
  may_end.set();
  simulated->run_until_idle();
  EXPECT_TRUE(server.stopped());
}

TEST_F(LoopStates, AreThereUntilTheLastHandlerHasEnded) {
  struct Held {
    std::mutex mutex;
    std::vector<Reply<int>> replies;
    std::latch taken{1};
  } held;
  Server server{{.listen = {kAnyPort}, .threads = 2}};
  server.per_loop<Entry>(Entries{diary_});
  server.register_handler("hold", [&held](Reply<int> reply) {
    const std::lock_guard lock(held.mutex);
    held.replies.push_back(std::move(reply));
    held.taken.count_down();
  });
  server.start().value();
  Client& its = client(server);
  auto waiting = its.start<remote<"hold", int()>>();
  ASSERT_TRUE(turn_until(loop(), [&] { return held.taken.try_wait(); }));
  server.stop(0s);
  EXPECT_FALSE(wait_for(std::move(waiting)).ok()) << "the grace is over";
  EXPECT_FALSE(server.stopped());
  EXPECT_THAT(diary_.ended(), ::testing::Not(::testing::Contains(1))) << "the first loop still has a handler";
  held.replies.clear();
  server.wait();
  EXPECT_EQ(diary_.ended().size(), 2);
}

/// Storage of the user's that has to be asked, as SPDK's.
class AskedDevice final : public Poller {
 public:
  AskedDevice(Loop&, Diary& diary) : entry_(diary, 1) {}
  std::size_t poll() override {
    ++asked;
    return 0;
  }
  bool arm() override { return true; }
  int descriptor() const override { return -1; }

  Entry& entry() { return entry_; }
  std::size_t asked = 0;

 private:
  Entry entry_;
};

std::size_t times_asked() {
  return loop_state<AskedDevice>().asked;
}

TEST_F(LoopStates, ThatArePollersAreAskedInEachTurnAndTakenAwayAtTheEnd) {
  std::vector<const Loop*> loops;
  Server server{{.listen = {kAnyPort}, .threads = 2}};
  server.register_handler<times_asked>();
  server.per_loop<AskedDevice>([&](Loop& its) {
    loops.push_back(&its);
    return std::make_unique<AskedDevice>(its, diary_);
  });
  server.start().value();
  EXPECT_EQ(loops.size(), 2);
  Client& its = client(server);
  const std::size_t before = call<times_asked>(its).value();
  const std::size_t after = call<times_asked>(its).value();
  EXPECT_GT(after, before);
  server.stop(0s);
  server.wait();  // a loop that is destroyed before its poller ends the process
  EXPECT_EQ(diary_.ended().size(), 2);

  Server here{{.listen = {kAnyPort}, .threads = 0, .loop = &loop()}};
  here.per_loop<AskedDevice>([&](Loop& mine) { return std::make_unique<AskedDevice>(mine, diary_); });
  here.start().value();
  std::size_t asked = 0;
  AskedDevice* device = nullptr;
  loop().post([&] { device = &loop_state<AskedDevice>(); });
  loop().run_once(0s);
  ASSERT_NE(device, nullptr);
  asked = device->asked;
  loop().run_once(0s);
  EXPECT_EQ(device->asked, asked + 1);
}

TEST_F(LoopStates, OfEveryShapeThatAFactoryMayReturn) {
  struct A : Refused {};
  struct B : Refused {};
  struct C : Refused {};
  struct D : Refused {};
  struct E : Refused {};
  struct F {
    explicit F(Loop& its) : loop(&its) {}
    Loop* loop;
  };
  Server& server = serve({.threads = 2}, [&](Server& its) {
    its.per_loop<A>([](Loop&) { return A{}; });
    its.per_loop<B>([](Loop&) { return std::make_unique<B>(); });
    its.per_loop<C>([](Loop&) -> Result<C> { return C{}; });
    its.per_loop<D>([](Loop&) -> Result<std::unique_ptr<D>> { return std::make_unique<D>(); });
    its.per_loop<E>([](Loop&) -> Task<E> {
      const Result<void> slept = co_await sleep_for(1ms);
      EXPECT_TRUE(slept.ok());
      co_return E{};
    });
    its.per_loop<F>();
    its.register_handler("right", [] {
      loop_state<A>(), loop_state<B>(), loop_state<C>(), loop_state<D>(), loop_state<E>();
      return loop_state<F>().loop == Loop::current();
    });
  });
  const bool right = wait_for(client(server).start<remote<"right", bool()>>()).value();
  EXPECT_TRUE(right);
}

TEST_F(LoopStates, OfALoopOfTheUsersAreNotMadeInsideItsTurn) {
  Server server{{.listen = {kAnyPort}, .threads = 0, .loop = &loop()}};
  server.per_loop<Entry>(Entries{diary_});
  Status failure;
  loop().post([&] { failure = server.start().status(); });
  loop().run_once(0s);
  EXPECT_EQ(failure.code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(diary_.made(), 0);
}

int square(int number) {
  return number * number;
}
Task<Result<int>> sum_of_squares(int a, int b) {
  auto& back = loop_state<Client>();
  auto first = back.start<square>(a);
  auto second = back.start<square>(b);
  const Result<int> x = co_await std::move(first);
  const Result<int> y = co_await std::move(second);
  if (!x.ok()) co_return x.status();
  if (!y.ok()) co_return y.status();
  co_return *x + *y;
}

TEST_F(LoopStates, AreClientsByWhichHandlersOfFourLoopsCallOn) {
  Server& back = serve({.threads = 2}, [](Server& its) { its.register_handler<square>(); });
  Server& front = serve({.threads = 4}, [&](Server& its) {
    its.register_handler<sum_of_squares>();
    its.per_loop<Client>([url = back.urls().front()](Loop& on) {
      return std::make_unique<Client>(on, ClientOptions{.connect = url});
    });
  });
  std::vector<Call<int>> calls;
  for (int i = 0; i < 64; ++i) {
    Client& its = client(front);
    for (int j = 0; j < 8; ++j) calls.push_back(its.start<sum_of_squares>(i, j));
  }
  const auto sums = loop().block_on(await_all(calls));
  for (int i = 0; i < 64; ++i) {
    for (int j = 0; j < 8; ++j) EXPECT_EQ(sums[i * 8 + j].value(), i * i + j * j);
  }
  EXPECT_EQ(back.stats().connections_accepted, 4) << "one for each loop of the front server";
}

using LoopStatesDeathTest = LoopStates;

TEST_F(LoopStatesDeathTest, OutsideOfALoopThereIsNone) {
  EXPECT_DEATH(loop_state<Entry>(), "outside of a loop's turn");
}

TEST_F(LoopStatesDeathTest, BlockingHandlersHaveNone) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        Server& server = serve({}, [&](Server& its) {
          its.per_loop<Entry>(Entries{diary_});
          its.register_handler<number>({.blocking = true});
        });
        static_cast<void>(call<number>(client(server)));
      },
      "a blocking handler and a function on a worker have no loop");
}

TEST_F(LoopStatesDeathTest, OfATypeThatNobodyMadeThereIsNone) {
  EXPECT_DEATH(
      {
        const auto own = Loop::create().value();
        own->post([] { loop_state<Entry>(); });
        own->run_once(0s);
      },
      "given one by per_loop");
}

TEST_F(LoopStatesDeathTest, AreAskedForBeforeTheStart) {
  Server& server = serve_here([](Server&) {});
  EXPECT_DEATH(server.per_loop<Entry>(Entries{diary_}), "say per_loop\\(\\) before start\\(\\)");
}

}  // namespace
}  // namespace weft::testing::loop_state_tests
