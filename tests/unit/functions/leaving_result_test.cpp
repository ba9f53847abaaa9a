// SPDX-License-Identifier: Apache-2.0
// Long results leave their handler and are sent from where they lie: nothing copies them, and they end when
// their bytes have left.
#include "weft/detail/functions/leaving_result.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory_resource>
#include <new>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "support/heap_count.hpp"
#include "weft/detail/functions/handler.hpp"

namespace weft {

using namespace weft::detail;
namespace {

/// Something that can be measured and not written.
struct Throwing {};

}  // namespace

template <>
struct CodecTraits<Throwing> {
  static constexpr std::size_t kMinEncodedSize = 4;
  static void encoded_size(auto& size, const Throwing&) { size.add(std::uint32_t{0}); }
  static void encode(auto&, const Throwing&) { throw std::runtime_error("not written"); }
  static bool decode(auto& from, Throwing&) {
    std::uint32_t nothing = 0;
    return from.read(nothing);
  }
  static constexpr void append_schema(auto& to) { to.put("throwing"); }
};

namespace {

constexpr std::size_t kLong = 2 * LentRuns::kRunBytesMin;

/// Notes what it is answered with, and holds the chunk of an answer's runs until told to let go.
class RunsSink final : public AnswerSink {
 public:
  /// Makes one that with null `chunks` wants answers whole.
  explicit RunsSink(ChunkPool* chunks) : AnswerSink(1), chunks_(chunks) {}

  std::byte* begin_answer(std::uint64_t, std::size_t bytes, std::uint64_t) override {
    body.resize(bytes);
    return body.data();
  }
  void end_answer() override { ++ended; }
  ChunkPool* lending_chunks() const noexcept override { return chunks_; }
  std::byte* begin_answer_around(std::uint64_t, std::size_t bytes, std::uint64_t,
                                 const RunsInChunk& lent) override {
    if (refuses) return nullptr;
    body.resize(bytes - lent.runs.bytes());
    return body.data();
  }
  void put_runs_in(const RunsInChunk& lent, bool) override {
    EXPECT_TRUE(lent.runs.is_placed());
    chunk = lent.chunk;
    // In the order of the wire: what was written, and each run where it has its place.
    const std::byte* from = body.data();
    for (const LentRuns::Run& run : lent.runs.runs()) {
      runs.push_back(run.bytes);
      whole.insert(whole.end(), from, static_cast<const std::byte*>(run.at));
      whole.insert(whole.end(), run.bytes.begin(), run.bytes.end());
      from = run.at;
    }
    whole.insert(whole.end(), from, static_cast<const std::byte*>(body.data() + body.size()));
  }
  void take_back_answer(const std::byte*) override { ++taken_back; }
  void end_answer_with(std::uint64_t, Attachment&, std::unique_ptr<AnswerWishes>) override { ++ended; }
  void fail(std::uint64_t, const Status& its_failure) override { failure = its_failure; }
  void refuse(std::uint64_t, RefusalReason, const Status& why) override { failure = why; }
  void refuse_without_memory(std::uint64_t) override {}
  bool has_room() const noexcept override { return true; }
  void add_room_waiter(RoomWaiter&) override {}
  bool charge_answer(std::size_t) override { return true; }
  void wake_room_waiter() override {}
  void forget(ServedCall&) override {}
  std::string local_endpoint() const override { return {}; }
  std::string remote_endpoint() const override { return {}; }
  std::shared_ptr<void>& connection_tag() override { return tag_; }
  void finish() override {}

  std::vector<std::byte> body;
  std::vector<std::byte> whole;
  std::vector<Bytes> runs;
  ChunkRef chunk;
  Status failure;
  int ended = 0;
  int taken_back = 0;
  bool refuses = false;

 private:
  ChunkPool* chunks_;
  std::shared_ptr<void> tag_;
};

/// Allocator of memory that is counted while it is there.
template <typename T>
struct Counted {
  using value_type = T;
  Counted() = default;
  template <typename U>
  Counted(const Counted<U>&) noexcept {}  // NOLINT(google-explicit-constructor): a rebound one
  T* allocate(std::size_t n) {
    ++there();
    ++made();
    return static_cast<T*>(::operator new(n * sizeof(T)));
  }
  void deallocate(T* at, std::size_t) noexcept {
    --there();
    ::operator delete(at);
  }
  friend bool operator==(const Counted&, const Counted&) { return true; }
  static int& there() {
    static int count = 0;
    return count;
  }
  static int& made() {
    static int count = 0;
    return count;
  }
};
using Numbers = std::vector<std::uint32_t, Counted<std::uint32_t>>;
using Counts = Counted<std::uint32_t>;

const void* made_at = nullptr;

/// Some of a long run, and many that are short.
std::tuple<std::string, std::vector<std::string>> make_mostly_short(std::uint32_t) {
  return {std::string(kLong, 'x'), std::vector<std::string>(1000, std::string(1000, 'y'))};
}

Numbers make_numbers(std::uint32_t seed) {
  Numbers numbers(kLong / 4 + 1);
  for (std::uint32_t& each : numbers) each = seed++;
  made_at = numbers.data();
  return numbers;
}
Result<Numbers> make_result(std::uint32_t seed) {
  if (seed == 0) return user_error(4, "no numbers");
  return make_numbers(seed);
}
std::tuple<std::string, Numbers, std::string> make_several(std::uint32_t seed) {
  return {"before", make_numbers(seed), std::string(kLong, 'x')};
}
Numbers make_few(std::uint32_t seed) {
  return {seed, seed};
}
struct Pages {
  std::string page;
  Throwing bad;
};
Pages make_pages_that_throw(std::uint32_t) {
  return {std::string(kLong, 'p'), {}};
}
Numbers make_before_memory_is_out(std::uint32_t after) {
  Numbers numbers = make_numbers(after);
  testing::fail_allocation(after);
  return numbers;
}
const Numbers& show_numbers(std::uint32_t seed) {
  static Numbers numbers;
  numbers = make_numbers(seed);
  return numbers;
}

class LeavingResults : public ::testing::Test {
 protected:
  LeavingResults() : there_(Counts::there()) {}
  ~LeavingResults() override {
    EXPECT_EQ(pool_.chunks_out(), 0u);
    EXPECT_EQ(Counts::there(), there_ + handlers_own_) << "a result was not freed";
  }

  template <auto M>
  void serve(AnswerSink& sink, std::uint32_t seed = 1) {
    std::vector<std::byte> request(encoded_size(seed));
    encode_to(request.data(), request.size(), seed);
    InlineCall call{sink, 1, request};
    MethodEntry method;
    HandlerOf<M>::serve_inline(method, call);
  }
  template <typename T>
  static std::vector<std::byte> encoded(const T& value) {
    std::vector<std::byte> bytes(encoded_size(value));
    encode_to(bytes.data(), bytes.size(), value);
    return bytes;
  }
  int there() const { return Counts::there() - there_; }

  ChunkPool pool_;
  const int there_;
  int handlers_own_ = 0;
};

TEST_F(LeavingResults, AreSentFromWhereTheHandlerMadeThemAndEndWhenTheyHaveLeft) {
  RunsSink sink{&pool_};
  const int made = Counts::made();
  serve<make_numbers>(sink);
  EXPECT_EQ(Counts::made(), made + 1) << "the numbers were copied";
  ASSERT_EQ(sink.runs.size(), 1u);
  EXPECT_EQ(sink.runs[0].data(), made_at);
  EXPECT_EQ(there(), 1) << "the numbers ended before they had left";
  EXPECT_GE(sink.chunk->capacity(), sink.runs[0].size()) << "what is kept is not counted";
  EXPECT_EQ(sink.ended, 1);
  EXPECT_EQ(sink.whole, encoded(make_numbers(1)));
  sink.chunk.reset();
  EXPECT_EQ(there(), 0);
}

TEST_F(LeavingResults, MayBeInsideOfAResultThatCanFail) {
  RunsSink sink{&pool_};
  serve<make_result>(sink);
  ASSERT_EQ(sink.runs.size(), 1u);
  EXPECT_EQ(sink.runs[0].data(), made_at);
  serve<make_result>(sink, 0);
  EXPECT_EQ(sink.failure.native(), 4);
  EXPECT_EQ(sink.ended, 1);
}

TEST_F(LeavingResults, MayBeSeveralThatLeaveTogether) {
  RunsSink sink{&pool_};
  serve<make_several>(sink);
  ASSERT_EQ(sink.runs.size(), 2u);
  EXPECT_EQ(sink.runs[0].data(), made_at);
  EXPECT_EQ(sink.whole, encoded(make_several(1)));
  EXPECT_EQ(there(), 1);
  sink.chunk.reset();
  EXPECT_EQ(there(), 0);
}

TEST_F(LeavingResults, StayWhereTheyAreWhenTheyAreShortOrSomebodyElsesOrCannotBeLent) {
  RunsSink sink{&pool_};
  serve<make_few>(sink);
  EXPECT_EQ(sink.body, encoded(make_few(1)));
  serve<show_numbers>(sink);
  handlers_own_ = 1;
  EXPECT_EQ(sink.body, encoded(make_numbers(1)));
  RunsSink whole{nullptr};
  serve<make_numbers>(whole);
  EXPECT_EQ(whole.body, encoded(make_numbers(1)));
  EXPECT_TRUE(sink.runs.empty());
  EXPECT_TRUE(whole.runs.empty());
}

// An arena gives the same memory to the next call.
TEST_F(LeavingResults, AreNoneOfWhoseMemorySomebodyElseDisposes) {
  static_assert(leaves_its_handler<std::string> && leaves_its_handler<Numbers>);
  static_assert(leaves_its_handler<std::vector<std::unique_ptr<std::string>>>);
  static_assert(!leaves_its_handler<std::pmr::string>);
  static_assert(!leaves_its_handler<std::tuple<int, std::vector<std::pmr::vector<int>>>>);
  static_assert(!leaves_its_handler<std::string_view> && !leaves_its_handler<const std::string>);
  static_assert(!leaves_its_handler<std::tuple<std::string, std::string_view>> && !leaves_its_handler<int>);
}

TEST_F(LeavingResults, AreCopiedWhereMostOfThemWouldBe) {
  RunsSink sink{&pool_};
  serve<make_mostly_short>(sink);
  EXPECT_TRUE(sink.runs.empty());
  EXPECT_EQ(sink.body, encoded(make_mostly_short(1)));
}

TEST_F(LeavingResults, EndWhereAHookOfTheUsersThrows) {
  RunsSink sink{&pool_};
  serve<make_pages_that_throw>(sink);
  EXPECT_EQ(sink.taken_back, 0);  // the hook runs before the answer is begun
  EXPECT_EQ(sink.ended, 0);
  EXPECT_FALSE(sink.failure.ok());
}

TEST_F(LeavingResults, AreCopiedWhereThereIsNoMemoryToKeepThem) {
  if (!testing::kHeapIsCounted) GTEST_SKIP() << "no allocation fails here";
  for (const std::uint32_t fails : {1u, 2u}) {
    ChunkPool pool;  // has lent no chunk yet
    RunsSink sink{&pool};
    sink.body.reserve(2 * kLong);
    serve<make_before_memory_is_out>(sink, fails);
    EXPECT_FALSE(testing::allocation_still_to_fail());
    EXPECT_TRUE(sink.runs.empty());
    EXPECT_EQ(sink.body, encoded(make_numbers(fails)));
    EXPECT_EQ(there(), 0);
  }
}

TEST_F(LeavingResults, EndWhereTheirAnswerCannotBeBegun) {
  RunsSink sink{&pool_};
  sink.refuses = true;
  serve<make_numbers>(sink);
  EXPECT_EQ(there(), 0);
  EXPECT_EQ(sink.ended, 0);
}

}  // namespace
}  // namespace weft
