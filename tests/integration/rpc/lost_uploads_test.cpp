// SPDX-License-Identifier: Apache-2.0
// No handler takes a part of its items for the whole: handlers of a server and of a client, items with and
// without attachments, writers that are coroutines and threads that block. The third of five items cannot be
// decoded, or the server has no memory to keep it.
#include <atomic>
#include <string>
#include <thread>

#include "integration/rpc/picky_items.hpp"
#include "integration/rpc/rpc_testing.hpp"
#include "weft/blocking_client.hpp"

namespace weft::testing::lost_uploads_tests {
namespace {

constexpr std::string_view kBlock = "block of an item";

ReadReports reports;

// Handlers that read, and never ask how reading ended before they answer.
Task<int> tally(Reader<Picky>& items) {
  int read = 0;
  while (auto item = co_await items.next()) ++read;
  reports.note(read, items.status());
  co_return read;
}
int tally_blocking(BlockingReader<Picky>& items) {
  int read = 0;
  while (items.next()) ++read;
  reports.note(read, items.status());
  return read;
}
Stream<int> tally_on(Reader<Picky>& items) {
  int read = 0;
  while (auto item = co_await items.next()) co_yield ++read;
  reports.note(read, items.status());
}
Task<int> tally_blocks(Reader<Picky>& items) {
  int read = 0;
  while (auto item = co_await items.next()) {
    const Buffer block = items.take_attachment();
    EXPECT_EQ(as_text(block.bytes()), kBlock);
    ++read;
  }
  EXPECT_TRUE(items.attachment().empty()) << "the attachment of an item that is none";
  reports.note(read, items.status());
  co_return read;
}
int tally_blocks_blocking(BlockingReader<Picky>& items) {
  int read = 0;
  while (items.next()) {
    EXPECT_EQ(as_text(items.attachment()), kBlock);
    ++read;
  }
  EXPECT_TRUE(items.attachment().empty()) << "the attachment of an item that is none";
  reports.note(read, items.status());
  return read;
}

/// Writes the five items; returns how the call ended.
template <typename S>
Task<Result<int>> write_items(S& stream, int fault, bool attaches) {
  bool taken = true;
  for (int at = 0; taken && at < kPickyItems; ++at) {
    const Picky item = item_at(at, fault);
    if (attaches) {
      Attachment block{Buffer::copy_of(bytes_of(kBlock))};
      taken = co_await stream.write(item, std::move(block));
    } else {
      taken = co_await stream.write(item);
    }
  }
  if constexpr (requires { stream.next(); }) {
    stream.end_writing();
    while (auto count = co_await stream.next()) continue;
  }
  auto finished = co_await stream.finish();
  if (!finished.ok()) co_return finished.status();
  co_return kPickyItems;
}
template <typename S>
Result<int> write_items_blocking(S& stream, int fault, bool attaches) {
  for (int at = 0; at < kPickyItems; ++at) {
    const Picky item = item_at(at, fault);
    const bool taken = attaches ? stream.write(item, Buffer::copy_of(bytes_of(kBlock))) : stream.write(item);
    if (!taken) break;
  }
  if constexpr (requires { stream.next(); }) {
    stream.end_writing();
    while (stream.next()) continue;
  }
  const auto finished = stream.finish();
  if (!finished.ok()) return finished.status();
  return kPickyItems;
}

// Handlers of the server that send their items to a handler of the client.
template <auto M>
Task<Result<int>> send_back(CallContext& context, int fault, bool attaches) {
  Peer peer = context.peer();
  auto stream = peer.open<M>();
  Result<int> sent = co_await write_items(stream, fault, attaches);
  co_return sent;
}
template <auto M>
Result<int> send_back_blocking(CallContext& context, int fault, bool attaches) {
  Peer peer = context.peer();
  auto stream = blocking(peer).open<M>();
  return write_items_blocking(stream, fault, attaches);
}

// Handlers of the client, and handlers of the server that read from them on a worker's thread.
Stream<Picky> dictate(int fault) {
  for (int at = 0; at < kPickyItems; ++at) {
    const Picky item = item_at(at, fault);
    co_yield item;
  }
}
Task<void> dictate_blocks(Writer<Picky>& items, int fault) {
  bool taken = true;
  for (int at = 0; taken && at < kPickyItems; ++at) {
    const Picky item = item_at(at, fault);
    Attachment block{Buffer::copy_of(bytes_of(kBlock))};
    taken = co_await items.write(item, std::move(block));
  }
}
template <auto M>
Result<int> read_back_blocking(CallContext& context, int fault, bool waits) {
  Peer peer = context.peer();
  auto stream = blocking(peer).open<M>(fault);
  while (waits && !stream.done()) std::this_thread::yield();
  const Outcome outcome = read_all_blocking(stream);
  reports.note(outcome.read, outcome.status);
  if (!outcome.finished.ok()) return outcome.finished;
  return outcome.read;
}

constexpr auto& send_tally = method<send_back<tally>, "send tally">;
constexpr auto& send_tally_on = method<send_back<tally_on>, "send tally_on">;
constexpr auto& send_blocks = method<send_back<tally_blocks>, "send blocks">;
constexpr auto& worker_sends_tally = method<send_back_blocking<tally>, "worker sends tally">;
constexpr auto& worker_sends_tally_on = method<send_back_blocking<tally_on>, "worker sends tally_on">;
constexpr auto& worker_sends_blocks = method<send_back_blocking<tally_blocks>, "worker sends blocks">;
constexpr auto& worker_reads = method<read_back_blocking<dictate>, "worker reads">;
constexpr auto& worker_reads_blocks = method<read_back_blocking<dictate_blocks>, "worker reads blocks">;

std::uint64_t failures_of(const Server& server, std::string_view name) {
  for (const MethodStats& method : server.stats().methods) {
    if (method.name.ends_with(name)) return method.failures();
  }
  ADD_FAILURE() << "no method " << name;
  return 0;
}

class LostUploads : public RpcTest, public ::testing::WithParamInterface<Fault> {
 protected:
  LostUploads() {
    reports.take();
    server_ = &serve({.threads = 1}, [](Server& server) {
      server.register_handler<tally, tally_blocking, tally_on, tally_blocks, tally_blocks_blocking>();
      server.register_handler<send_tally, send_tally_on, send_blocks>();
      server.register_handler<worker_sends_tally, worker_sends_tally_on, worker_sends_blocks>(
          {.blocking = true});
      server.register_handler<worker_reads, worker_reads_blocks>({.blocking = true});
    });
    client_ = &client(*server_);
    client_->register_handler<tally, tally_on, tally_blocks, dictate, dictate_blocks>();
  }

  /// The reader has seen two items, and knows why no more; the writer's call ended by the same.
  void expect_told(const Result<int>& sent, const std::string& way) {
    const std::vector<Outcome> told = reports.take();
    ASSERT_EQ(told.size(), 1u) << way;
    EXPECT_EQ(told.front().read, 2) << way;
    EXPECT_EQ(told.front().status.code(), code_of(GetParam())) << way << told.front().status.to_string();
    expect_names_item(told.front().status, way);
    EXPECT_EQ(sent.status().code(), code_of(GetParam())) << way << sent.status().to_string();
    expect_names_item(sent.status(), way);
  }
  /// The same stream passes whole over the same connection.
  void expect_goes_on(const Result<int>& sent, const std::string& way) {
    const std::vector<Outcome> told = reports.take();
    ASSERT_EQ(told.size(), 1u) << way;
    EXPECT_EQ(told.front().read, kPickyItems) << way;
    EXPECT_TRUE(told.front().status.ok()) << way << told.front().status.to_string();
    EXPECT_TRUE(sent.ok()) << way << sent.status().to_string();
    EXPECT_EQ(client_->stats().connections, 1u) << way;
  }

  template <auto M>
  void send(const std::string& name, bool attaches) {
    const auto upload = [&](int fault) {
      auto stream = client_->open<M>();
      return loop().block_on(write_items(stream, fault, attaches));
    };
    expect_told(upload(GetParam()), name);
    EXPECT_EQ(failures_of(*server_, "::" + name), 1u);
    expect_goes_on(upload(2), name);
    EXPECT_EQ(failures_of(*server_, "::" + name), 1u);
  }
  template <auto M>
  void send_from_thread(BlockingClient& its, const std::string& name, bool attaches) {
    const auto upload = [&](int fault) {
      auto stream = its.open<M>();
      return write_items_blocking(stream, fault, attaches);
    };
    expect_told(upload(GetParam()), name);
    EXPECT_EQ(failures_of(*server_, "::" + name), 1u);
    const Result<int> whole = upload(2);
    EXPECT_TRUE(whole.ok()) << whole.status().to_string();
    EXPECT_EQ(reports.take().front().read, kPickyItems);
  }
  /// Calls `M`, which sends items to the client or reads the client's.
  template <auto M>
  void call_back(const std::string& way, bool flag) {
    expect_told(call<M>(*client_, static_cast<int>(GetParam()), flag), way);
    expect_goes_on(call<M>(*client_, 2, flag), way);
  }

  Server* server_ = nullptr;
  Client* client_ = nullptr;
};

TEST_P(LostUploads, ReadersOfAServerSeeTheItemsBeforeTheLoss) {
  send<tally>("tally", false);
  send<tally_blocking>("tally_blocking", false);
  send<tally_on>("tally_on", false);
}

TEST_P(LostUploads, AnItemWithAnAttachmentThatCannotBeDecodedFailsTheCall) {
  send<tally_blocks>("tally_blocks", true);
  send<tally_blocks_blocking>("tally_blocks_blocking", true);
}

TEST_P(LostUploads, ThreadsThatWriteAreTold) {
  BlockingClient its{{.connect = server_->urls().front()}};
  send_from_thread<tally>(its, "tally", false);
  send_from_thread<tally_blocking>(its, "tally_blocking", false);
  send_from_thread<tally_on>(its, "tally_on", false);
  send_from_thread<tally_blocks>(its, "tally_blocks", true);
  send_from_thread<tally_blocks_blocking>(its, "tally_blocks_blocking", true);
}

TEST_P(LostUploads, HandlersOfAClientSeeTheItemsBeforeTheLoss) {
  call_back<send_tally>("a reader", false);
  call_back<send_tally_on>("a generator that reads", false);
  call_back<send_blocks>("a reader of attachments", true);
}

TEST_P(LostUploads, HandlersOfAClientThatAWorkerSendsItemsSeeTheItemsBeforeTheLoss) {
  call_back<worker_sends_tally>("a reader", false);
  call_back<worker_sends_tally_on>("a generator that reads", false);
  call_back<worker_sends_blocks>("a reader of attachments", true);
}

TEST_P(LostUploads, WorkersThatReadFromAHandlerOfAClientAreTold) {
  for (const bool waits : {false, true}) {
    call_back<worker_reads>("a generator", waits);
    call_back<worker_reads_blocks>("a writer of attachments", waits);
  }
}

INSTANTIATE_TEST_SUITE_P(Faults, LostUploads, ::testing::Values(kRefused, kThrows, kNoMemory));

/// Handlers that read nothing until they may.
struct LateReaders {
  Task<int> read(Reader<std::string>& texts) {
    const Result<void> opened = co_await open.wait();
    if (!opened.ok()) co_return -1;
    int count = 0;
    while (auto text = co_await texts.next()) ++count;
    reports.note(count, texts.status());
    co_return count;
  }
  int read_blocking(BlockingReader<std::string>& texts) {
    may_read.wait(false);
    int count = 0;
    while (texts.next()) ++count;
    reports.note(count, texts.status());
    return count;
  }

  Event open;
  std::atomic<bool> may_read = false;
};

/// A server whose memory is less than the window of a stream.
class UploadsWithoutMemory : public RpcTest {
 protected:
  static constexpr int kTexts = 200;
  static constexpr std::size_t kTextBytes = 16'000;

  UploadsWithoutMemory() {
    reports.take();
    ServerOptions options;
    options.limits.process_memory_max = 512 * 1024;
    server_ = &serve_here(std::move(options), [this](Server& its) {
      its.register_handler<&LateReaders::read, &LateReaders::read_blocking>(&readers_);
    });
    client_ = &client(*server_);
  }
  template <typename S>
  static Task<Status> write_texts(S* stream, int count) {
    const std::string text(kTextBytes, 't');
    bool taken = true;
    for (int i = 0; taken && i < count; ++i) taken = co_await stream->write(text);
    auto finished = co_await stream->finish();
    co_return finished.status();
  }
  template <typename S>
  static Task<void> keep_status(S* stream, int count, Status* to, bool* done) {
    *to = co_await write_texts(stream, count);
    *done = true;
  }
  /// Writes more than the server can keep, lets `allow` start the reader, and returns the call's outcome.
  template <auto M, typename Allow>
  Status upload(Allow allow) {
    auto stream = client_->open<M>();
    Status status;
    bool done = false;
    Scope scope;
    scope.spawn(&keep_status<decltype(stream)>, &stream, kTexts, &status, &done);
    EXPECT_TRUE(turn_until(loop(), [&] { return server_->stats().traffic.bytes_received > 700'000; }));
    allow();
    EXPECT_TRUE(turn_until(loop(), [&] { return done; }));
    return status;
  }
  template <auto M>
  void expect_lost(const Status& status) {
    EXPECT_EQ(status.code(), StatusCode::kResourceExhausted) << status.to_string();
    const std::vector<Outcome> lost = reports.take();
    ASSERT_EQ(lost.size(), 1u);
    EXPECT_GT(lost.front().read, 0);
    EXPECT_LT(lost.front().read, kTexts);
    EXPECT_EQ(lost.front().status.code(), StatusCode::kResourceExhausted) << lost.front().status.to_string();
    // The memory is back, and the connection goes on.
    auto stream = client_->open<M>();
    const Status whole = loop().block_on(write_texts(&stream, kPickyItems));
    EXPECT_TRUE(whole.ok()) << whole.to_string();
    EXPECT_EQ(reports.take().front().read, kPickyItems);
    EXPECT_EQ(client_->stats().connections, 1u);
  }

  LateReaders readers_;
  Server* server_ = nullptr;
  Client* client_ = nullptr;
};

TEST_F(UploadsWithoutMemory, FailTheCallOfACoroutine) {
  const Status status = upload<&LateReaders::read>([this] { readers_.open.set(); });
  expect_lost<&LateReaders::read>(status);
}

TEST_F(UploadsWithoutMemory, FailTheCallOfAThreadThatBlocks) {
  const Status status = upload<&LateReaders::read_blocking>([this] {
    readers_.may_read = true;
    readers_.may_read.notify_all();
  });
  expect_lost<&LateReaders::read_blocking>(status);
}

}  // namespace
}  // namespace weft::testing::lost_uploads_tests
