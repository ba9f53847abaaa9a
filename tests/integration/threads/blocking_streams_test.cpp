// SPDX-License-Identifier: Apache-2.0
// Streams that block: handlers on workers' threads, and clients on threads without a loop.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <numeric>
#include <optional>
#include <set>
#include <stdexcept>

#include "integration/threads/threads_testing.hpp"

namespace weft::testing::blocking_streams_tests {
namespace {

/// A number that is no item when it is 13, and cannot be sent when it is 14.
struct Picky {
  int number = 0;
};

}  // namespace
}  // namespace weft::testing::blocking_streams_tests

template <>
struct weft::CodecTraits<weft::testing::blocking_streams_tests::Picky> {
  using Wire = int;
  static Wire to_wire(const weft::testing::blocking_streams_tests::Picky& value) {
    if (value.number == 14) throw std::runtime_error("unwilling");
    return value.number;
  }
  static bool from_wire(int number, weft::testing::blocking_streams_tests::Picky& value) {
    value.number = number;
    return number != 13;
  }
};

namespace weft::testing::blocking_streams_tests {
namespace {

// ---- Handlers that block. ----

Result<long> sum(BlockingReader<int>& numbers) {
  long sum = 0;
  while (auto number = numbers.next()) sum += *number;
  if (!numbers.status().ok()) return numbers.status();
  return sum;
}
void count_to(BlockingWriter<int>& numbers, int to) {
  for (int number = 0; number < to && numbers.write(number);) ++number;
}
Result<int> doubled(CallContext& context, BlockingReader<int>& numbers, BlockingWriter<std::string>& texts,
                    int factor) {
  if (context.method().empty()) return Status{StatusCode::kInternal, Layer::kUser, "no name"};
  int count = 0;
  while (auto number = numbers.next()) {
    ++count;
    if (!texts.write(std::to_string(*number * factor))) return texts.status();
  }
  return count;
}
/// Views of the items, and of an argument in the answer.
std::string_view longest_of(BlockingReader<std::string_view>& texts, std::string_view at_least) {
  std::size_t longest = 0;
  while (auto text = texts.next()) longest = std::max(longest, text->size());
  return at_least.substr(0, longest);
}
int throw_after(BlockingWriter<int>& numbers, int count) {
  for (int number = 0; number < count; ++number) numbers.write(number);
  throw std::runtime_error("the market closed");
}
Result<int> fail_after(BlockingWriter<int>& numbers, int count) {
  for (int number = 0; number < count; ++number) numbers.write(number);
  return user_error(7, "no more");
}
int first_only(BlockingReader<int>& numbers) {
  return numbers.next().value_or(-1);
}
void send_texts(BlockingWriter<std::string>& texts, std::size_t bytes, int count) {
  for (int i = 0; i < count; ++i) texts.write(std::string(bytes, static_cast<char>('a' + i % 20)));
}
std::uint64_t take_texts(BlockingReader<std::string>& texts) {
  std::uint64_t bytes = 0;
  while (auto text = texts.next()) bytes += text->size();
  return bytes;
}
Result<int> take_picky(BlockingReader<Picky>& items) {
  int count = 0;
  while (items.next()) ++count;
  if (!items.status().ok()) return items.status();
  return count;
}
/// Gives back each attachment that comes, with its item.
Result<std::uint64_t> repeat_blocks(BlockingReader<int>& blocks, BlockingWriter<int>& back) {
  std::uint64_t bytes = 0;
  while (auto number = blocks.next()) {
    Buffer attachment = blocks.take_attachment();
    bytes += attachment.size();
    if (!blocks.attachment().empty()) return Status{StatusCode::kInternal, Layer::kUser, "taken twice"};
    if (!back.write(*number, std::move(attachment))) return back.status();
  }
  if (!blocks.status().ok()) return blocks.status();
  return bytes;
}
/// Its answer comes behind all of them.
int send_blocks(BlockingWriter<int>& blocks, int count, std::size_t bytes) {
  int written = 0;
  while (written < count && blocks.write(written, Buffer::adopt(pattern(bytes, 7)))) ++written;
  return written;
}
int count_picky(BlockingReader<Picky>& items) {
  int count = 0;
  while (items.next()) ++count;
  return count;
}
std::string tenant_of_stream(CallContext& context, BlockingReader<int>& numbers) {
  while (numbers.next()) {
  }
  return std::string{context.metadata().find("tenant").value_or("nobody")};
}

/// Handlers that say what became of them.
class Watched {
 public:
  /// Reads until its end.
  void read(BlockingReader<int>& numbers) {
    reading.fetch_add(1);
    reading.notify_all();
    while (numbers.next()) got.fetch_add(1);
    end(numbers.status());
    if (!numbers.status().ok()) throw numbers.status();
  }
  /// Writes until nobody takes it.
  void write(BlockingWriter<std::string>& texts) {
    const std::string text(100, 'x');
    while (texts.write(text)) {
      written.fetch_add(1);
      written.notify_all();
    }
    end(texts.status());
    if (!texts.status().ok()) throw texts.status();
  }
  /// Reads nothing until it may.
  long read_later(BlockingReader<int>& numbers) {
    reading.fetch_add(1);
    reading.notify_all();
    may_read.wait();
    long sum = 0;
    while (auto number = numbers.next()) sum += *number;
    return sum;
  }

  void await_reading(int readers = 1) const {
    for (int now = reading.load(); now < readers; now = reading.load()) reading.wait(now);
  }
  Status await_end() {
    std::unique_lock lock{mutex_};
    ended_.wait(lock, [this] { return !ends_.empty(); });
    const Status status = ends_.front();
    ends_.pop_front();
    return status;
  }

  std::atomic<int> reading{0};
  std::atomic<int> got{0};
  std::atomic<int> written{0};
  std::latch may_read{1};

 private:
  void end(const Status& status) {
    const std::lock_guard lock{mutex_};
    ends_.push_back(status);
    ended_.notify_one();
  }

  std::mutex mutex_;
  std::condition_variable ended_;
  std::deque<Status> ends_;
};

// ---- Handlers that are coroutines. ----

Stream<int> generate(int to) {
  for (int number = 0; number < to; ++number) co_yield number;
}
Task<Result<long>> add_up(Reader<int>& numbers) {
  long sum = 0;
  while (auto number = co_await numbers.next()) sum += *number;
  if (!numbers.status().ok()) co_return numbers.status();
  co_return sum;
}
Stream<long> running_sum(Reader<int>& numbers) {
  long sum = 0;
  while (auto number = co_await numbers.next()) {
    sum += *number;
    co_yield sum;
  }
}
Stream<int> endless() {
  for (int number = 0;; ++number) co_yield number;
}

constexpr std::uint32_t kWindow = 4096;

class BlockingStreams : public ::testing::Test {
 protected:
  BlockingStreams() { start({}); }

  /// A server with a small window; its clients have one, too.
  void start(ServerOptions options) {
    options.listen = {"tcp://127.0.0.1:0"};
    options.threads = 1;
    options.worker_threads = 8;
    options.limits.stream_window = kWindow;
    server.emplace(std::move(options));
    server->register_handler<sum, count_to, doubled, longest_of, throw_after, fail_after, first_only>();
    server->register_handler<send_texts, take_texts, take_picky, count_picky, repeat_blocks, send_blocks,
                             tenant_of_stream>();
    server->register_handler<generate, add_up, running_sum, endless>();
    server->register_handler<echoed, add>();
    server->register_handler<&Watched::read>(&watched);
    server->register_handler<&Watched::write>(&watched);
    server->register_handler<&Watched::read_later>(&watched);
    server->start().value();
  }
  std::string url() const { return server->urls().front(); }
  ClientOptions options() const {
    ClientOptions options{.connect = url()};
    options.limits.stream_window = kWindow;
    return options;
  }

  Watched watched;
  std::optional<Server> server;
};

std::vector<int> numbers_to(int to) {
  std::vector<int> numbers(static_cast<std::size_t>(to));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}
template <typename S>
auto read_all(S& stream) {
  std::vector<std::decay_t<decltype(*stream.next())>> items;
  while (auto item = stream.next()) items.push_back(*item);
  return items;
}

TEST_F(BlockingStreams, EachShapeOfHandlerThatBlocks) {
  BlockingClient client{options()};
  auto down = client.open<count_to>(20'000);
  EXPECT_EQ(read_all(down), numbers_to(20'000));
  EXPECT_TRUE(down.status().ok()) << down.status().to_string();
  EXPECT_TRUE(down.finish().ok());

  auto up = client.open<sum>();
  for (int i = 1; i <= 20'000; ++i) ASSERT_TRUE(up.write(i));
  EXPECT_EQ(up.finish().value(), 20'000L * 20'001 / 2);

  auto both = client.open<doubled>({.timeout = 1min}, 3);
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(both.write(i));
    ASSERT_EQ(both.next(), std::to_string(3 * i));
  }
  both.end_writing();
  EXPECT_EQ(both.next(), std::nullopt);
  EXPECT_EQ(both.finish().value(), 1000);
  EXPECT_TRUE(both.status().ok());
  EXPECT_TRUE(both.done());
}

TEST_F(BlockingStreams, EachShapeOfHandlerThatIsACoroutine) {
  BlockingClient client{options()};
  auto down = client.open<generate>(20'000);
  EXPECT_EQ(read_all(down), numbers_to(20'000));
  EXPECT_TRUE(down.finish().ok());
  auto up = client.open<add_up>();
  for (int i = 1; i <= 20'000; ++i) ASSERT_TRUE(up.write(i));
  EXPECT_EQ(up.finish().value(), 20'000L * 20'001 / 2);
  auto both = client.open<running_sum>();
  long expected = 0;
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(both.write(i));
    expected += i;
    ASSERT_EQ(both.next(), expected);
  }
  both.end_writing();
  EXPECT_EQ(both.next(), std::nullopt);
  EXPECT_TRUE(both.finish().ok());
}

Task<std::string> talk_to_a_blocking_handler(Client& client) {
  auto stream = client.open<doubled>(2);
  std::string seen;
  for (int i = 0; i < 100; ++i) {
    const bool written = co_await stream.write(i);
    if (!written) co_return "not written";
    auto text = co_await stream.next();
    if (!text || *text != std::to_string(2 * i)) co_return "another text";
  }
  auto count = co_await stream.finish();
  co_return std::to_string(count.value_or(-1));
}

TEST_F(BlockingStreams, ACoroutineTalksToAHandlerThatBlocks) {
  auto loop = Loop::create().value();
  Client client{*loop, options()};
  EXPECT_EQ(loop->block_on(talk_to_a_blocking_handler(client)), "100");
}

TEST_F(BlockingStreams, OneThreadReadsAndOneWritesAtOnce) {
  BlockingClient client{options()};
  auto stream = client.open<doubled>(1);
  std::thread writer{[&] {
    for (int i = 0; i < 30'000; ++i) EXPECT_TRUE(stream.write(i));
    stream.end_writing();
  }};
  int count = 0;
  while (auto text = stream.next()) EXPECT_EQ(*text, std::to_string(count++));
  writer.join();
  EXPECT_EQ(stream.finish().value(), 30'000);
}

TEST_F(BlockingStreams, ViewsOfItemsAndOfArguments) {
  BlockingClient client{options()};
  auto stream = client.open<longest_of>("0123456789");
  for (const std::string_view text : {"a", "abcde", "abc"}) ASSERT_TRUE(stream.write(text));
  EXPECT_EQ(stream.finish().value(), "01234");
}

TEST_F(BlockingStreams, LargeItemsPassBothWays) {
  BlockingClient client{options()};
  constexpr std::size_t kBytes = 1 << 20;
  auto down = client.open<send_texts>(kBytes, 10);
  for (int i = 0; i < 10; ++i) ASSERT_EQ(down.next(), std::string(kBytes, static_cast<char>('a' + i)));
  EXPECT_EQ(down.next(), std::nullopt);
  EXPECT_TRUE(down.finish().ok());
  auto up = client.open<take_texts>();
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(up.write(std::string(kBytes, 'x')));
  EXPECT_EQ(up.finish().value(), 10 * kBytes);
}

TEST_F(BlockingStreams, AnItemOverTheLimitEndsTheStreamWithWords) {
  BlockingClient client{options()};
  auto up = client.open<take_texts>();
  EXPECT_FALSE(up.write(std::string(17 << 20, 'x')));
  EXPECT_EQ(up.status().code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(up.status().to_string(), ::testing::HasSubstr("body_bytes_max"));
  EXPECT_EQ(up.finish().status().code(), StatusCode::kResourceExhausted);
  auto down = client.open<send_texts>(std::size_t{17} << 20, 1);
  EXPECT_EQ(down.next(), std::nullopt);
  EXPECT_EQ(client.call<add>(1, 2).value(), 3);
}

TEST_F(BlockingStreams, AWriterIsAWindowAndItsRoomAheadAtMost) {
  BlockingClient client{options()};
  auto stream = client.open<&Watched::write>();
  constexpr std::uint64_t kCost = 40 + 104 + 8;  // of an item of 100 bytes, at most
  constexpr std::uint64_t kAhead = kWindow + 64 * 1024;
  int read = 0;
  for (; read < 5000; ++read) {
    ASSERT_TRUE(stream.next());
    const std::uint64_t ahead = static_cast<std::uint64_t>(watched.written.load() - read);
    ASSERT_LE(ahead * (kCost - 16), kAhead + 4 * kCost);
  }
  stream.cancel();
  EXPECT_EQ(watched.await_end().code(), StatusCode::kCancelled);
}

TEST_F(BlockingStreams, AHandlerThatDoesNotReadStopsItsCallerAndNobodyElse) {
  BlockingClient client{options()};
  auto stream = client.open<&Watched::read_later>();
  std::atomic<int> written{0};
  std::thread writer{[&] {
    for (int i = 0; i < 50'000; ++i) {
      EXPECT_TRUE(stream.write(1));
      ++written;
    }
    stream.end_writing();
  }};
  watched.await_reading();
  // What may be ahead is far less than all, however long the others go on.
  for (int i = 0; i < 200; ++i) ASSERT_EQ(client.call<add>(i, 1).value(), i + 1);
  EXPECT_LT(written.load(), 5000);
  watched.may_read.count_down();
  writer.join();
  EXPECT_EQ(stream.finish().value(), 50'000);
}

TEST_F(BlockingStreams, WhatWasWrittenBeforeAFailureIsRead) {
  BlockingClient client{options()};
  auto failed = client.open<fail_after>(3000);
  EXPECT_EQ(read_all(failed), numbers_to(3000));
  EXPECT_EQ(failed.status().native(), 7);
  EXPECT_EQ(failed.finish().status().native(), 7);
  auto thrown = client.open<throw_after>(3000);
  EXPECT_EQ(read_all(thrown), numbers_to(3000));
  EXPECT_EQ(thrown.status().code(), StatusCode::kUnknown);
  EXPECT_THAT(thrown.status().to_string(), ::testing::HasSubstr("the market closed"));
}

TEST_F(BlockingStreams, AHandlerThatEndsEarlyStopsItsCaller) {
  BlockingClient client{options()};
  auto stream = client.open<first_only>();
  while (stream.write(7)) {
  }
  EXPECT_EQ(stream.finish().value(), 7);
}

TEST_F(BlockingStreams, ACallerThatGivesUpWakesAHandlerThatReads) {
  BlockingClient client{options()};
  auto stream = client.open<&Watched::read>();
  ASSERT_TRUE(stream.write(1));
  watched.await_reading();
  stream.cancel();
  EXPECT_EQ(stream.status().code(), StatusCode::kCancelled);
  EXPECT_FALSE(stream.write(1));
  EXPECT_EQ(stream.finish().status().code(), StatusCode::kCancelled);
  EXPECT_EQ(watched.await_end().code(), StatusCode::kCancelled);
}

TEST_F(BlockingStreams, ADroppedStreamWakesAHandlerThatWrites) {
  BlockingClient client{options()};
  {
    auto stream = client.open<&Watched::write>();
    ASSERT_TRUE(stream.next());
  }
  EXPECT_EQ(watched.await_end().code(), StatusCode::kCancelled);
  {
    auto stream = client.open<&Watched::read>();
    ASSERT_TRUE(stream.write(1));
    watched.await_reading();
  }
  EXPECT_EQ(watched.await_end().code(), StatusCode::kCancelled);
}

TEST_F(BlockingStreams, AnotherThreadCancelsOneThatWaits) {
  BlockingClient client{options()};
  auto unending = client.open<endless>();
  std::thread canceller{[&] { unending.cancel(); }};
  EXPECT_EQ(unending.finish().status().code(), StatusCode::kCancelled);
  canceller.join();
  auto reads = client.open<doubled>(1);
  std::thread second{[&] { reads.cancel(); }};
  EXPECT_EQ(reads.next(), std::nullopt);
  second.join();
  EXPECT_EQ(reads.status().code(), StatusCode::kCancelled);
}

TEST_F(BlockingStreams, BothSidesEndAtTheDeadline) {
  BlockingClient client{options()};
  auto reads = client.open<&Watched::read>({.timeout = 30ms});
  // The caller's cancel may be there before the handler's own time is over.
  const auto is_late = ::testing::AnyOf(StatusCode::kDeadlineExceeded, StatusCode::kCancelled);
  EXPECT_THAT(watched.await_end().code(), is_late);
  EXPECT_EQ(reads.finish().status().code(), StatusCode::kDeadlineExceeded);
  auto writes = client.open<&Watched::write>({.timeout = 30ms});
  EXPECT_THAT(watched.await_end().code(), is_late);
  EXPECT_EQ(writes.finish().status().code(), StatusCode::kDeadlineExceeded);
  auto waits = client.open<doubled>({.timeout = 30ms}, 1);
  EXPECT_EQ(waits.next(), std::nullopt);
  EXPECT_EQ(waits.status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_FALSE(waits.write(1));
}

TEST_F(BlockingStreams, AClientThatDiesWakesItsHandlers) {
  std::optional<BlockingStreamOf<&Watched::read>> reads;
  std::optional<BlockingStreamOf<&Watched::write>> writes;
  {
    BlockingClient client{options()};
    reads.emplace(client.open<&Watched::read>());
    writes.emplace(client.open<&Watched::write>());
    ASSERT_TRUE(writes->next());
    watched.await_reading();
  }
  EXPECT_FALSE(watched.await_end().ok());
  EXPECT_FALSE(watched.await_end().ok());
  EXPECT_FALSE(reads->write(1));
  EXPECT_EQ(reads->finish().status().code(), StatusCode::kCancelled);
  while (writes->next()) {
  }
  EXPECT_EQ(writes->status().code(), StatusCode::kCancelled);
}

TEST_F(BlockingStreams, AServerStopsWhoseHandlersBlock) {
  BlockingClient client{options()};
  auto reads = client.open<&Watched::read>();
  ASSERT_TRUE(reads.write(1));
  auto writes = client.open<&Watched::write>();
  ASSERT_TRUE(writes.next());
  watched.await_reading();
  std::thread waiter{[&] {
    while (reads.write(1)) {
    }
    EXPECT_EQ(reads.status().code(), StatusCode::kUnavailable);
  }};
  server->stop(Duration::zero());
  server->wait();
  waiter.join();
  EXPECT_FALSE(watched.await_end().ok());
  EXPECT_FALSE(watched.await_end().ok());
  while (writes.next()) {
  }
  EXPECT_EQ(writes.status().code(), StatusCode::kUnavailable);
  server.reset();
}

TEST_F(BlockingStreams, BytesThatAreNoItemEndBothSides) {
  BlockingClient client{options()};
  auto stream = client.open<take_picky>();
  ASSERT_TRUE(stream.write(Picky{1}));
  ASSERT_TRUE(stream.write(Picky{13}));
  const Status failure = stream.finish().status();
  EXPECT_EQ(failure.code(), StatusCode::kInvalidArgument) << failure.to_string();
}

TEST_F(BlockingStreams, AHandlerThatDoesNotAskWhyItsItemsEndedGivesNoGoodAnswer) {
  BlockingClient client{options()};
  auto stream = client.open<count_picky>();
  ASSERT_TRUE(stream.write(Picky{1}));
  ASSERT_TRUE(stream.write(Picky{13}));
  const Status failure = stream.finish().status();
  EXPECT_EQ(failure.code(), StatusCode::kInvalidArgument) << failure.to_string();
}

TEST_F(BlockingStreams, AnItemThatCannotBeEncodedThrowsAndNothingElse) {
  BlockingClient client{options()};
  auto stream = client.open<take_picky>();
  ASSERT_TRUE(stream.write(Picky{1}));
  EXPECT_THROW(stream.write(Picky{14}), std::runtime_error);
  ASSERT_TRUE(stream.write(Picky{2}));
  EXPECT_EQ(stream.finish().value(), 2);
}

TEST_F(BlockingStreams, AttachmentsOfItemsComeAndGo) {
  BlockingClient client{options()};
  auto stream = client.open<repeat_blocks>();
  std::uint64_t sent = 0;
  int number = 0;
  for (const std::size_t bytes : {0, 1, 1000, 150'000, 3'000'000, 10}) {
    ASSERT_TRUE(stream.write(number, Buffer::adopt(pattern(bytes, 3)))) << stream.status().to_string();
    sent += bytes;
    const auto back = stream.next();
    ASSERT_TRUE(back) << stream.status().to_string();
    EXPECT_EQ(*back, number++);
    EXPECT_TRUE(same_bytes(stream.attachment(), pattern(bytes, 3))) << bytes;
  }
  const auto outcome = stream.finish();
  ASSERT_TRUE(outcome.ok()) << outcome.status().to_string();
  EXPECT_EQ(*outcome, sent);
}

TEST_F(BlockingStreams, AnAnswerComesBehindTheAttachmentsBeforeIt) {
  BlockingClient client{options()};
  auto stream = client.open<send_blocks>(5, 2'000'000);
  int count = 0;
  while (stream.next()) {
    ++count;
    EXPECT_TRUE(same_bytes(stream.take_attachment().bytes(), pattern(2'000'000, 7)));
  }
  EXPECT_TRUE(stream.status().ok()) << stream.status().to_string();
  EXPECT_EQ(count, 5);
  EXPECT_EQ(stream.finish().value(), 5);
}

// Dropped before the loop has taken it: no function of the user's runs under the stream's lock.
TEST_F(BlockingStreams, TheFunctionThatGivesAnAttachmentBackMayAskItsStream) {
  BlockingClient client{options()};
  using Stream = BlockingStreamOf<repeat_blocks>;
  struct Owner {
    Stream* stream;
    std::atomic<int> given_back = 0;
    std::byte memory{};
  };
  for (int round = 0; round < 50; ++round) {
    Owner owner{nullptr};
    {
      auto stream = client.open<repeat_blocks>();
      owner.stream = &stream;
      const auto give_back = [](void* its) noexcept {
        static_cast<void>(static_cast<Owner*>(its)->stream->status());
        ++static_cast<Owner*>(its)->given_back;
      };
      static_cast<void>(stream.write(0, Buffer::adopt({&owner.memory, 1}, &owner, give_back)));
      stream.cancel();
      while (owner.given_back == 0) std::this_thread::yield();
    }
    EXPECT_EQ(owner.given_back, 1);
  }
}

TEST_F(BlockingStreams, AStreamThatIsDroppedLeavesTheAttachmentsOnTheirWay) {
  BlockingClient client{options()};
  for (int round = 0; round < 20; ++round) {
    auto stream = client.open<send_blocks>(50, 2'000'000);
    if (round % 2 == 0) {
      EXPECT_TRUE(stream.next());
    }
  }
  auto after = client.open<send_blocks>(1, 1000);
  EXPECT_TRUE(after.next());
}

TEST_F(BlockingStreams, MetadataIsKeptAndMemoryIsRefused) {
  BlockingClient client{options()};
  auto metadata = std::make_unique<Metadata>();
  ASSERT_TRUE(metadata->set("tenant", "ann").ok());
  auto stream = client.open<tenant_of_stream>({.metadata = *metadata});
  metadata.reset();
  EXPECT_EQ(stream.finish().value(), "ann");
  std::vector<std::byte> landed(10);
  CallOptions landing;
  landing.landing = MutableBytes{landed};
  EXPECT_EQ(client.open<sum>(landing).finish().status().code(), StatusCode::kInvalidArgument);
}

TEST_F(BlockingStreams, AServerThatIsNotThereIsAStatus) {
  BlockingClient client{{.connect = "tcp://127.0.0.1:1"}};
  auto stream = client.open<sum>({.timeout = 10s});
  EXPECT_FALSE(stream.write(1));
  const Status failure = stream.finish().status();
  EXPECT_EQ(failure.code(), StatusCode::kUnavailable) << failure.to_string();
  EXPECT_TRUE(failure.unprocessed());
  BlockingClient other{options()};
  auto unknown = other.open<remote<"no/such", Stream<int>(int)>>(1);
  EXPECT_EQ(unknown.finish().status().code(), StatusCode::kUnimplemented);
}

TEST_F(BlockingStreams, AStopTokenEndsTheStream) {
  BlockingClient client{options()};
  std::stop_source stop;
  auto stream = blocking(client, stop.get_token()).open<&Watched::read>();
  std::thread stopper{[&] {
    watched.await_reading();
    stop.request_stop();
  }};
  while (stream.write(1)) {
  }
  EXPECT_EQ(stream.status().code(), StatusCode::kCancelled);
  stopper.join();
  EXPECT_EQ(watched.await_end().code(), StatusCode::kCancelled);
  auto late = blocking(client, stop.get_token()).open<sum>();
  EXPECT_EQ(late.finish().status().code(), StatusCode::kCancelled);
}

TEST_F(BlockingStreams, ThreadsThatWaitAreToldWhenTheLoopIsStopped) {
  RemoteLoop remote{url(), options()};
  auto reads = blocking(remote.client()).open<doubled>(1);
  auto writes = blocking(remote.client()).open<&Watched::read_later>();
  std::thread reader{[&] { EXPECT_EQ(reads.next(), std::nullopt); }};
  std::thread writer{[&] {
    while (writes.write(1)) {
    }
  }};
  watched.await_reading();
  remote.stop();
  reader.join();
  writer.join();
  EXPECT_EQ(reads.status().code(), StatusCode::kCancelled);
  EXPECT_THAT(writes.status().to_string(), ::testing::HasSubstr("loop was stopped"));
  EXPECT_EQ(blocking(remote.client()).open<sum>().finish().status().code(), StatusCode::kCancelled);
  watched.may_read.count_down();
}

TEST_F(BlockingStreams, ACallerMayOutliveItsClient) {
  RemoteLoop remote{url(), options()};
  BlockingCaller caller = blocking(remote.client());
  auto stream = caller.open<endless>();
  ASSERT_EQ(stream.next(), 0);
  remote.end_client();
  while (stream.next()) {
  }
  EXPECT_EQ(stream.status().code(), StatusCode::kCancelled);
  const Status late = caller.open<sum>().finish().status();
  EXPECT_THAT(late.to_string(), ::testing::HasSubstr("client has ended"));
}

TEST_F(BlockingStreams, ALoopThatNobodyTurnsDoesNotHoldAStreamForLong) {
  auto loop = Loop::create().value();
  Client client{*loop, options()};
  auto stream = blocking(client).open<sum>({.timeout = 1ms});
  EXPECT_FALSE(stream.write(1));
  EXPECT_EQ(stream.status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_THAT(stream.status().to_string(), ::testing::HasSubstr("does not turn"));
}

Task<Status> open_blocking_here(Client& client) {
  auto stream = blocking(client).open<sum>();
  co_return stream.finish().status();
}
Task<Status> use_here(BlockingStreamOf<sum>& stream) {
  stream.write(1);
  co_return stream.status();
}

TEST_F(BlockingStreams, AThreadThatWouldWaitForItselfIsTold) {
  auto loop = Loop::create().value();
  Client client{*loop, options()};
  EXPECT_EQ(loop->block_on(open_blocking_here(client)).code(), StatusCode::kFailedPrecondition);
  BlockingClient elsewhere{options()};
  auto stream = elsewhere.open<sum>();
  EXPECT_EQ(loop->block_on(use_here(stream)).code(), StatusCode::kFailedPrecondition);
}

TEST_F(BlockingStreams, InAChildOfForkItDoesNothing) {
  BlockingClient client{options()};
  auto stream = client.open<doubled>(1);
  ASSERT_TRUE(stream.write(1));
  ASSERT_EQ(stream.next(), "1");
  const ::pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const bool refused = !stream.write(2) && !stream.next() &&
                         stream.status().code() == StatusCode::kFailedPrecondition &&
                         stream.finish().status().code() == StatusCode::kFailedPrecondition &&
                         client.open<sum>().finish().status().code() == StatusCode::kFailedPrecondition;
    {
      const auto dropped = std::move(stream);
    }
    ::_exit(refused ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  ASSERT_TRUE(stream.write(3));
  EXPECT_EQ(stream.next(), "3");
  EXPECT_EQ(stream.finish().value(), 2);
}

TEST_F(BlockingStreams, AStreamThatWaitsForAWorkerIsGivenUp) {
  server.reset();
  server.emplace(ServerOptions{.listen = {"tcp://127.0.0.1:0"}, .threads = 1, .worker_threads = 1});
  server->register_handler<sum>();
  server->register_handler<&Watched::read>(&watched);
  server->start().value();
  BlockingClient client{{.connect = url()}};
  auto first = client.open<&Watched::read>();
  watched.await_reading();
  {
    auto waiting = client.open<sum>();
    ASSERT_TRUE(waiting.write(1));
    auto late = client.open<sum>({.timeout = 20ms});
    EXPECT_EQ(late.finish().status().code(), StatusCode::kDeadlineExceeded);
  }
  first.cancel();
  EXPECT_EQ(watched.await_end().code(), StatusCode::kCancelled);
  auto again = client.open<sum>();
  ASSERT_TRUE(again.write(5));
  EXPECT_EQ(again.finish().value(), 5);
}

TEST_F(BlockingStreams, AClientHasNoWorkersForHandlersThatBlock) {
  RemoteLoop remote{url(), options()};
  Status refused;
  run_on(remote.loop(), [&] { remote.client().register_handler<sum>(); });
  refused = blocking(remote.client()).call<add>(1, 2).status();
  EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument) << refused.to_string();
  EXPECT_THAT(refused.to_string(), ::testing::HasSubstr("blocking"));
}

TEST_F(BlockingStreams, ThreadsComeAndGoAndCancelAtAnyMoment) {
  RemoteLoop remote{url(), options()};
  std::atomic<int> wrong{0};
  for (int round = 0; round < 25; ++round) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 6; ++t) {
      threads.emplace_back([&, t] {
        auto stream = blocking(remote.client()).open<doubled>(1);
        std::thread canceller{[&] {
          for (int i = 0; i < t * 30; ++i) std::this_thread::yield();
          if (t != 0) stream.cancel();
        }};
        int read = 0;
        for (int i = 0; i < 200; ++i) {
          if (!stream.write(i)) break;
          auto text = stream.next();
          if (!text) break;
          if (*text != std::to_string(i)) ++wrong;
          ++read;
        }
        if (t == 0 && stream.finish().value_or(-1) != 200) ++wrong;
        if (read < 200 && stream.status().code() != StatusCode::kCancelled) ++wrong;
        canceller.join();
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(blocking(remote.client()).call<add>(1, 2).value(), 3);
}

}  // namespace
}  // namespace weft::testing::blocking_streams_tests
