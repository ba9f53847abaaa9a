// SPDX-License-Identifier: Apache-2.0
// Faults, part "resources and load": a handler has no memory to decode the third of five items. It sees two,
// the call fails, and the connection goes on.
#include <latch>
#include <optional>
#include <string>

#include "integration/rpc/rpc_testing.hpp"
#include "support/heap_count.hpp"
#include "weft/detail/coro/event.hpp"

namespace weft::testing::items_memory_tests {
namespace {

constexpr int kTexts = 5;

/// Lets allocations of this thread fail while the third item is read.
struct Shortage {
  std::size_t first = 0;
  std::size_t count = 0;
  bool was_reached = false;

  void before_item(int position) {
    if (first != 0 && position == 2) fail_allocations(first, count);
  }
  void after_item(int position) {
    if (first == 0 || position != 2) return;
    was_reached = !allocation_still_to_fail();
    fail_allocations(0);
  }
};

/// Handlers that read nothing until they may, and never ask how reading ended before they answer.
struct Readers {
  Task<std::size_t> measure(Reader<std::string>& texts) {
    const Result<void> opened = co_await open.wait();
    if (!opened.ok()) co_return std::size_t{0};
    read = 0;
    std::size_t bytes = 0;
    while (true) {
      shortage.before_item(read);
      auto text = co_await texts.next();
      shortage.after_item(read);
      if (!text) break;
      bytes += text->size();
      ++read;
    }
    status = texts.status();
    co_return bytes;
  }
  std::size_t measure_blocking(BlockingReader<std::string>& texts) {
    may_read->wait();
    read = 0;
    std::size_t bytes = 0;
    while (true) {
      shortage.before_item(read);
      auto text = texts.next();
      shortage.after_item(read);
      if (!text) break;
      bytes += text->size();
      ++read;
    }
    status = texts.status();
    return bytes;
  }

  Event open;
  std::optional<std::latch> may_read;
  Shortage shortage;
  int read = 0;
  Status status;
};

class ItemsMemory : public RpcTest {
 protected:
  static std::string text_at(int at) { return std::string(100 * static_cast<std::size_t>(at + 1), 't'); }
  template <typename S>
  static Task<void> write_texts(S* stream) {
    for (int at = 0; at < kTexts; ++at) {
      const std::string text = text_at(at);
      const bool taken = co_await stream->write(text);
      if (!taken) co_return;
    }
    stream->end_writing();
  }
  template <typename S>
  static Task<Result<std::size_t>> finished(S* stream) {
    Result<std::size_t> bytes = co_await stream->finish();
    co_return bytes;
  }

  /// Every position of the first allocation to fail, alone and with all that follow it.
  template <auto M, typename Allow>
  void sweep(Allow allow) {
    if (!kHeapIsCounted) GTEST_SKIP() << "the sanitizer's operator new does not fail";
    Server& server = serve_here([this](Server& its) {
      its.register_handler<&Readers::measure, &Readers::measure_blocking>(&readers_);
    });
    Client& its = client(server);
    int lost = 0;
    for (const std::size_t count : {std::size_t{1}, kForEver}) {
      readers_.shortage.count = count;
      std::size_t first = 1;
      for (bool reached = true; reached && first < 100; ++first) {
        readers_.shortage.first = first;
        readers_.open.reset();
        readers_.may_read.emplace(1);
        auto stream = its.template open<M>();
        const std::uint64_t all = server.stats().traffic.frames_received + kTexts + 2;
        loop().block_on(write_texts(&stream));
        ASSERT_TRUE(turn_until(loop(), [&] { return server.stats().traffic.frames_received >= all; }));
        allow();
        const Result<std::size_t> bytes = loop().block_on(finished(&stream));
        reached = readers_.shortage.was_reached;
        if (bytes.ok()) {
          EXPECT_EQ(*bytes, 1500u) << "a part was taken for the whole";
          EXPECT_EQ(readers_.read, kTexts);
          EXPECT_TRUE(readers_.status.ok());
        } else {
          ++lost;
          EXPECT_EQ(readers_.read, 2);
          EXPECT_EQ(readers_.status.code(), StatusCode::kResourceExhausted) << readers_.status.to_string();
          EXPECT_EQ(bytes.status().code(), StatusCode::kResourceExhausted) << bytes.status().to_string();
        }
      }
      EXPECT_LT(first, 100u);
    }
    EXPECT_GT(lost, 0);
    EXPECT_EQ(its.stats().connections, 1u) << "the connection goes on";
  }

  const MallocsFailToo each_kind_;
  Readers readers_;
};

TEST_F(ItemsMemory, OfAReaderThatIsMissingFailsTheCall) {
  sweep<&Readers::measure>([this] { readers_.open.set(); });
}

TEST_F(ItemsMemory, OfAReaderThatBlocksThatIsMissingFailsTheCall) {
  sweep<&Readers::measure_blocking>([this] { readers_.may_read->count_down(); });
}

}  // namespace
}  // namespace weft::testing::items_memory_tests
