// SPDX-License-Identifier: Apache-2.0
// Runs as UCX takes them: as many as are asked for, cut where they are to end, and one of them as it is.
#include "transport/ucx/run_list.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <vector>

#include "support/heap_count.hpp"
#include "transport/ucx/limits.hpp"
#include "transport/ucx/part_landing.hpp"
#include "weft/detail/runtime/loop.hpp"

namespace weft {
namespace {

using detail::ucx_carrier::RunList;

class RunLists : public ::testing::Test {
 protected:
  std::vector<iovec> runs(std::initializer_list<std::size_t> sizes) {
    std::vector<iovec> made;
    for (const std::size_t size : sizes) made.push_back({memory_ + 100 * made.size(), size});
    return made;
  }
  /// Sizes of the runs that UCX is given, as a list or as one.
  static std::vector<std::size_t> sizes_of(RunList& list) {
    ucp_request_param_t params{};
    list.describe(params);
    if ((params.op_attr_mask & UCP_OP_ATTR_FIELD_DATATYPE) == 0) return {list.count()};
    EXPECT_EQ(params.datatype, static_cast<ucp_datatype_t>(ucp_dt_make_iov()));
    std::vector<std::size_t> sizes;
    const auto* const entries = static_cast<const ucp_dt_iov_t*>(list.buffer());
    for (std::size_t i = 0; i < list.count(); ++i) sizes.push_back(entries[i].length);
    return sizes;
  }
  using Sizes = std::vector<std::size_t>;
  std::byte memory_[1000];
};

TEST_F(RunLists, EndWhereTheyAreToEnd) {
  RunList list;
  ASSERT_TRUE(list.list(runs({10, 20, 30}), 60));
  EXPECT_EQ(sizes_of(list), (Sizes{10, 20, 30}));
  ASSERT_TRUE(list.list(runs({10, 20, 30}), 35));
  EXPECT_EQ(sizes_of(list), (Sizes{10, 20, 5}));
  EXPECT_EQ(list.bytes(), 35u);
  ASSERT_TRUE(list.list(runs({10, 0, 30}), 100)) << "as far as they go";
  EXPECT_EQ(sizes_of(list), (Sizes{10, 30}));
  EXPECT_EQ(list.bytes(), 40u);
}

TEST_F(RunLists, GiveASingleRunAsItIs) {
  RunList list;
  const auto one = runs({64, 20});
  ASSERT_TRUE(list.list(one, 50));
  EXPECT_EQ(sizes_of(list), Sizes{50});
  EXPECT_EQ(list.buffer(), one[0].iov_base);
  ASSERT_TRUE(list.list(one, 70));
  EXPECT_EQ(sizes_of(list), (Sizes{64, 6}));
}

TEST_F(RunLists, TakeARunMore) {
  RunList list;
  ASSERT_TRUE(list.list({}, 0));
  list.add(memory_, 7);
  EXPECT_EQ(sizes_of(list), Sizes{7});
  ASSERT_TRUE(list.list(runs({1, 2, 3, 4}), 10));
  list.add(memory_, 7);
  EXPECT_EQ(sizes_of(list), (Sizes{1, 2, 3, 4, 7}));
  EXPECT_EQ(list.bytes(), 17u);
}

TEST_F(RunLists, NeedMemoryForManyRunsOnlyOnce) {
  if (!testing::kHeapIsCounted) GTEST_SKIP() << "this build cannot let an allocation fail";
  const std::vector<iovec> many(256, iovec{memory_, 1});
  RunList list;
  testing::fail_allocation(1);
  EXPECT_FALSE(list.list(many, 256));
  ASSERT_TRUE(list.list(many, 256));
  testing::fail_allocation(1);
  EXPECT_TRUE(list.list(many, 255));
  EXPECT_TRUE(list.list(std::span{many}.first(1), 1)) << "nor for a single one";
  testing::fail_allocation(0);
  EXPECT_EQ(list.size(), 1u);
}

// A connection that had to fail for it would take its worker's other connections along.
TEST_F(RunLists, WithoutMemoryForThemAPartLandsInItsFirstRunAndElseInACopy) {
  if (!testing::kHeapIsCounted) GTEST_SKIP() << "this build cannot let an allocation fail";
  using namespace detail::ucx_carrier;
  const std::unique_ptr<Loop> loop = Loop::create().value();
  detail::Ready told{[](detail::Ready*) noexcept {}};
  Conversation conversation{*loop, told};
  PartLanding landing{conversation};
  std::vector<std::byte> memory(3 * kLandingRunMin);
  std::vector<iovec> places;
  for (std::size_t i = 0; i < 3; ++i) places.push_back({&memory[i * kLandingRunMin], kLandingRunMin});
  Arrival part{detail::MessageKind::kPart, Arrival::Memory::kUcx, memory_, memory.size()};
  testing::fail_allocation(1);
  EXPECT_TRUE(landing.place(part, places));
  EXPECT_FALSE(testing::allocation_still_to_fail());
  testing::fail_allocation(0);
  EXPECT_EQ(landing.in_place(), kLandingRunMin);
  ASSERT_EQ(part.memory, Arrival::Memory::kCopied);
  EXPECT_EQ(part.bytes, 2 * kLandingRunMin);
  std::free(part.data);
}

}  // namespace
}  // namespace weft
