// SPDX-License-Identifier: Apache-2.0
// CR-8: answers from memory in many places: what lands is what a copy in one run would be, their owner ends
// once and not before the memory has left, whatever becomes of the call, and what cannot be is refused with
// its name.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "integration/rpc/rpc_testing.hpp"

namespace weft::testing::answer_lists_tests {
namespace {

constexpr std::size_t kBlock = 4096;
constexpr std::size_t kBlocks = 10'000;
constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max();

std::atomic<int> live{0};

/// Blocks of which each second is to be answered, counted in `live` while they are there. Their memory is
/// overwritten before it goes, so that who reads it too late finds something else.
struct Store {
  explicit Store(std::size_t blocks) : memory(2 * blocks * kBlock) {
    for (std::size_t i = 0; i < blocks; ++i) fill_block(&memory[2 * i * kBlock], i);
    ++live;
  }
  ~Store() {
    std::memset(memory.data(), 0xDD, memory.size());
    --live;
  }
  static void fill_block(std::byte* block, std::size_t number) {
    std::memset(block, static_cast<int>(number % 251), kBlock);
    std::memcpy(block, &number, sizeof number);
    std::memcpy(block + kBlock - sizeof number, &number, sizeof number);
  }
  Bytes block(std::size_t number) const { return Bytes{memory}.subspan(2 * number * kBlock, kBlock); }
  std::vector<std::byte> memory;
};

/// The answer's blocks, from the last to the first.
Attachment reversed(std::size_t blocks) {
  const auto store = std::make_shared<const Store>(blocks);
  std::vector<Bytes> runs;
  for (std::size_t i = blocks; i > 0; --i) runs.push_back(store->block(i - 1));
  return {runs, store};
}
bool is_block(Bytes landed, std::size_t number) {
  std::array<std::byte, kBlock> expected;
  Store::fill_block(expected.data(), number);
  return std::memcmp(landed.data(), expected.data(), kBlock) == 0;
}
bool is_reversed(Bytes landed, std::size_t blocks) {
  for (std::size_t i = 0; i < blocks; ++i) {
    if (!is_block(landed.subspan(i * kBlock, kBlock), blocks - 1 - i)) return false;
  }
  return landed.size() == blocks * kBlock;
}

std::uint64_t at_once(CallContext& context, std::uint64_t blocks) {
  context.set_attachment(reversed(blocks));
  return blocks;
}
std::uint64_t on_worker(CallContext& context, std::uint64_t blocks) {
  context.set_attachment(reversed(blocks));
  return blocks;
}
Task<std::uint64_t> in_a_coroutine(CallContext& context, std::uint64_t blocks) {
  co_await yield();
  context.set_attachment(reversed(blocks));
  co_return blocks;
}
void later(Reply<std::uint64_t> reply, CallContext& context, std::uint64_t blocks) {
  context.set_attachment(reversed(blocks));
  std::move(reply)(blocks);
}
std::uint64_t strided(CallContext& context, std::uint64_t blocks) {
  const auto store = std::make_shared<const Store>(blocks);
  context.set_attachment({AttachmentView::strided(store->memory, blocks, kBlock, 2 * kBlock), store});
  return blocks;
}
/// Answers with both ends of what the request brought.
void both_ends(CallContext& context) {
  const Bytes whole = context.attachment();
  const std::array<Bytes, 2> runs{whole.first(kBlock), whole.last(kBlock)};
  context.set_attachment({runs, context.take_attachment()});
}
/// One block many times.
void same(CallContext& context, std::uint64_t times) {
  const auto store = std::make_shared<const Store>(1);
  context.set_attachment({AttachmentView::strided(store->memory.data(), times, kBlock, 0), store});
}
/// A list as the tests of faults want it, of memory that nobody reads.
void faulty(CallContext& context, int kind) {
  const auto store = std::make_shared<const Store>(1);
  const std::byte* const first = store->memory.data();
  const std::vector<Bytes> too_many(2, Bytes{first, kMost / 2 + 1});
  const AttachmentView views[] = {AttachmentView::strided(store->memory, 3, kBlock, kBlock),
                                  AttachmentView::strided(first, 3, 1, kMost / 2),
                                  AttachmentView::strided(first, kMost, 8, 8), too_many};
  context.set_attachment({views[kind], store});
}
/// Sends one item and then one whose attachment cannot be.
Stream<int> faulty_item() {
  const auto store = std::make_shared<const Store>(1);
  Attachment good{AttachmentView{store->memory}, store};
  co_yield with_attachment(1, std::move(good));
  Attachment bad{AttachmentView::strided(store->memory, 3, kBlock, kBlock), store};
  co_yield with_attachment(2, std::move(bad));
}
void faulty_item_of_a_worker(BlockingWriter<int>& items) {
  const auto store = std::make_shared<const Store>(1);
  items.write(1, {AttachmentView{store->memory}, store});
  items.write(2, {AttachmentView::strided(store->memory, 3, kBlock, kBlock), store});
}
/// Sends blocks from where they lie, by a worker's thread.
void items_of_a_worker(BlockingWriter<int>& items, int count) {
  for (int i = 0; i < count && items.write(i, reversed(50)); ++i) {
  }
}

class AnswerLists : public RpcTest {
 protected:
  AnswerLists() { live = 0; }
  ~AnswerLists() override {
    EXPECT_TRUE(turn_until(loop(), [] { return live == 0; })) << live;
  }

  static void fill(Server& server) {
    server.register_handler<at_once, in_a_coroutine, later, strided, same, faulty, faulty_item>();
    server.register_handler<on_worker, faulty_item_of_a_worker, items_of_a_worker>({.blocking = true});
  }
  template <auto F>
  void expect_reversed(Client& caller, std::size_t blocks) {
    std::vector<std::byte> landing(blocks * kBlock);
    const auto answer = wait_for_answer(caller.start<F>({.landing = landing}, std::uint64_t{blocks}));
    ASSERT_TRUE(answer.ok()) << answer.status().to_string();
    EXPECT_EQ(answer->attachment_bytes, landing.size());
    EXPECT_TRUE(is_reversed(landing, blocks));
  }
};

TEST_F(AnswerLists, ComeFromHandlersOfEveryKind) {
  Client& caller = client(serve({.threads = 1}, fill));
  for (const std::size_t blocks : {1u, 3u, 20u, 500u}) {
    expect_reversed<at_once>(caller, blocks);
    expect_reversed<in_a_coroutine>(caller, blocks);
    expect_reversed<later>(caller, blocks);
    expect_reversed<on_worker>(caller, blocks);
  }
}

TEST_F(AnswerLists, OfTenThousandBlocksGoInOneCallFromPlacesToPlaces) {
  for (const bool checksums : {false, true}) {
    Client& caller = client(serve({.threads = 1, .checksums = checksums}, fill));
    expect_reversed<at_once>(caller, kBlocks);
    std::vector<std::byte> into(2 * kBlocks * kBlock, std::byte{0xEE});
    const CallOptions options{.landing = LandingView::strided(into, kBlocks, kBlock, 2 * kBlock)};
    ASSERT_EQ(call<strided>(caller, options, std::uint64_t{kBlocks}).value(), kBlocks);
    const std::vector<std::byte> between(kBlock, std::byte{0xEE});
    for (std::size_t i = 0; i < kBlocks; ++i) {
      const Bytes landed = Bytes{into}.subspan(2 * i * kBlock, 2 * kBlock);
      ASSERT_TRUE(is_block(landed, i)) << i;
      ASSERT_EQ(std::memcmp(&landed[kBlock], between.data(), kBlock), 0) << i;
    }
  }
}

TEST_F(AnswerLists, MayHaveTheSameBlockManyTimes) {
  Client& caller = client(serve({.threads = 1}, fill));
  std::vector<std::byte> landing(100 * kBlock);
  ASSERT_TRUE(call<same>(caller, CallOptions{.landing = landing}, std::uint64_t{100}).ok());
  for (std::size_t i = 0; i < 100; ++i) ASSERT_TRUE(is_block(Bytes{landing}.subspan(i * kBlock), 0)) << i;
}

TEST_F(AnswerLists, ThatCannotBeFailTheirCallWithANameAndNothingElse) {
  Client& caller = client(serve({.threads = 1}, fill));
  const std::string_view names[] = {"leave the memory", "behind the end of all addresses",
                                    "more bytes together", "more bytes together"};
  std::vector<std::byte> landing(100);
  for (int kind = 0; kind < 4; ++kind) {
    const Status why = call<faulty>(caller, CallOptions{.landing = landing}, kind).status();
    EXPECT_EQ(why.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string{why.message()}, ::testing::HasSubstr("CallContext::set_attachment()"));
    EXPECT_THAT(std::string{why.message()}, ::testing::HasSubstr(std::string{names[kind]}));
  }
  expect_reversed<at_once>(caller, 3);
  EXPECT_EQ(caller.stats().connections, 1u);
}

TEST_F(AnswerLists, ThatAreLongerThanTheCallerTakesFailTheirCall) {
  ClientOptions options;
  options.limits.attachment_bytes_max = 10 * kBlock;
  Client& caller = client(serve({.threads = 1}, fill), options);
  std::vector<std::byte> landing(20 * kBlock);
  const auto answer = call<at_once>(caller, CallOptions{.landing = landing}, std::uint64_t{11});
  EXPECT_EQ(answer.status().code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string{answer.status().message()}, ::testing::HasSubstr("attachment"));
  expect_reversed<at_once>(caller, 10);
}

TEST_F(AnswerLists, OfItemsThatCannotBeEndTheirStreamWithAName) {
  Client& caller = client(serve({.threads = 1}, fill));
  // What a thread that blocks has written before, and is not on its way, goes with its stream.
  const auto read = [](auto stream, int least) -> Task<Status> {
    int came = 0;
    while (auto item = co_await stream.next()) came = *item;
    EXPECT_GE(came, least);
    EXPECT_LE(came, 1);
    co_return stream.status();
  };
  for (const Status& why : {loop().block_on(read(caller.open<faulty_item>(), 1)),
                            loop().block_on(read(caller.open<faulty_item_of_a_worker>(), 0))}) {
    EXPECT_EQ(why.code(), StatusCode::kInvalidArgument) << why.to_string();
    EXPECT_THAT(std::string{why.message()}, ::testing::HasSubstr("leave the memory"));
  }
  expect_reversed<at_once>(caller, 3);
  EXPECT_EQ(caller.stats().connections, 1u);
}

TEST_F(AnswerLists, OfItemsComeFromAWorkersThread) {
  Client& caller = client(serve({.threads = 1}, fill));
  const auto read = [&]() -> Task<int> {
    auto stream = caller.open<items_of_a_worker>(20);
    int right = 0;
    while (auto item = co_await stream.next()) {
      if (*item == right && is_reversed(stream.attachment(), 50)) ++right;
    }
    EXPECT_TRUE(stream.status().ok()) << stream.status().to_string();
    co_return right;
  };
  EXPECT_EQ(loop().block_on(read()), 20);
}

// At every point at which a turn of the loop may end, on one thread with the server.
TEST_F(AnswerLists, OfACallThatIsGivenUpEndTheirOwnerOnceAndTheConnectionStays) {
  Client& caller = client(serve_here(fill));
  ASSERT_TRUE(connect(caller).ok());
  int under_way = 0;
  for (const bool dropped : {false, true}) {
    for (int turns = 1; turns < 40; ++turns) {
      std::vector<std::byte> landing(400 * kBlock);
      std::optional<Call<std::uint64_t>> call{
          caller.start<at_once>({.landing = landing}, std::uint64_t{400})};
      for (int turn = 0; turn < turns; ++turn) loop().run_once(0ms);
      under_way += call->done() ? 0 : 1;
      if (!dropped) call->cancel();
      call.reset();
      std::ranges::fill(landing, std::byte{0});
      ASSERT_TRUE(turn_until(loop(), [] { return live == 0; })) << turns;
    }
  }
  EXPECT_GT(under_way, 2);
  expect_reversed<at_once>(caller, 100);
  EXPECT_EQ(caller.stats().connections, 1u);
}

TEST_F(AnswerLists, OfALostConnectionEndTheirOwnerOnce) {
  Server& server = serve_here(fill);
  for (int turns = 1; turns < 30; ++turns) {
    std::vector<std::byte> landing(400 * kBlock);
    Client caller{loop(), {.connect = server.urls().front()}};
    ASSERT_TRUE(connect(caller).ok());
    auto call = caller.start<at_once>({.landing = landing}, std::uint64_t{400});
    for (int turn = 0; turn < turns; ++turn) loop().run_once(0ms);
    caller.close();
    EXPECT_TRUE(turn_until(loop(), [] { return live == 0; })) << turns;
    [[maybe_unused]] const auto outcome = wait_for(std::move(call));
  }
}

/// Reports of the answers' ways.
struct Told {
  std::shared_ptr<TransferProgress> progress = std::make_shared<TransferProgress>();
  std::optional<bool> sent;
  /// The owner was there when the end was told.
  bool kept = false;
};
Told* told = nullptr;

std::uint64_t told_of(CallContext& context, std::uint64_t blocks, std::uint64_t rate) {
  context.set_attachment(reversed(blocks));
  context.report_progress(told->progress);
  context.set_attachment_rate(rate);
  context.on_answer_sent([](bool sent) {
    told->sent = sent;
    told->kept = live != 0;
  });
  return blocks;
}

TEST_F(AnswerLists, AreCountedAndHeldBackAsOthersAre) {
  Client& caller = client(serve_here([](Server& server) { server.register_handler<told_of>(); }));
  for (const auto& [blocks, rate] : {std::pair{3u, 0u}, std::pair{500u, 0u}, std::pair{500u, 40'000'000u}}) {
    Told its;
    told = &its;
    std::vector<std::byte> landing(blocks * kBlock);
    ASSERT_TRUE(
        call<told_of>(caller, CallOptions{.landing = landing}, std::uint64_t{blocks}, std::uint64_t{rate})
            .ok());
    ASSERT_TRUE(turn_until(loop(), [&] { return its.sent.has_value() && live == 0; }));
    EXPECT_EQ(its.sent, true);
    EXPECT_TRUE(its.kept);
    EXPECT_EQ(its.progress->to_send(), landing.size());
    EXPECT_EQ(its.progress->sent(), landing.size());
    EXPECT_TRUE(is_reversed(landing, blocks));
  }
  told = nullptr;
}

std::vector<std::byte>* written_to = nullptr;

/// Memory that the test writes to meanwhile.
void from_shared(CallContext& context) {
  std::vector<Bytes> runs;
  for (std::size_t i = 0; i < written_to->size(); i += kBlock) {
    runs.push_back(Bytes{*written_to}.subspan(i, kBlock));
  }
  context.set_attachment({AttachmentView{runs}.shared(), Buffer{}});
}

TEST_F(AnswerLists, OfMemoryThatOthersWriteToHaveTheChecksumOfWhatLeft) {
  Server& server = serve_here({.checksums = true}, [](Server& its) { its.register_handler<from_shared>(); });
  Client& caller = client(server);
  std::vector<std::byte> memory(500 * kBlock);
  written_to = &memory;
  for (const std::size_t blocks : {4u, 500u}) {
    memory.resize(blocks * kBlock);
    std::vector<std::byte> landing(memory.size());
    auto call = caller.start<from_shared>({.landing = landing});
    unsigned value = 0;
    ASSERT_TRUE(turn_until(loop(), [&] {
      std::ranges::fill(memory, static_cast<std::byte>(++value));
      return call.done();
    }));
    const auto outcome = wait_for(std::move(call));
    EXPECT_TRUE(outcome.ok()) << outcome.status().to_string();
  }
  EXPECT_EQ(caller.stats().connections, 1u);
  written_to = nullptr;
}

// Short attachments are looked at where they were received, which is received into again before the answers
// leave.
TEST_F(AnswerLists, MayShowTheRequestsAttachment) {
  Client& caller = client(serve({.threads = 1}, [](Server& its) { its.register_handler<both_ends>(); }));
  ASSERT_TRUE(connect(caller).ok());
  constexpr std::size_t kCalls = 200;
  std::vector<std::vector<std::byte>> brought;
  std::vector<std::vector<std::byte>> landings(kCalls, std::vector<std::byte>(2 * kBlock));
  std::vector<Call<void>> calls;
  for (std::uint32_t i = 0; i < kCalls; ++i) {
    brought.push_back(pattern(3 * kBlock, i + 1));
    const CallOptions options{.attachment = Bytes{brought.back()}, .landing = landings[i]};
    calls.push_back(caller.start<both_ends>(options));
  }
  for (const Result<void>& result : loop().block_on(await_all(calls))) EXPECT_TRUE(result.ok());
  for (std::size_t i = 0; i < kCalls; ++i) {
    std::vector<std::byte> expected(brought[i].begin(), brought[i].begin() + kBlock);
    expected.insert(expected.end(), brought[i].end() - kBlock, brought[i].end());
    EXPECT_EQ(landings[i], expected) << i;
  }
}

}  // namespace
}  // namespace weft::testing::answer_lists_tests
