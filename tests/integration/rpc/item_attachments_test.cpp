// SPDX-License-Identifier: Apache-2.0
// Attachments of streams' items: what their writer gives away arrives whole with its item and before the next
// one, whatever ends meanwhile, and calls and other streams pass between its pieces.
#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "integration/rpc/rpc_testing.hpp"
#include "weft/detail/coro/event.hpp"

namespace weft::testing::item_attachments_tests {
namespace {

constexpr std::size_t kLarge = 1'500'001;
constexpr std::size_t kHuge = std::size_t{64} << 20;

/// Memory of which `live` counts how much is there.
Buffer counted(std::size_t bytes, std::atomic<int>* live) {
  struct Owner {
    std::vector<std::byte> memory;
    std::atomic<int>* live;
  };
  auto* const owner = new Owner{bytes > kLarge ? std::vector<std::byte>(bytes) : pattern(bytes), live};
  ++*live;
  return Buffer::adopt(owner->memory, owner, [](void* each) noexcept {
    const std::unique_ptr<Owner> ended{static_cast<Owner*>(each)};
    --*ended->live;
  });
}

std::atomic<int> live{0};
std::atomic<int> written{0};
Event* go_on = nullptr;

Stream<int> send_blocks(int count, std::size_t bytes) {
  for (int i = 0; i < count; ++i) {
    co_yield with_attachment(i, counted(bytes, &live));
    ++written;
  }
}
/// Bytes of the attachments that came, of which it keeps the last.
Task<Result<std::uint64_t>> take_blocks(Reader<int>& blocks) {
  std::uint64_t bytes = 0;
  Buffer kept;
  while (auto block = co_await blocks.next()) {
    kept = blocks.take_attachment();
    if (!blocks.attachment().empty()) co_return Status{StatusCode::kInternal, Layer::kUser, "taken twice"};
    bytes += kept.size();
    if (!same_bytes(kept.bytes(), pattern(kept.size()))) {
      co_return Status{StatusCode::kDataLoss, Layer::kUser, "other bytes"};
    }
  }
  if (!blocks.status().ok()) co_return blocks.status();
  co_return bytes;
}
/// Reads one, and nothing more until it may.
Task<int> take_one(Reader<int>& blocks) {
  auto first = co_await blocks.next();
  [[maybe_unused]] const Result<void> waited = co_await go_on->wait();
  co_return first ? static_cast<int>(blocks.attachment().size()) : -1;
}
int plus(int a, int b) {
  return a + b;
}

class ItemAttachments : public RpcTest {
 protected:
  ItemAttachments() {
    live = written = 0;
    go_on = &event_;
  }
  Server& serve_all(RpcLimits limits = {}) {
    ServerOptions options{.listen = {"tcp://127.0.0.1:0"}, .threads = 0, .loop = &loop()};
    options.limits = limits;
    return serve(std::move(options),
                 [](Server& server) { server.register_handler<send_blocks, take_blocks, take_one, plus>(); });
  }
  void turn_until_gone() {
    EXPECT_TRUE(turn_until(loop(), [] { return live == 0; })) << live;
  }

  Event event_;
};

TEST_F(ItemAttachments, GoUpAndDownAndAreGivenBack) {
  Client& caller = client(serve_all());
  const auto upload = [&]() -> Task<Result<std::uint64_t>> {
    constexpr std::size_t sizes[] = {1000, kLarge};
    auto stream = caller.open<take_blocks>();
    for (int i = 0; i < 20; ++i) {
      const bool taken = co_await stream.write(i, counted(sizes[i % 2], &live));
      if (!taken) break;
    }
    Result<std::uint64_t> bytes = co_await stream.finish();
    co_return bytes;
  };
  const auto uploaded = loop().block_on(upload());
  ASSERT_TRUE(uploaded.ok()) << uploaded.status().to_string();
  EXPECT_EQ(*uploaded, 10u * (1000 + kLarge));
  turn_until_gone();
  const auto download = [&]() -> Task<std::uint64_t> {
    auto stream = caller.open<send_blocks>(20, kLarge);
    std::uint64_t bytes = 0;
    while (auto block = co_await stream.next()) bytes += stream.attachment().size();
    EXPECT_TRUE(stream.status().ok()) << stream.status().to_string();
    co_return bytes;
  };
  EXPECT_EQ(loop().block_on(download()), 20 * kLarge);
  turn_until_gone();
}

TEST_F(ItemAttachments, AnEmptyOneIsNone) {
  Client& caller = client(serve_all());
  const auto upload = [&]() -> Task<Result<std::uint64_t>> {
    auto stream = caller.open<take_blocks>();
    const bool taken = co_await stream.write(1, Buffer{});
    EXPECT_TRUE(taken);
    Result<std::uint64_t> bytes = co_await stream.finish();
    co_return bytes;
  };
  EXPECT_EQ(loop().block_on(upload()).value(), 0u);
}

// A window holds a part of one, and the writer waits until its item was read.
TEST_F(ItemAttachments, HoldTheirWriterBackByTheWindow) {
  RpcLimits limits;
  limits.stream_window = 64 * 1024;
  Client& caller = client(serve_all(limits), {.limits = limits});
  auto stream = caller.open<send_blocks>(10, std::size_t{1} << 20);
  const auto next = [&]() -> Task<std::size_t> {
    auto block = co_await stream.next();
    co_return block ? stream.attachment().size() : 0;
  };
  EXPECT_EQ(loop().block_on(next()), std::size_t{1} << 20);
  for (int turns = 0; turns < 200; ++turns) loop().run_once(0s);
  EXPECT_EQ(written, 1) << "one is shown, and nothing is granted for another before it was taken";
  for (int i = 1; i < 10; ++i) EXPECT_EQ(loop().block_on(next()), std::size_t{1} << 20);
  EXPECT_EQ(loop().block_on(next()), 0u);
  EXPECT_TRUE(stream.status().ok());
}

TEST_F(ItemAttachments, CallsPassBetweenTheirPieces) {
  Client& caller = client(serve_all());
  auto stream = caller.open<send_blocks>(1, kHuge);
  const auto beside = [&]() -> Task<int> {
    int answered = 0;
    while (live == 0) co_await yield();
    for (int i = 0; i < 20; ++i) {
      Result<int> sum = co_await caller.call<plus>(i, 1);
      if (sum.ok() && written == 0) ++answered;
    }
    co_return answered;
  };
  EXPECT_EQ(loop().block_on(beside()), 20) << "before all of it was sent";
  const auto rest = [&]() -> Task<std::size_t> {
    auto block = co_await stream.next();
    co_return block ? stream.attachment().size() : 0;
  };
  EXPECT_EQ(loop().block_on(rest()), kHuge);
}

TEST_F(ItemAttachments, AreBrokenOffWhenTheStreamIsDropped) {
  Client& caller = client(serve_all());
  {
    auto stream = caller.open<send_blocks>(1, kHuge);
    while (live == 0) loop().run_once(1ms);
  }
  turn_until_gone();
  EXPECT_EQ(written, 0);
  EXPECT_LT(caller.stats().traffic.bytes_received, kHuge / 2);
  EXPECT_EQ(wait_for(caller.start<plus>(1, 2)).value(), 3) << "the connection goes on";
}

TEST_F(ItemAttachments, AreBrokenOffWhenTheWriterIsCancelled) {
  Client& caller = client(serve_all());
  Scope scope;
  std::optional<bool> outcome;
  auto stream = caller.open<take_one>();
  const auto write = [](auto* to, std::optional<bool>* outcome) -> Task<void> {
    *outcome = co_await to->write(1, counted(kHuge, &live));
  };
  loop().post([&] { scope.spawn(write, &stream, &outcome); });
  while (live == 0) loop().run_once(1ms);
  scope.cancel(CancelReason::kRequested);
  loop().block_on(scope.join());
  EXPECT_EQ(outcome, false);
  EXPECT_EQ(stream.status().code(), StatusCode::kCancelled);
  turn_until_gone();
  EXPECT_EQ(wait_for(caller.start<plus>(1, 2)).value(), 3);
}

TEST_F(ItemAttachments, AreGivenBackWhenTheConnectionEnds) {
  Server& server = serve_all();
  auto caller = std::make_unique<Client>(loop(), ClientOptions{.connect = server.urls().front()});
  auto down = caller->open<send_blocks>(1, kHuge);
  while (live == 0) loop().run_once(1ms);
  for (int turns = 0; turns < 20; ++turns) loop().run_once(0s);
  server.stop(0s);
  const auto next = [&]() -> Task<bool> {
    auto block = co_await down.next();
    co_return block.has_value();
  };
  EXPECT_FALSE(loop().block_on(next())) << "half of an attachment is no item";
  EXPECT_FALSE(down.status().ok());
  turn_until_gone();
}

TEST_F(ItemAttachments, ThatAreLongerThanThePeerTakesEndTheirStreamWithWords) {
  RpcLimits limits;
  limits.attachment_bytes_max = 1000;
  Client& caller = client(serve_all(limits));
  const auto upload = [&]() -> Task<Status> {
    auto stream = caller.open<take_blocks>();
    const bool taken = co_await stream.write(1, counted(1001, &live));
    EXPECT_FALSE(taken);
    Result<std::uint64_t> bytes = co_await stream.finish();
    co_return bytes.status();
  };
  const Status status = loop().block_on(upload());
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted) << status.to_string();
  EXPECT_THAT(std::string{status.message()},
              ::testing::HasSubstr("ServerOptions::limits.attachment_bytes_max"));
  EXPECT_EQ(live, 0);
}

TEST_F(ItemAttachments, StayAsLongAsTheirItemIsShown) {
  Client& caller = client(serve_all());
  const auto upload = [&]() -> Task<Result<int>> {
    auto stream = caller.open<take_one>();
    const bool taken = co_await stream.write(1, counted(kLarge, &live));
    EXPECT_TRUE(taken);
    stream.end_writing();
    event_.set();
    Result<int> bytes = co_await stream.finish();
    co_return bytes;
  };
  EXPECT_EQ(loop().block_on(upload()).value(), static_cast<int>(kLarge));
}

}  // namespace
}  // namespace weft::testing::item_attachments_tests
