// SPDX-License-Identifier: Apache-2.0
// Attachments of answers and items: what they keep of lists of runs, who owns the memory, and what cannot be
// sent.
#include "weft/detail/calls/terms/attachment.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/heap_count.hpp"
#include "support/pattern.hpp"

namespace weft {

using namespace weft::detail;
namespace {

static_assert(std::is_convertible_v<Buffer, Attachment>);
static_assert(!std::is_copy_constructible_v<Attachment>);
static_assert(std::is_nothrow_move_constructible_v<Attachment>);

std::vector<std::byte> gathered(const Attachment& attachment) {
  std::vector<std::byte> all;
  const AttachmentView view = attachment.view();
  for (std::size_t i = 0; i < view.count(); ++i) {
    all.insert(all.end(), view.run(i).begin(), view.run(i).end());
  }
  return all;
}

/// Counts in `ends` how often it ended, and owns nothing where it was moved from.
struct Owner {
  explicit Owner(int& its_ends) : ends(&its_ends) {}
  Owner(Owner&& other) noexcept : ends(std::exchange(other.ends, nullptr)) {}
  Owner& operator=(Owner&&) = delete;
  ~Owner() {
    if (ends != nullptr) ++*ends;
  }
  int* ends;
};

TEST(Attachments, OfABufferAreThatBuffer) {
  const Attachment whole{Buffer::adopt(testing::pattern(100))};
  EXPECT_EQ(whole.size(), 100u);
  EXPECT_EQ(gathered(whole), testing::pattern(100));
  EXPECT_TRUE(Attachment{}.empty());
  EXPECT_TRUE(Attachment{Buffer{}}.empty());
}

TEST(Attachments, KeepTheListWhoseArrayGoes) {
  const std::vector<std::byte> memory = testing::pattern(1000);
  std::vector<Bytes> runs{Bytes{memory}.subspan(500, 100), Bytes{}, Bytes{memory}.first(3),
                          Bytes{memory}.subspan(500, 100)};
  const Attachment list{runs, Buffer{}};
  std::ranges::fill(runs, Bytes{memory}.last(1));
  runs = {};
  EXPECT_EQ(list.size(), 203u);
  EXPECT_EQ(list.view().count(), 3u) << "an empty run is left out";
  std::vector<std::byte> expected(memory.begin() + 500, memory.begin() + 600);
  expected.insert(expected.end(), memory.begin(), memory.begin() + 3);
  expected.insert(expected.end(), memory.begin() + 500, memory.begin() + 600);
  EXPECT_EQ(gathered(list), expected);
}

TEST(Attachments, OfBlocksAtADistanceNeedNoArray) {
  const std::vector<std::byte> memory = testing::pattern(1000);
  const Attachment blocks{AttachmentView::strided(memory, 3, 10, 400), Buffer{}};
  EXPECT_EQ(blocks.size(), 30u);
  EXPECT_EQ(blocks.view().run(2).data(), memory.data() + 800);
  const Attachment again{AttachmentView::strided(memory.data(), 7, 10, 0), Buffer{}};
  EXPECT_EQ(again.size(), 70u) << "the same block may be sent several times";
}

TEST(Attachments, OfNothingAreEmptyAndEndTheirOwner) {
  int ends = 0;
  {
    const Attachment nothing{std::span<const Bytes>{}, Owner{ends}};
    EXPECT_TRUE(nothing.empty());
    EXPECT_EQ(nothing.fault(), RunsFault::kNone);
    const std::vector<Bytes> empty_ones(10);
    EXPECT_TRUE((Attachment{empty_ones, Owner{ends}}.empty()));
    EXPECT_EQ(ends, 1);
  }
  EXPECT_EQ(ends, 2);
}

TEST(Attachments, EndTheirOwnerOnceWhereverTheyAreMoved) {
  const std::vector<std::byte> memory(10);
  int ends = 0;
  {
    Attachment first{AttachmentView{memory}, Owner{ends}};
    Attachment second{std::move(first)};
    Attachment third;
    third = std::move(second);
    EXPECT_EQ(third.size(), 10u);
    third = Attachment{AttachmentView{memory}, Owner{ends}};
    EXPECT_EQ(ends, 1) << "the owner of what was assigned to ends at once";
  }
  EXPECT_EQ(ends, 2);
  auto shared = std::make_shared<int>(1);
  Attachment keeps{AttachmentView{memory}, shared};
  EXPECT_EQ(shared.use_count(), 2);
  keeps = {};
  EXPECT_EQ(shared.use_count(), 1);
}

TEST(Attachments, SayThatOthersMayWriteToTheirMemory) {
  std::vector<std::byte> memory(10);
  const std::vector<Bytes> runs{Bytes{memory}.first(3), Bytes{memory}.last(3)};
  EXPECT_FALSE((Attachment{runs, Buffer{}}.view().is_shared()));
  EXPECT_TRUE((Attachment{AttachmentView{runs}.shared(), Buffer{}}.view().is_shared()));
  EXPECT_TRUE((Attachment{AttachmentView{memory}.shared(), Buffer{}}.view().is_shared()));
}

TEST(Attachments, OfRunsThatCannotBeKnowTheirFaultAndHaveNoRuns) {
  constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max();
  const std::vector<std::byte> memory(1000);
  const std::vector<Bytes> too_many(2, Bytes{memory.data(), kMost / 2 + 1});
  const auto fault_of = [](AttachmentView runs) {
    const Attachment attachment{runs, Buffer{}};
    EXPECT_EQ(attachment.view().count(), 0u);
    EXPECT_FALSE(attachment.empty());
    return attachment.fault();
  };
  EXPECT_EQ(fault_of(AttachmentView::strided(memory, 11, 100, 100)), RunsFault::kOutside);
  EXPECT_EQ(fault_of(AttachmentView::strided(memory.data(), 3, 1, kMost / 2)), RunsFault::kWrap);
  EXPECT_EQ(fault_of(AttachmentView::strided(memory.data(), kMost, 8, 8)), RunsFault::kTooMany);
  EXPECT_EQ(fault_of(too_many), RunsFault::kTooMany);
}

TEST(Attachments, ForWhichThereIsNoMemoryEndTheirOwner) {
  if (!testing::kHeapIsCounted) GTEST_SKIP() << "the sanitizer's operator new does not fail";
  const std::vector<std::byte> memory(100);
  const std::vector<Bytes> runs(5, Bytes{memory});
  std::size_t failed = 0;
  for (std::size_t countdown = 1;; ++countdown) {
    int ends = 0;
    const std::size_t blocks = testing::heap_blocks();
    testing::fail_allocation(countdown);
    try {
      const Attachment list{runs, Owner{ends}};
    } catch (const std::bad_alloc&) {
      ++failed;
    }
    const bool none_left = testing::allocation_still_to_fail();
    testing::fail_allocation(0);
    EXPECT_EQ(ends, 1) << countdown;
    EXPECT_EQ(testing::heap_blocks(), blocks) << countdown;
    if (none_left) break;
  }
  EXPECT_EQ(failed, 3u) << "the owner, the record and the list";
}

}  // namespace
}  // namespace weft
