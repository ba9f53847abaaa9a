// SPDX-License-Identifier: Apache-2.0
// IntrusiveList and UniqueFunction: what owns nothing, and what owns one callable.
#include <gmock/gmock.h>

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weft/detail/base/intrusive_list.hpp"
#include "weft/detail/base/unique_function.hpp"

namespace weft {

using namespace weft::detail;
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Item : ListHook<> {
  explicit Item(int value_in) : value(value_in) {}
  int value;
};

std::vector<int> values_of(IntrusiveList<Item>& list) {
  std::vector<int> values;
  list.for_each([&](Item& item) { values.push_back(item.value); });
  return values;
}

TEST(IntrusiveList, KeepsTheOrderInWhichObjectsCame) {
  Item one{1}, two{2}, three{3};
  IntrusiveList<Item> list;
  EXPECT_TRUE(list.empty());
  list.push_back(one);
  list.push_back(two);
  list.push_back(three);
  EXPECT_THAT(values_of(list), ElementsAre(1, 2, 3));
  EXPECT_EQ(list.pop_front().value, 1);
  EXPECT_EQ(list.front().value, 2);
  EXPECT_FALSE(one.linked());
  EXPECT_TRUE(two.linked());
}

TEST(IntrusiveList, AnObjectThatDiesLeavesItsList) {
  Item first{1};
  IntrusiveList<Item> list;
  list.push_back(first);
  {
    Item passing{2};
    list.push_back(passing);
  }
  EXPECT_THAT(values_of(list), ElementsAre(1));
}

TEST(IntrusiveList, AListThatDiesLetsItsObjectsGo) {
  Item item{1};
  {
    IntrusiveList<Item> list;
    list.push_back(item);
  }
  EXPECT_FALSE(item.linked());
  IntrusiveList<Item> other;
  other.push_back(item);
  EXPECT_THAT(values_of(other), ElementsAre(1));
}

TEST(IntrusiveList, UnlinkingTwiceIsHarmless) {
  Item one{1}, two{2};
  IntrusiveList<Item> list;
  list.push_back(one);
  list.push_back(two);
  one.unlink();
  one.unlink();
  EXPECT_THAT(values_of(list), ElementsAre(2));
}

TEST(IntrusiveList, AVisitorMayUnlinkTheObjectItIsGiven) {
  Item one{1}, two{2}, three{3};
  IntrusiveList<Item> list;
  for (Item* item : {&one, &two, &three}) list.push_back(*item);
  list.for_each([](Item& item) {
    if (item.value != 2) item.unlink();
  });
  EXPECT_THAT(values_of(list), ElementsAre(2));
}

TEST(IntrusiveList, SplicingMovesEverythingToTheEnd) {
  Item one{1}, two{2}, three{3};
  IntrusiveList<Item> list, other;
  list.push_back(one);
  other.push_back(two);
  other.push_back(three);
  list.splice_back(other);
  EXPECT_THAT(values_of(list), ElementsAre(1, 2, 3));
  EXPECT_TRUE(other.empty());
  list.splice_back(other);
  EXPECT_THAT(values_of(list), ElementsAre(1, 2, 3));
  other.splice_back(list);
  EXPECT_THAT(values_of(list), IsEmpty());
  EXPECT_THAT(values_of(other), ElementsAre(1, 2, 3));
}

struct ByAge;
struct ByName;
struct Person : ListHook<ByAge>, ListHook<ByName> {};

TEST(IntrusiveList, TagsLetOneObjectSitInSeveralLists) {
  Person person;
  IntrusiveList<Person, ByAge> by_age;
  IntrusiveList<Person, ByName> by_name;
  by_age.push_back(person);
  by_name.push_back(person);
  by_age.pop_front();
  EXPECT_TRUE(by_age.empty());
  EXPECT_EQ(&by_name.front(), &person);
}

TEST(IntrusiveListDeathTest, PushingAnObjectThatIsInAListIsAProgrammingError) {
  Item item{1};
  IntrusiveList<Item> list;
  list.push_back(item);
  EXPECT_DEATH(list.push_back(item), "sits in a list once");
}

TEST(IntrusiveListDeathTest, PoppingFromAnEmptyListIsAProgrammingError) {
  IntrusiveList<Item> list;
  EXPECT_DEATH(list.pop_front(), "empty list");
}

TEST(UniqueFunction, CallsWhatItHolds) {
  UniqueFunction<int(int, int)> add = [](int left, int right) { return left + right; };
  EXPECT_TRUE(static_cast<bool>(add));
  EXPECT_EQ(add(2, 3), 5);
}

TEST(UniqueFunction, HoldsWhatCanOnlyBeMoved) {
  UniqueFunction<int()> function = [owned = std::make_unique<int>(7)] { return *owned; };
  UniqueFunction<int()> moved = std::move(function);
  EXPECT_EQ(moved(), 7);
}

TEST(UniqueFunction, PassesArgumentsOnWithoutCopies) {
  UniqueFunction<std::size_t(std::unique_ptr<std::string>)> length = [](std::unique_ptr<std::string> text) {
    return text->size();
  };
  EXPECT_EQ(length(std::make_unique<std::string>("four")), 4u);
}

/// Counts the live copies of itself; `Padding` decides whether it fits inside the function.
template <std::size_t Padding>
struct Counted {
  explicit Counted(int* count) : live(count) { ++*live; }
  Counted(Counted&& other) noexcept : live(other.live) { ++*live; }
  ~Counted() { --*live; }
  int operator()() const { return *live; }
  int* live;
  std::array<std::byte, Padding> padding{};
};

template <typename Callable>
void expect_exactly_one_life() {
  int live = 0;
  {
    UniqueFunction<int()> function{Callable{&live}};
    EXPECT_EQ(function(), 1);
    UniqueFunction<int()> moved{std::move(function)};
    EXPECT_EQ(moved(), 1);
    UniqueFunction<int()> assigned{Callable{&live}};
    EXPECT_EQ(live, 2);
    assigned = std::move(moved);
    EXPECT_EQ(assigned(), 1);
  }
  EXPECT_EQ(live, 0);
}

TEST(UniqueFunction, DestroysASmallCallableExactlyOnce) {
  expect_exactly_one_life<Counted<8>>();
}

TEST(UniqueFunction, DestroysALargeCallableExactlyOnce) {
  expect_exactly_one_life<Counted<200>>();
}

TEST(UniqueFunctionDeathTest, CallingAnEmptyOneIsAProgrammingError) {
  UniqueFunction<void()> empty;
  EXPECT_FALSE(static_cast<bool>(empty));
  EXPECT_DEATH(empty(), "empty UniqueFunction");
}

}  // namespace
}  // namespace weft
