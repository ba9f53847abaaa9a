// SPDX-License-Identifier: Apache-2.0
// No reader of a stream takes a part of the items for the whole. The third of five items cannot be
// decoded; each way to read is tried while the writer runs, and after it has ended.
#include <atomic>
#include <string>
#include <thread>

#include "integration/raw_stream_server.hpp"
#include "integration/raw_uploader.hpp"
#include "integration/rpc/picky_items.hpp"
#include "integration/rpc/rpc_testing.hpp"

namespace weft::testing::lost_items_tests {
namespace {

constexpr int kItems = kPickyItems;

// Handlers that write.
Stream<Picky> generate(int fault) {
  for (int at = 0; at < kItems; ++at) {
    const Picky item = item_at(at, fault);
    co_yield item;
  }
}
Task<int> write(Writer<Picky>& items, int fault) {
  int written = 0;
  for (bool taken = true; taken && written < kItems; written += taken) {
    const Picky item = item_at(written, fault);
    taken = co_await items.write(item);
  }
  co_return written;
}
int write_blocking(BlockingWriter<Picky>& items, int fault) {
  int written = 0;
  while (written < kItems && items.write(item_at(written, fault))) ++written;
  return written;
}
Task<int> write_with_attachments(Writer<Picky>& items, int fault) {
  int written = 0;
  for (bool taken = true; taken && written < kItems; written += taken) {
    const Picky item = item_at(written, fault);
    Attachment attachment{Buffer::copy_of(bytes_of("block"))};
    taken = co_await items.write(item, std::move(attachment));
  }
  co_return written;
}

// Handlers that read, and never ask how reading ended.
Task<int> count(Reader<Picky>& items) {
  int read = 0;
  while (auto item = co_await items.next()) ++read;
  co_return read;
}
int count_blocking(BlockingReader<Picky>& items) {
  int read = 0;
  while (items.next()) ++read;
  return read;
}
Stream<int> count_on(Reader<Picky>& items) {
  int read = 0;
  while (auto item = co_await items.next()) co_yield ++read;
}

/// Reads a stream that a handler of the peer's writes.
template <auto M>
Task<Result<int>> read_from_caller(CallContext& context, int fault) {
  Peer peer = context.peer();
  auto items = peer.open<M>(fault);
  const Outcome outcome = co_await read_all(items);
  expect_loss(outcome, "a stream of a client");
  co_return outcome.read;
}

class LostItems : public RpcTest, public ::testing::WithParamInterface<Fault> {
 protected:
  LostItems() {
    server_ = &serve({.threads = 1}, [](Server& server) {
      server.register_handler<generate, write, write_blocking, write_with_attachments, count, count_blocking,
                              count_on, read_from_caller<generate>>();
    });
    client_ = &client(*server_);
    client_->register_handler<generate>();
  }

  /// The connection goes on: a stream without a fault is read whole, and returns its windows and memory.
  void expect_connection_goes_on() {
    auto items = client_->open<write>(1);
    const Outcome outcome = loop().block_on(read_all(items));
    EXPECT_EQ(outcome.read, kItems);
    EXPECT_TRUE(outcome.status.ok()) << outcome.status.to_string();
    EXPECT_TRUE(outcome.finished.ok()) << outcome.finished.to_string();
    EXPECT_EQ(client_->stats().connections, 1u);
  }

  template <auto M>
  void read(const std::string& way) {
    {
      auto items = client_->open<M>(GetParam());
      expect_loss(loop().block_on(read_all(items)), way + ", at once");
    }
    {
      auto items = client_->open<M>(GetParam());
      ASSERT_TRUE(turn_until(loop(), [&] { return items.done(); })) << way;
      expect_loss(loop().block_on(read_all(items)), way + ", after its end");
    }
    expect_connection_goes_on();
  }

  template <auto M>
  auto send(const std::string& way) {
    auto items = client_->open<M>();
    const auto upload = [&]() -> Task<Status> {
      for (int at = 0; at < kItems; ++at) {
        const Picky item = item_at(at, GetParam());
        const bool taken = co_await items.write(item);
        if (!taken) break;
      }
      auto finished = co_await items.finish();
      co_return finished.status();
    };
    const Status finished = loop().block_on(upload());
    EXPECT_FALSE(finished.ok()) << way;
    expect_connection_goes_on();
  }

  Server* server_ = nullptr;
  Client* client_ = nullptr;
};

TEST_P(LostItems, AreReportedToReadersOfAClient) {
  read<generate>("a generator");
  read<write>("a writer");
  read<write_blocking>("a writer that blocks");
  read<write_with_attachments>("a writer of attachments");
}

TEST_P(LostItems, FailTheCallWhateverItsHandlerReturns) {
  send<count>("a reader");
  send<count_blocking>("a reader that blocks");
  send<count_on>("a generator that reads");
}

TEST_P(LostItems, AreReportedToReadersOfAServersOwnStream) {
  const Result<int> read = call<read_from_caller<generate>>(*client_, static_cast<int>(GetParam()));
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  EXPECT_EQ(*read, 2);
  expect_connection_goes_on();
}

TEST_P(LostItems, AreReportedToThreadsThatBlock) {
  const std::unique_ptr<LoopThread> owned = LoopThread::start().value();
  LoopThread& thread = *owned;
  std::unique_ptr<Client> its_client;
  run_on(thread.loop(), [&] {
    its_client = std::make_unique<Client>(thread.loop(), ClientOptions{.connect = server_->urls().front()});
  });
  {
    auto items = blocking(*its_client).open<write>(GetParam());
    expect_loss(read_all_blocking(items), "at once");
  }
  {
    auto items = blocking(*its_client).open<write>(GetParam());
    while (!items.done()) std::this_thread::yield();
    expect_loss(read_all_blocking(items), "after its end");
  }
  auto items = blocking(*its_client).open<write>(1);
  const Outcome whole = read_all_blocking(items);
  EXPECT_EQ(whole.read, kItems);
  EXPECT_TRUE(whole.status.ok());
  EXPECT_TRUE(whole.finished.ok());
  run_on(thread.loop(), [&] { its_client.reset(); });
}

/// Bodies of items that cannot be decoded: no bytes, and more than any number has.
const std::string kMalformed[] = {"", std::string(12, '\xFF')};

std::string encoded(int number) {
  std::string bytes(encoded_size(number), '\0');
  encode_to(reinterpret_cast<std::byte*>(bytes.data()), bytes.size(), number);
  return bytes;
}
std::vector<std::string> raw_items(const std::string& third) {
  return {encoded(0), encoded(1), third, encoded(3), encoded(4)};
}

class MalformedItems : public RpcTest {};

TEST_F(MalformedItems, AreReportedToEachReaderOfAClient) {
  for (const std::string& malformed : kMalformed) {
    for (const bool after_its_end : {false, true}) {
      const std::string way =
          std::to_string(malformed.size()) + " bytes" + (after_its_end ? ", at the end" : "");
      RawStreamServer server{raw_items(malformed), raw_items(encoded(2)), encoded(kItems)};
      Client& its = client(server.url());
      {
        auto items = its.open<write>(0);
        if (after_its_end) {
          ASSERT_TRUE(turn_until(loop(), [&] { return items.done(); })) << way;
        }
        expect_loss(loop().block_on(read_all(items)), way);
      }
      auto items = its.open<write>(0);
      EXPECT_EQ(loop().block_on(read_all(items)).read, kItems) << way;
      EXPECT_EQ(server.requests(), 2) << "the connection goes on";
      its.close();
    }
  }
}

TEST_F(MalformedItems, AreReportedToThreadsThatBlock) {
  for (const std::string& malformed : kMalformed) {
    RawStreamServer server{raw_items(malformed), raw_items(encoded(2)), encoded(kItems)};
    BlockingClient its{{.connect = server.url()}};
    {
      auto items = its.open<write>(0);
      expect_loss(read_all_blocking(items), "a thread that blocks");
    }
    auto items = its.open<write>(0);
    EXPECT_EQ(read_all_blocking(items).read, kItems);
    EXPECT_EQ(server.requests(), 2) << "the connection goes on";
  }
}

TEST_F(MalformedItems, FailTheCallWhateverItsHandlerReturns) {
  Server& server =
      serve({.threads = 1}, [](Server& its) { its.register_handler<count, count_blocking, count_on>(); });
  for (const std::string& malformed : kMalformed) {
    RawUploader peer{server.urls().front(), loop()};
    const auto each = [&]<auto M>() {
      EXPECT_NE((peer.upload<M>(raw_items(malformed)).code), StatusCode::kOk);
      EXPECT_EQ((peer.upload<M>(raw_items(encoded(2))).code), StatusCode::kOk);
    };
    each.template operator()<count>();
    each.template operator()<count_blocking>();
    each.template operator()<count_on>();
  }
}

std::atomic<int> endless_ended = 0;

/// Writes until nobody takes more.
Task<void> write_endlessly(Writer<std::string>& items) {
  const std::string text(16'000, 'e');
  bool taken = true;
  while (taken) taken = co_await items.write(text);
  ++endless_ended;
}

/// A client whose memory is less than the window of a stream.
class ItemsWithoutMemory : public RpcTest {
 protected:
  ItemsWithoutMemory() {
    endless_ended = 0;
    server_ = &serve({.threads = 1}, [](Server& its) { its.register_handler<write_endlessly, write>(); });
    options_.connect = server_->urls().front();
    options_.limits.process_memory_max = 512 * 1024;
  }
  template <typename S>
  static Task<Outcome> read_to_the_end(S* items) {
    Outcome outcome;
    while (auto item = co_await items->next()) ++outcome.read;
    outcome.status = items->status();
    co_return outcome;
  }

  Server* server_ = nullptr;
  ClientOptions options_;
};

TEST_F(ItemsWithoutMemory, EndTheStreamForReaderAndWriter) {
  Client& its = client(server_->urls().front(), options_);
  auto items = its.open<write_endlessly>();
  // All that the window allows arrives before the first is read.
  ASSERT_TRUE(turn_until(loop(), [&] { return its.stats().traffic.bytes_received > 700'000; }));
  const Outcome outcome = loop().block_on(read_to_the_end(&items));
  EXPECT_GT(outcome.read, 0);
  EXPECT_EQ(outcome.status.code(), StatusCode::kResourceExhausted) << outcome.status.to_string();
  EXPECT_TRUE(turn_until(loop(), [] { return endless_ended == 1; })) << "the writer hears before finish()";
  const auto finish = [&]() -> Task<Status> {
    auto finished = co_await items.finish();
    co_return finished.status();
  };
  EXPECT_EQ(loop().block_on(finish()).code(), StatusCode::kResourceExhausted);
  auto whole = its.open<write>(1);
  EXPECT_EQ(loop().block_on(read_all(whole)).read, kItems) << "the memory is back";
}

TEST_F(ItemsWithoutMemory, EndTheStreamForThreadsThatBlock) {
  BlockingClient its{options_};
  auto items = its.open<write_endlessly>();
  while (endless_ended == 0) std::this_thread::yield();
  while (items.next()) continue;
  EXPECT_EQ(items.status().code(), StatusCode::kResourceExhausted) << items.status().to_string();
  EXPECT_EQ(items.finish().status().code(), StatusCode::kResourceExhausted);
  auto whole = its.open<write>(1);
  EXPECT_EQ(read_all_blocking(whole).read, kItems) << "the memory is back";
}

INSTANTIATE_TEST_SUITE_P(Faults, LostItems, ::testing::Values(kRefused, kThrows, kNoMemory));

}  // namespace
}  // namespace weft::testing::lost_items_tests
