// SPDX-License-Identifier: Apache-2.0
// No reader of a stream takes a part of the items for the whole. The third of five items cannot be
// decoded; each way to read is tried while the writer runs, and after it has ended.
#include <stdexcept>
#include <string>
#include <thread>

#include "integration/rpc/rpc_testing.hpp"

namespace weft::testing::lost_items_tests {
namespace {

/// Ways in which decoding an item fails.
enum Fault : int { kRefused = 13, kThrows = 14, kNoMemory = 15 };

/// A number that cannot be decoded if it is a Fault.
struct Picky {
  int number = 0;
};

}  // namespace
}  // namespace weft::testing::lost_items_tests

template <>
struct weft::CodecTraits<weft::testing::lost_items_tests::Picky> {
  using Wire = int;
  static Wire to_wire(const weft::testing::lost_items_tests::Picky& value) { return value.number; }
  static bool from_wire(int number, weft::testing::lost_items_tests::Picky& value) {
    if (number == weft::testing::lost_items_tests::kThrows) throw std::runtime_error("unwilling");
    if (number == weft::testing::lost_items_tests::kNoMemory) throw std::bad_alloc();
    value.number = number;
    return number != weft::testing::lost_items_tests::kRefused;
  }
};

namespace weft::testing::lost_items_tests {
namespace {

constexpr int kItems = 5;

Picky item_at(int at, int fault) {
  return {at == 2 ? fault : at};
}

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

/// Items that were read, and the two reports of the end.
struct Outcome {
  int read = 0;
  Status status{};
  Status finished{};
};

template <typename S>
Task<Outcome> read_all(S& stream) {
  Outcome outcome;
  while (auto item = co_await stream.next()) ++outcome.read;
  outcome.status = stream.status();
  auto finished = co_await stream.finish();
  outcome.finished = finished.status();
  co_return outcome;
}
template <typename S>
Outcome read_all_blocking(S& stream) {
  Outcome outcome;
  while (stream.next()) ++outcome.read;
  outcome.status = stream.status();
  outcome.finished = stream.finish().status();
  return outcome;
}

void expect_loss(const Outcome& outcome, const std::string& way) {
  EXPECT_EQ(outcome.read, 2) << way;
  EXPECT_FALSE(outcome.status.ok()) << way;
  EXPECT_FALSE(outcome.finished.ok()) << way;
  EXPECT_EQ(outcome.finished.code(), outcome.status.code()) << way << ": " << outcome.finished.to_string();
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

INSTANTIATE_TEST_SUITE_P(Faults, LostItems, ::testing::Values(kRefused, kThrows, kNoMemory));

}  // namespace
}  // namespace weft::testing::lost_items_tests
