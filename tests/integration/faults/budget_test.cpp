// SPDX-License-Identifier: Apache-2.0
// Faults, part "resources and load": what peers may make a server hold, all of them together.
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "integration/faults/faults_testing.hpp"
#include "integration/faults/heap_count.hpp"
#include "integration/faults/hostile_peer.hpp"
#include "weft/detail/coro/event.hpp"

namespace weft::faults::budget_tests {

using namespace weft::detail;
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

/// Keeps what it is given until it is opened. Belongs to the server's only loop, which is the test's.
struct Store {
  Event open;
  int inside = 0;

  Task<std::size_t> hold(std::string_view text) {
    ++inside;
    [[maybe_unused]] const Result<void> passed = co_await open.wait();
    --inside;
    co_return text.size();
  }
  Task<std::uint64_t> hold_attachment(CallContext& context) {
    ++inside;
    [[maybe_unused]] const Result<void> passed = co_await open.wait();
    --inside;
    co_return context.attachment().size();
  }
};

/// Takes over what it is given, for as long as it lives.
struct Shelf {
  std::vector<Buffer> kept;

  std::uint64_t keep(CallContext& context, bool for_good) {
    kept.push_back(context.take_attachment());
    if (for_good) kept.back().leave_budget();
    return kept.back().size();
  }
};

class Budgets : public FaultTest {
 protected:
  Server& serve_with(std::size_t process_memory_max) {
    ServerOptions options{.threads = 0, .loop = &loop()};
    options.limits.process_memory_max = process_memory_max;
    return serve(std::move(options), [this](Server& server) {
      server.register_handler<&attachment_size>();
      server.register_handler<&Store::hold, &Store::hold_attachment>(&store_);
      server.register_handler<&Shelf::keep>(&shelf_);
    });
  }
  /// A peer whose request was looked at: it announced an attachment of `bytes` and sent the first 8.
  HostilePeer announcing(Server& server, std::size_t bytes) {
    HostilePeer peer{server.urls().front()};
    wire::FrameHeader header = request_header<&Store::hold_attachment>(1);
    header.flags = wire::FrameFlags::kAttachment;
    header.attachment_bytes = bytes;
    peer.send(hello_bytes() + header_bytes(header) + std::string(8, 'x'));
    const std::size_t connections = server.stats().connections;
    EXPECT_TRUE(turn_until(loop(), [&] { return server.stats().connections > connections; }));
    loop().run_until_idle();
    return peer;
  }
  Result<std::uint64_t> send_attachment(Client& caller, std::size_t bytes) {
    const std::string memory(bytes, 'y');
    const CallOptions options{.attachment = as_bytes(memory)};
    return wait_for(caller.start<&attachment_size>(options));
  }

  void send_while_turning(HostilePeer& peer, std::string_view bytes) {
    faults::send_while_turning(loop(), peer, bytes);
  }

  Store store_;
  Shelf shelf_;
};

// Beside its record a handler that is a coroutine has frames, of which a kibibyte is counted.
TEST_F(Budgets, CoroutinesThatWaitCountWithTheirFrames) {
  ServerOptions options{.threads = 0, .loop = &loop()};
  options.limits.connection_memory_max = 256 * 1024;
  Server& server =
      serve(std::move(options), [this](Server& s) { s.register_handler<&Store::hold>(&store_); });
  HostilePeer peer{server.urls().front()};
  std::string requests = hello_bytes();
  for (std::uint64_t id = 1; id <= 1'000; ++id)
    requests += request_bytes<&Store::hold>(id, std::string_view{});
  send_while_turning(peer, requests);
  ASSERT_TRUE(turn_until(loop(), [&] { return server.stats().calls == 1'000; }));
  EXPECT_GT(store_.inside, 64);
  EXPECT_LE(store_.inside, 256);
  EXPECT_EQ(server.stats().refused[RefusalReason::kOverConnectionMemory],
            1'000u - static_cast<unsigned>(store_.inside));
  store_.open.set();
  loop().run_until_idle();
}

TEST_F(Budgets, WhatIsKeptForGoodLeavesThemByNameAndIsGivenBackOnce) {
  Server& server = serve_with(32 * kMiB);
  Client& caller = client(server.urls().front());
  const std::string memory(20 * kMiB, 'y');
  const auto keep = [&](bool for_good) {
    const CallOptions options{.attachment = as_bytes(memory)};
    return wait_for(caller.start<&Shelf::keep>(options, for_good)).status().code();
  };
  EXPECT_EQ(keep(false), StatusCode::kOk);
  EXPECT_EQ(keep(false), StatusCode::kResourceExhausted) << "the first one counts";
  shelf_.kept.clear();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(keep(true), StatusCode::kOk) << i;
  EXPECT_EQ(shelf_.kept.size(), 3u);
  // Memory that has left is not given back to the budget again, or there would be room for more than the
  // limit.
  shelf_.kept.clear();
  EXPECT_EQ(keep(false), StatusCode::kOk);
  EXPECT_EQ(keep(false), StatusCode::kResourceExhausted);
  shelf_.kept.clear();
  EXPECT_EQ(keep(false), StatusCode::kOk);
}

TEST_F(Budgets, PeersThatAnnounceMuchAndSendLittleDenyNobodyAnything) {
  Server& server = serve_with(32 * kMiB);
  std::vector<HostilePeer> peers;
  for (int i = 0; i < 4; ++i) peers.push_back(announcing(server, 24 * kMiB));
  EXPECT_EQ(send_attachment(client(server.urls().front()), 20 * kMiB).value(), 20 * kMiB);
}

TEST_F(Budgets, AnAttachmentForWhichTheRoomEndsWhileItArrivesCostsThatCallOnly) {
  Server& server = serve_with(32 * kMiB);
  HostilePeer late = announcing(server, 24 * kMiB);
  Client& holder = client(server.urls().front());
  const std::string memory(24 * kMiB, 'y');
  const CallOptions options{.attachment = as_bytes(memory)};
  Call<std::uint64_t> held = holder.start<&Store::hold_attachment>(options);
  ASSERT_TRUE(turn_until(loop(), [&] { return store_.inside == 1; }));

  std::thread sender([&] { late.send(std::string(24 * kMiB - 8, 'x')); });
  ASSERT_TRUE(turn_until(loop(), [&] { return server.stats().calls_refused == 1; }));
  sender.join();
  ASSERT_TRUE(turn_until(loop(), [&] { return late.readable_within(0ms); }));
  EXPECT_EQ(server.stats().connections, 2u) << "the connection of the refused call stays";

  store_.open.set();
  EXPECT_EQ(wait_for(std::move(held)).value(), 24 * kMiB);
  EXPECT_EQ(send_attachment(holder, 20 * kMiB).value(), 20 * kMiB) << "nothing is charged any more";
}

TEST_F(Budgets, BodiesOnTheirWayCountAsFarAsTheyHaveArrived) {
  Server& server = serve_with(8 * kMiB);
  store_.open.set();
  const std::string request =
      frame_bytes(request_header<&Store::hold>(1), body_of(std::string(3 * kMiB + kMiB / 2, 'b')));
  const auto send_part = [&](std::string_view part) {
    auto peer = std::make_unique<HostilePeer>(server.urls().front());
    send_while_turning(*peer, hello_bytes() + std::string{part});
    EXPECT_TRUE(peer->receive_hello());
    return peer;
  };
  const std::string_view most = std::string_view{request}.substr(0, 3 * kMiB);
  auto first = send_part(most);
  auto second = send_part(most);
  auto third = send_part(most);
  const auto end_of = [&](HostilePeer& peer) {
    send_while_turning(peer, std::string_view{request}.substr(most.size()));
    EXPECT_TRUE(turn_until(loop(), [&] { return peer.readable_within(0ms); }));
    return peer.receive_frame();
  };
  const auto refused = end_of(*third);
  ASSERT_TRUE(refused.has_value());
  EXPECT_EQ(wire::AnswerView{refused->header}.code(), static_cast<unsigned>(StatusCode::kResourceExhausted));
  EXPECT_EQ(server.stats().calls_refused, 1u);
  EXPECT_EQ(server.stats().connections, 3u) << "the connection of the refused call stays";

  first.reset();
  ASSERT_TRUE(turn_until(loop(), [&] { return server.stats().connections == 2; }));
  send_while_turning(*third, most);
  const auto answered = end_of(*third);
  ASSERT_TRUE(answered.has_value());
  EXPECT_TRUE(wire::AnswerView{answered->header}.succeeded()) << "what the first one held is free again";
  const auto whole = end_of(*second);
  ASSERT_TRUE(whole.has_value());
  EXPECT_TRUE(wire::AnswerView{whole->header}.succeeded());
}

// What a handler looks at holds its body, and not what was received together with it.
TEST_F(Budgets, ABodyThatIsASmallPartOfItsChunkDoesNotHoldIt) {
  Server& server = serve_with(32 * kMiB);
  HostilePeer peer{server.urls().front()};
  const auto request = [](std::uint64_t id, std::size_t bytes) {
    return frame_bytes(request_header<&Store::hold>(id), body_of(std::string(bytes, 'b')));
  };
  send_while_turning(peer, hello_bytes() + request(1, 20'000) + request(2, 9'000));
  ASSERT_TRUE(turn_until(loop(), [&] { return store_.inside == 2; }));
  loop().run_until_idle();
  EXPECT_EQ(loop().chunks().chunks_out(), 0u);
  send_while_turning(peer, request(3, 300'000));
  ASSERT_TRUE(turn_until(loop(), [&] { return store_.inside == 3; }));
  loop().run_until_idle();
  EXPECT_EQ(loop().chunks().chunks_out(), 1u) << "a large one keeps its own, without a copy";
  store_.open.set();
  ASSERT_TRUE(turn_until(loop(), [&] { return store_.inside == 0; }));
}

TEST_F(Budgets, BodiesThatHandlersKeepAreBoundedHoweverSmallTheyAre) {
  Server& server = serve_with(2 * kMiB);
  Client& greedy = client(server.urls().front());
  const std::string text(4000, 't');
  std::vector<Call<std::size_t>> calls;
  for (int i = 0; i < 1000; ++i) calls.push_back(greedy.start<&Store::hold>(text));
  const auto done = [](const Call<std::size_t>& call) { return call.done(); };
  ASSERT_TRUE(turn_until(loop(), [&] {
    return static_cast<std::size_t>(store_.inside) + server.stats().calls_refused == 1000;
  }));
  EXPECT_LE(static_cast<std::size_t>(store_.inside) * text.size(), 2 * kMiB);
  EXPECT_GE(static_cast<std::size_t>(store_.inside) * text.size(), kMiB);

  Client& modest = client(server.urls().front());
  Call<std::size_t> one = modest.start<&Store::hold>(text);
  const int before = store_.inside;
  EXPECT_TRUE(turn_until(loop(), [&] { return store_.inside == before + 1; }))
      << "the one who holds much has left room for the one who holds little";

  store_.open.set();
  EXPECT_EQ(wait_for(std::move(one)).value(), text.size());
  ASSERT_TRUE(turn_until(loop(), [&] { return std::ranges::all_of(calls, done); }));
  for (Call<std::size_t>& call : calls) {
    const Result<std::size_t> result = wait_for(std::move(call));
    if (!result.ok()) {
      EXPECT_EQ(result.status().code(), StatusCode::kResourceExhausted);
    }
  }
  EXPECT_EQ(wait_for(greedy.start<&Store::hold>(text)).value(), text.size());
}

std::string answer_at_once(std::uint32_t bytes) {
  return std::string(bytes, 'a');
}
Task<std::string> answer_from_coroutine(std::uint32_t bytes) {
  co_return std::string(bytes, 'a');
}
void answer_by_reply(Reply<std::string> reply, std::uint32_t bytes) {
  std::move(reply)(std::string(bytes, 'a'));
}
std::string answer_from_worker(std::uint32_t bytes) {
  return std::string(bytes, 'a');
}
void reply_from_worker(Reply<std::string> reply, std::uint32_t bytes) {
  std::move(reply)(std::string(bytes, 'a'));
}
/// Threads that are not the server's, to which a handler hands its Reply.
class Repliers {
 public:
  Repliers() {
    for (int i = 0; i < 4; ++i) threads_.emplace_back([this] { work(); });
  }
  ~Repliers() {
    {
      const std::lock_guard lock(mutex_);
      closing_ = true;
    }
    wanted_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  void reply_elsewhere(Reply<std::string> reply, std::uint32_t bytes) {
    const std::lock_guard lock(mutex_);
    replies_.emplace_back(std::move(reply), bytes);
    wanted_.notify_one();
  }

 private:
  void work() {
    for (;;) {
      std::unique_lock lock(mutex_);
      wanted_.wait(lock, [&] { return !replies_.empty() || closing_; });
      if (replies_.empty()) return;
      auto [reply, bytes] = std::move(replies_.back());
      replies_.pop_back();
      lock.unlock();
      std::move(reply)(std::string(bytes, 'a'));
    }
  }

  std::mutex mutex_;
  std::condition_variable wanted_;
  std::vector<std::pair<Reply<std::string>, std::uint32_t>> replies_;
  bool closing_ = false;
  std::vector<std::thread> threads_;
};

std::string throw_at_once(std::uint32_t bytes) {
  throw std::runtime_error(std::string(bytes, 'e'));
}
void fail_by_reply(Reply<std::string> reply, std::uint32_t bytes) {
  std::move(reply).fail(user_error(1, std::string(bytes, 'f')));
}

/// Peers that ask for so many answers each, of so many bytes.
struct Asked {
  std::size_t peers = 30;
  std::uint64_t answers = 100;
  std::uint32_t bytes = 100'000;
};

/// Bytes of heap that peers make a server with a limit of 16 MiB take, who ask for answers and read nothing.
template <auto M>
void expect_bounded_answers(Server& server, const Asked& asked = {}) {
  std::string requests;
  for (std::uint64_t id = 1; id <= asked.answers; ++id) requests += request_bytes<M>(id, asked.bytes);
  const std::uint64_t calls_before = server.stats().calls;
  const std::size_t before = heap_bytes();
  restart_heap_peak();
  std::vector<HostilePeer> peers;
  for (std::size_t i = 0; i < asked.peers; ++i) {
    peers.emplace_back(server.urls().front(), 4096);
    ASSERT_TRUE(peers.back().send(hello_bytes() + requests));
  }
  EXPECT_TRUE(eventually([&] { return server.stats().calls >= calls_before + asked.peers; }));
  // Those that read everything see that nothing was lost but what was refused.
  for (HostilePeer& peer : peers) {
    ASSERT_TRUE(peer.receive_hello());
    for (std::uint64_t i = 0; i < asked.answers; ++i) ASSERT_TRUE(peer.receive_frame().has_value());
  }
  const std::size_t most = heap_peak_bytes() - before;
  std::printf("at most %zu KiB for %zu peers of %s\n", most / 1024, asked.peers,
              std::string{detail::method_key<M>.name}.c_str());
  peers.clear();
  EXPECT_TRUE(
      eventually([&] { return server.stats().connections == 0 && server.stats().calls_running == 0; }));
  // Chunks of answers that were sent are kept for the next ones, and not charged any more.
  constexpr std::size_t kKept = 16 * kMiB;
  EXPECT_LE(most, 16 * kMiB + 16 * kMiB / 10 + asked.peers * 128 * 1024 + kKept)
      << "more than the limit and a tenth";
  EXPECT_GE(most, 4 * kMiB) << "it was not put to the test";
  EXPECT_TRUE(eventually([&] { return heap_bytes() <= before + 9 * kMiB; })) << "more than the pools keep";
}

TEST_F(Budgets, AnswersThatWaitOnALoopAreBoundedWhoeverMakesThem) {
  if (!kHeapIsCounted) GTEST_SKIP() << "the sanitizer's operator new is not counted";
  ServerOptions options{.threads = 2};
  options.limits.process_memory_max = 16 * kMiB;
  Server& server = serve(std::move(options), [](Server& its) {
    its.register_handler<&answer_at_once, &answer_from_coroutine, &answer_by_reply>();
  });
  expect_bounded_answers<&answer_at_once>(server);
  expect_bounded_answers<&answer_from_coroutine>(server);
  expect_bounded_answers<&answer_by_reply>(server);
}

TEST_F(Budgets, AnswersThatComeFromOtherThreadsAreBounded) {
  if (!kHeapIsCounted) GTEST_SKIP() << "the sanitizer's operator new is not counted";
  Repliers repliers;
  ServerOptions options{.threads = 2};
  options.limits.process_memory_max = 16 * kMiB;
  Server& server = serve(std::move(options), [&](Server& its) {
    its.register_handler<&answer_from_worker, &reply_from_worker>({.blocking = true});
    its.register_handler<&Repliers::reply_elsewhere>(&repliers);
  });
  expect_bounded_answers<&answer_from_worker>(server);
  expect_bounded_answers<&reply_from_worker>(server);
  expect_bounded_answers<&Repliers::reply_elsewhere>(server);
}

TEST_F(Budgets, TextsOfFailuresThatNobodyReadsAreBounded) {
  if (!kHeapIsCounted) GTEST_SKIP() << "the sanitizer's operator new is not counted";
  ServerOptions options{.threads = 1};
  options.limits.process_memory_max = 16 * kMiB;
  Server& server =
      serve(std::move(options), [](Server& its) { its.register_handler<&throw_at_once, &fail_by_reply>(); });
  expect_bounded_answers<&throw_at_once>(server, {.peers = 60, .answers = 3, .bytes = 1'000'000});
  expect_bounded_answers<&fail_by_reply>(server, {.peers = 60, .answers = 3, .bytes = 1'000'000});
}

}  // namespace
}  // namespace weft::faults::budget_tests
