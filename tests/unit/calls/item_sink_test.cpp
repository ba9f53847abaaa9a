// SPDX-License-Identifier: Apache-2.0
// A stream on a sink that is no session's: what any protocol meets that carries streams.
#include "calls/stream/item_sink.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "calls/stream/session_streams.hpp"
#include "weft/detail/calls/stream/stream_side.hpp"
#include "weft/detail/calls/terms/attachment.hpp"
#include "weft/detail/runtime/clock.hpp"
#include "weft/detail/runtime/loop.hpp"
#include "weft/detail/wire/heads.hpp"

namespace weft {

using namespace weft::detail;
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Arrival = IncomingItems::Arrival;
using Writing = StreamSide::Writing;

/// Writes down what its streams send.
class NotingItems final : public ItemSink {
 public:
  NotingItems(Loop& loop, const RpcLimits& limits, LocalBudget& memory) : ItemSink(loop, limits, memory) {}

  std::uint64_t first_credit() const noexcept override { return credit; }
  std::uint32_t item_bytes_max() const noexcept override { return 100'000; }
  bool has_room_for_items() noexcept override { return room; }
  bool reserve_item(std::size_t bytes) noexcept override {
    reserved += bytes;
    return has_memory;
  }
  std::byte* begin_item(const StreamPlace&, std::uint32_t bytes) noexcept override {
    if (is_closing) return nullptr;
    body_.resize(bytes + 1);
    return body_.data();
  }
  Status end_item(const StreamPlace& place) noexcept override {
    if (!can_send) return {StatusCode::kDataLoss, Layer::kRpc, "cannot be sent"};
    sent.push_back(std::to_string(place.id) + ": " +
                   std::string{as_text(Bytes{body_}.first(body_.size() - 1))});
    return {};
  }
  void take_back_item(const std::byte* body) noexcept override { EXPECT_EQ(body, body_.data()); }
  void end_items(const StreamPlace& place) noexcept override {
    sent.push_back(std::to_string(place.id) + " ends");
  }
  void send_credit(const StreamPlace& place, std::uint64_t granted) noexcept override {
    credits.push_back(granted);
    EXPECT_TRUE(place.answers);
  }

  std::uint64_t credit = UINT64_MAX;
  bool room = true;
  bool has_memory = true;
  bool is_closing = false;
  bool can_send = true;
  std::size_t reserved = 0;
  std::vector<std::string> sent;
  std::vector<std::uint64_t> credits;

 private:
  std::vector<std::byte> body_;
};

class StreamsOfAnotherProtocol : public ::testing::Test {
 protected:
  StreamsOfAnotherProtocol() { limits_.stream_window = 4 * wire::item_cost(4); }
  ~StreamsOfAnotherProtocol() override {
    for (const auto& side : sides_) side->close({}, true);
  }

  static std::unique_ptr<Loop> make_loop(ManualClock& clock) {
    LoopOptions options;
    options.clock = &clock;
    return Loop::create(options).value();
  }
  StreamSide& open(std::uint64_t id = 7) {
    loop_->run_until_idle();  // a turn begins
    sides_.push_back(std::make_unique<StreamSide>(*loop_));
    sides_.back()->open(sink_, id, true);
    return *sides_.back();
  }
  static bool write(StreamSide& side, std::string_view text) {
    std::byte* const body = side.begin_item(text.size());
    if (body == nullptr) return false;
    std::copy_n(as_bytes(text).begin(), text.size(), body);
    side.end_item();
    return true;
  }
  static Arrival arrive(StreamSide& side, std::string_view text) {
    return side.on_item(as_bytes(text), ChunkRef{});
  }

  RpcLimits limits_;
  ManualClock clock_;
  std::unique_ptr<Loop> loop_ = make_loop(clock_);
  LocalBudget memory_{std::make_shared<MemoryBudget>(std::size_t{4} << 20)};
  NotingItems sink_{*loop_, limits_, memory_};
  std::deque<std::unique_ptr<StreamSide>> sides_;
};

TEST_F(StreamsOfAnotherProtocol, ItemsAndTheirEndAreSent) {
  StreamSide& side = open();
  EXPECT_EQ(side.writing(), Writing::kReady);
  EXPECT_TRUE(write(side, "one"));
  EXPECT_TRUE(write(side, ""));
  side.end_writing();
  EXPECT_EQ(side.writing(), Writing::kOver);
  EXPECT_THAT(sink_.sent, ElementsAre("7: one", "7: ", "7 ends"));
}

TEST_F(StreamsOfAnotherProtocol, CreditHoldsAWriterBack) {
  sink_.credit = 2 * wire::item_cost(4);
  StreamSide& side = open();
  ASSERT_EQ(side.writing(), Writing::kReady);
  EXPECT_TRUE(write(side, "1234"));
  EXPECT_TRUE(write(side, "5678"));
  EXPECT_EQ(side.writing(), Writing::kWait);
  EXPECT_FALSE(side.on_credit(sink_.credit)) << "it grants no more than before";
  EXPECT_TRUE(side.on_credit(sink_.credit + 1));
  EXPECT_EQ(side.writing(), Writing::kReady);
}

TEST_F(StreamsOfAnotherProtocol, WritersThatWaitForRoomAreWokenInOrder) {
  struct Woken : Ready {
    explicit Woken(std::vector<int>& its_order, int its_number)
        : Ready([](Ready* node) noexcept {
            Woken& woken = *static_cast<Woken*>(node);
            woken.order.push_back(woken.number);
          }),
          order(its_order),
          number(its_number) {}
    std::vector<int>& order;
    int number;
  };
  std::vector<int> order;
  std::deque<Woken> waiters;
  sink_.room = false;
  for (int i = 0; i < 40; ++i) {
    StreamSide& side = open(static_cast<std::uint64_t>(i));
    EXPECT_EQ(side.writing(), Writing::kWait);
    side.set_writer(&waiters.emplace_back(order, i));
  }
  sides_[1]->close({}, true);
  sink_.wake_writers();
  loop_->run_until_idle();
  EXPECT_EQ(order.size(), 17u) << "16 are woken where there may be room, and the one that was closed";
  sink_.room = true;
  sink_.wake_writers();
  loop_->run_until_idle();
  ASSERT_EQ(order.size(), 40u);
  for (std::size_t i = 2; i < order.size(); ++i) EXPECT_LT(order[i - 1], order[i] + 2) << i;
}

TEST_F(StreamsOfAnotherProtocol, LargeItemsReserveMemory) {
  StreamSide& side = open();
  ASSERT_EQ(side.writing(), Writing::kReady);
  EXPECT_TRUE(write(side, std::string(ItemSink::kSmallItem, 'x')));
  EXPECT_EQ(sink_.reserved, 0u);
  EXPECT_TRUE(write(side, std::string(ItemSink::kSmallItem + 1, 'x')));
  EXPECT_EQ(sink_.reserved, ItemSink::kSmallItem + 1);
  sink_.has_memory = false;
  EXPECT_FALSE(write(side, std::string(ItemSink::kSmallItem + 1, 'x')));
  EXPECT_EQ(side.writing(), Writing::kOver);
  EXPECT_EQ(side.loss().code(), StatusCode::kResourceExhausted);
}

TEST_F(StreamsOfAnotherProtocol, AnItemThatCannotBeSentEndsTheWriting) {
  StreamSide& lost = open(1);
  ASSERT_EQ(lost.writing(), Writing::kReady);
  sink_.can_send = false;
  write(lost, "x");
  EXPECT_EQ(lost.writing(), Writing::kOver);
  EXPECT_EQ(lost.loss().code(), StatusCode::kDataLoss);
  StreamSide& closing = open(2);
  ASSERT_EQ(closing.writing(), Writing::kReady);
  sink_.is_closing = true;
  EXPECT_FALSE(write(closing, "x"));
  EXPECT_EQ(closing.loss().code(), StatusCode::kUnavailable);
  StreamSide& large = open(3);
  ASSERT_EQ(large.writing(), Writing::kReady);
  EXPECT_EQ(large.begin_item(100'001), nullptr);
  EXPECT_EQ(large.loss().code(), StatusCode::kResourceExhausted);
  StreamSide& attached = open(4);
  ASSERT_EQ(attached.writing(), Writing::kReady);
  const Attachment attachment{Buffer::adopt(std::string(10, 'a'))};
  EXPECT_EQ(attached.begin_item(1, &attachment), nullptr);
  EXPECT_EQ(attached.loss().code(), StatusCode::kUnimplemented);
  EXPECT_EQ(StreamTerms::of(attached.place()).attachment_bytes_max, 0u);
  EXPECT_THAT(sink_.sent, IsEmpty());
}

TEST_F(StreamsOfAnotherProtocol, AnItemThatWasTakenBackCostsNothing) {
  sink_.credit = 1;
  StreamSide& side = open();
  ASSERT_EQ(side.writing(), Writing::kReady);
  std::byte* const body = side.begin_item(4);
  ASSERT_NE(body, nullptr);
  EXPECT_EQ(side.writing(), Writing::kWait);
  side.take_back_item(body, 4);
  EXPECT_EQ(side.writing(), Writing::kReady);
}

TEST_F(StreamsOfAnotherProtocol, ArrivedItemsAreReadAndGranted) {
  StreamSide& side = open();
  for (int i = 0; i < 4; ++i) EXPECT_EQ(arrive(side, "item"), Arrival::kKept);
  EXPECT_EQ(arrive(side, "item"), Arrival::kNoCredit);
  EXPECT_EQ(side.incoming().held(), 4 * wire::item_cost(4));
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(side.incoming().has_item());
    EXPECT_EQ(as_text(side.incoming().show()), "item");
    side.take_item();
  }
  EXPECT_THAT(sink_.credits, ElementsAre(6 * wire::item_cost(4), 8 * wire::item_cost(4)));
  EXPECT_TRUE(side.on_last_item());
  EXPECT_TRUE(side.incoming().have_ended());
  EXPECT_FALSE(side.on_last_item());
  EXPECT_EQ(arrive(side, "late"), Arrival::kAfterLast);
  EXPECT_TRUE(side.failure().ok());
}

TEST_F(StreamsOfAnotherProtocol, ItemsOfAStreamThatIsNotReadAnyMoreAreDropped) {
  StreamSide& side = open();
  side.took(side.incoming().discard());
  for (int i = 0; i < 20; ++i) EXPECT_EQ(arrive(side, "item"), Arrival::kDropped) << "and granted again";
  side.close({}, true);
  EXPECT_EQ(arrive(side, "item"), Arrival::kDropped);
  EXPECT_TRUE(side.on_last_item());
}

TEST_F(StreamsOfAnotherProtocol, UnreadItemsAreWithinTheMemoryOfTheConnection) {
  limits_.stream_window = 64u << 20;
  limits_.connection_memory_max = std::size_t{2} << 20;
  StreamSide& side = open();
  StreamSide& other = open(8);
  const std::string item(100'000, 'x');
  int kept = 0;
  while (arrive(side, item) == Arrival::kKept) ASSERT_LT(++kept, 30);
  EXPECT_GE(kept, 10);
  EXPECT_EQ(side.loss().code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(arrive(side, item), Arrival::kDropped);
  EXPECT_EQ(arrive(other, std::string((std::size_t{2} << 20), 'y')), Arrival::kNoMemory);
  side.close({}, true);
  EXPECT_EQ(memory_.free(), std::size_t{4} << 20) << "all of it came back";
}

TEST_F(StreamsOfAnotherProtocol, StreamsAreCounted) {
  limits_.streams_max = 2;
  StreamSide& first = open(1);
  EXPECT_FALSE(sink_.refusal());
  open(2);
  const auto refusal = sink_.refusal();
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->reason, RefusalReason::kOverStreams);
  first.close({}, true);
  EXPECT_FALSE(sink_.refusal());
}

}  // namespace
}  // namespace weft
