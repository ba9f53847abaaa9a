// SPDX-License-Identifier: Apache-2.0
// Names and keys of methods, the tables that find methods and calls, and the sizes that a call costs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "calls/gate/method_table.hpp"
#include "calls/session/session.hpp"
#include "weft/client.hpp"
#include "weft/detail/describe/description.hpp"
#include "weft/server.hpp"

namespace geometry {

struct Point {
  int x;
  int y;
};
int area(int width, int height) {
  return width * height;
}
template <typename T>
T same(T value) {
  return value;
}
struct Shift {
  Point by;
};
struct Grown {
  Point by;
  weft::Compatible<std::string, 2> note;
};
Grown grown() {
  return {};
}
Point shifted(const Point& point, const std::vector<Shift>& shifts) {
  return shifts.empty() ? point : shifts.front().by;
}
weft::Stream<Point> corners(weft::Reader<Point>&, int) {
  co_yield Point{0, 0};
}
void later(weft::Reply<void> reply, weft::CallContext&, Point) {
  std::move(reply)();
}
struct Board {
  int fields(int side) const { return side * side; }
};

}  // namespace geometry

namespace weft {

using namespace weft::detail;
namespace {

// A guard against growth that nobody meant; raise one only with a reason.
static_assert(sizeof(PendingCall) <= 280);
static_assert(sizeof(ServedCall) <= 320);
// 16 for the time of a call's arrival and the metadata of its answer, 8 for the time at which its answer
// began to wait for room.
static_assert(sizeof(ServedCall) + sizeof(ServedDetails) <= 664);
// A server's connection has both, a client's the first alone until its server calls it. The connection itself
// is held by ConnectionSize. 8 are for the record of slow and failed calls.
static_assert(sizeof(Session) <= 832);
static_assert(sizeof(Session) + sizeof(CallsIn) <= 1256);
static_assert(sizeof(InlineCall) <= 40);
static_assert(sizeof(CallContext) <= sizeof(void*));
static_assert(std::is_trivially_copyable_v<CallOptions>);

TEST(MethodName, IsTheQualifiedNameOfTheFunction) {
  EXPECT_EQ(detail::method_key<geometry::area>.name, "geometry::area");
  EXPECT_THAT(std::string{detail::method_key<&geometry::Board::fields>.name},
              ::testing::HasSubstr("geometry::Board::fields"));
  EXPECT_THAT(std::string{detail::method_key<geometry::same<int>>.name},
              ::testing::HasSubstr("geometry::same"));
  EXPECT_EQ(detail::method_key<geometry::same<int>>.name, "geometry::same");
  EXPECT_NE(detail::method_key<geometry::same<int>>.schema, detail::method_key<geometry::same<long>>.schema);
}

std::string name_written(std::string_view raw) {
  std::string text(NameWriter::room(raw), ' ');
  text.resize(NameWriter{text.data()}.write(raw));
  return text;
}

TEST(MethodName, IsTheSameFromBothCompilers) {
  const std::pair<std::string_view, std::string_view> spellings[] = {
      {"lib::{anonymous}::f", "lib::(anonymous namespace)::f"},
      {"Store<std::__cxx11::basic_string<char> >::get", "Store<std::basic_string<char>>::get"},
      {"Store<std::chrono::_V2::system_clock>::get", "Store<std::chrono::system_clock>::get"},
      {"Many<long unsigned int, short int, long long int>::get",
       "Many<unsigned long, short, long long>::get"},
      {"Store<unsigned __int128>::get", "Store<unsigned __int128>::get"},
      {"Store<__int128 unsigned>::get", "Store<unsigned __int128>::get"},
      {"Store<const char*>::get", "Store<const char *>::get"},
      {"Store<int [3]>::get", "Store<int[3]>::get"},
      {"Store<int(std::__cxx11::basic_string<char>, int)>::get",
       "Store<int (std::basic_string<char>, int)>::get"},
      {"OfValue<3>::get", "OfValue<3UL>::get"},
      {"OfValue<plain>::get", "OfValue<&plain>::get"},
      {"Many<int, plain>::get", "Many<int, &plain>::get"},
      {"Store<const int&>::get", "Store<const int &>::get"},
  };
  for (const auto& [gnu, clang] : spellings) EXPECT_EQ(name_written(gnu), name_written(clang));
  EXPECT_EQ(name_written("Store<std::__cxx11::basic_string<char> >::get"),
            "Store<std::basic_string<char>>::get");
  EXPECT_EQ(name_written("lib::__cxx11_like::f"), "lib::__cxx11_like::f");
  EXPECT_EQ(name_written("unsigned_thing::long_name::int3u"), "unsigned_thing::long_name::int3u");
}

TEST(MethodName, OfWhatHasNoNameIsRefused) {
  EXPECT_TRUE(is_unsharable("<lambda(int)>::operator()"));
  EXPECT_TRUE(is_unsharable("(anonymous class)::operator()"));
  EXPECT_TRUE(is_unsharable("<unnamed struct>::f"));
  EXPECT_TRUE(is_unsharable("OfValue<Text<4>{\"abc\"}>::f"));
  EXPECT_FALSE(is_unsharable("lib::(anonymous namespace)::f"));
  EXPECT_FALSE(is_unsharable("lib::Store<int>::operator()"));
}

TEST(MethodName, IsTheUsersKeyWhereThereIsOne) {
  constexpr auto kKeyed = detail::method_key<method<geometry::area, "area">>;
  EXPECT_EQ(kKeyed.name, "area");
  EXPECT_EQ(kKeyed.id, detail::hash_name("area"));
  EXPECT_EQ(kKeyed.id, (detail::method_key<remote<"area", int(int, int)>>.id));
  EXPECT_EQ(kKeyed.schema, (detail::method_key<remote<"area", int(int, int)>>.schema));
}

TEST(MethodName, HasAnIdThatNeverChanges) {
  // 64-bit FNV-1a, as published: these are on the wire.
  EXPECT_EQ(detail::hash_name(""), 0xcbf29ce484222325u);
  EXPECT_EQ(detail::hash_name("a"), 0xaf63dc4c8601ec8cu);
  EXPECT_EQ(detail::hash_name("foobar"), 0x85944171f73967e8u);
}

TEST(MethodSchema, DependsOnArgumentsAndResultButNotOnHowTheServerServes) {
  constexpr auto kPlain = detail::method_key<remote<"m", int(int)>>;
  EXPECT_EQ(kPlain.schema, (detail::method_key<remote<"m", Task<int>(int)>>.schema));
  EXPECT_EQ(kPlain.schema, (detail::method_key<remote<"m", Result<int>(CallContext&, const int&)>>.schema));
  EXPECT_EQ(kPlain.schema, (detail::method_key<remote<"m", void(Reply<int>, CallContext&, int)>>.schema));
  EXPECT_NE(kPlain.schema, (detail::method_key<remote<"m", int(int, int)>>.schema));
  EXPECT_NE(kPlain.schema, (detail::method_key<remote<"m", long(int)>>.schema));
  EXPECT_NE(kPlain.schema, (detail::method_key<remote<"m", void(int)>>.schema));
  EXPECT_NE((detail::method_key<remote<"m", void(int)>>.schema),
            (detail::method_key<remote<"m", int()>>.schema));
  EXPECT_EQ(kPlain.schema_text(kPlain), "(i32) -> (i32)");
  static constexpr const MethodKey& kRemote = detail::method_key<remote<"m", void()>>;
  EXPECT_EQ(kRemote.schema_text(kRemote), "() -> void");
}

/// The text of the types of a handler, which the parser of descriptions must accept.
template <auto M>
std::string described() {
  const MethodEntry entry = HandlerOf<M>::entry(nullptr, {});
  const std::string text = entry.described_text(entry);
  EXPECT_TRUE(MethodDescription::parse(text).ok()) << text;
  return text;
}

TEST(MethodDescription, NamesTheFieldsOfArgumentsResultsAndItems) {
  EXPECT_EQ(described<&geometry::area>(), "(i32, i32) -> (i32)");
  EXPECT_EQ(described<&geometry::shifted>(),
            "({x: i32, y: i32}, [{by: {x: i32, y: i32}}]) -> ({x: i32, y: i32})");
  EXPECT_EQ(described<&geometry::grown>(), "() -> ({by: {x: i32, y: i32}, note: +v2 string})");
  EXPECT_EQ(described<&geometry::corners>(),
            "stream of ({x: i32, y: i32}), (i32) -> void, stream of ({x: i32, y: i32})");
  EXPECT_EQ(described<&geometry::later>(), "({x: i32, y: i32}) -> void");
}

MethodEntry entry_of(std::uint64_t id, std::string_view name) {
  MethodEntry entry;
  entry.key = MethodKey{id, 1, name, nullptr};
  return entry;
}

TEST(MethodTable, FindsEveryMethodAndNoOther) {
  std::vector<MethodEntry> entries;
  // The worst a peer or a user can choose: all of them at home in the same place.
  for (std::uint64_t i = 0; i < 100; ++i) entries.push_back(entry_of(i << 40, "method"));
  const MethodTable table = MethodTable::build(std::move(entries)).value();
  for (std::uint64_t i = 0; i < 100; ++i) {
    ASSERT_NE(table.find_any(i << 40), nullptr);
    EXPECT_EQ(table.find_any(i << 40)->key.id, i << 40);
  }
  EXPECT_EQ(table.find_any(100ull << 40), nullptr);
  EXPECT_EQ(table.find_any(1), nullptr);
}

TEST(MethodTable, IsEmptyAtFirst) {
  EXPECT_EQ(MethodTable{}.find_any(0), nullptr);
  EXPECT_EQ(MethodTable::build({}).value().find_any(0), nullptr);
}

TEST(MethodTable, RefusesTwoMethodsOfOneIdAndNamesBoth) {
  std::vector<MethodEntry> entries{entry_of(7, "first"), entry_of(7, "second")};
  const Result<MethodTable> built = MethodTable::build(std::move(entries));
  ASSERT_FALSE(built.ok());
  EXPECT_EQ(built.status().code(), StatusCode::kAlreadyExists);
  EXPECT_THAT(std::string{built.status().message()},
              ::testing::AllOf(::testing::HasSubstr("'first'"), ::testing::HasSubstr("'second'")));
}

void expect_misuse(MethodEntry entry, std::string_view option) {
  const Result<MethodTable> built = MethodTable::build({std::move(entry)});
  ASSERT_FALSE(built.ok());
  EXPECT_EQ(built.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string{built.status().message()},
              ::testing::AllOf(::testing::HasSubstr("'method'"), ::testing::HasSubstr(std::string{option})));
}

TEST(MethodTable, RefusesLimitsThatWouldNeverHoldAnythingBack) {
  MethodEntry entry = entry_of(7, "method");
  entry.options.running_max = 1;
  expect_misuse(entry, "running_max");
  entry.options = {.waiting_max = 1};
  expect_misuse(entry, "waiting_max");
  entry.kind = HandlerKind::kCoroutine;
  expect_misuse(entry, "waiting_max");
  entry.kind = HandlerKind::kBlocking;
  EXPECT_TRUE(MethodTable::build({entry}).ok());
}

TEST(RunningLimits, NestAndAreNeverExceeded) {
  RunningLimit whole{2};
  RunningLimit part{1, &whole};
  RunningLimit other{5, &whole};
  {
    RunningPlace first;
    EXPECT_TRUE(first.take(&part));
    EXPECT_FALSE(RunningPlace{}.take(&part));
    EXPECT_EQ(whole.running(), 1u) << "what was refused in the part has left the whole again";
    RunningPlace second;
    EXPECT_TRUE(second.take(&other));
    EXPECT_FALSE(RunningPlace{}.take(&other));
    EXPECT_EQ(other.running(), 1u);
  }
  EXPECT_EQ(whole.running() + part.running() + other.running(), 0u);
  EXPECT_TRUE(RunningPlace{}.take(nullptr));
}

TEST(RunningLimits, GiveAConnectionNoMoreThanEightTimesWhatNobodyHas) {
  RunningLimit server{90};
  RunningLimit method{90, &server};
  std::size_t held = 0;
  while (held < 90 && method.try_enter(held)) ++held;
  EXPECT_EQ(held, 80u);
  EXPECT_EQ(method.running(), 80u) << "who was refused by the server has left the method";
  EXPECT_TRUE(method.try_enter(0)) << "who holds little gets more";
  EXPECT_TRUE(server.try_enter(1));
  for (std::size_t left = 0; left < 81; ++left) method.leave();
  server.leave();
  EXPECT_EQ(server.running() + method.running(), 0u);
}

TEST(RunningLimits, AreKeptToByThreadsThatEnterAtOnce) {
  RunningLimit server{6};
  RunningLimit first{4, &server};
  RunningLimit second{4, &server};
  std::atomic<int> inside_first = 0;
  std::atomic<int> inside = 0;
  std::atomic<int> entered = 0;
  std::atomic<bool> over = false;
  const auto work = [&](RunningLimit& limit, std::atomic<int>* of_method) {
    for (int i = 0; i < 20'000; ++i) {
      RunningPlace place;
      if (!place.take(&limit)) continue;
      ++entered;
      if (++inside > 6 || (of_method != nullptr && ++*of_method > 4)) over = true;
      if (of_method != nullptr) --*of_method;
      --inside;
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] { work(first, &inside_first); });
    threads.emplace_back([&] { work(second, nullptr); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(over);
  EXPECT_GT(entered, 0);
  EXPECT_EQ(server.running() + first.running() + second.running(), 0u);
}

TEST(AttachmentView, IsOnePieceOrSeveral) {
  const std::string text = "attachment";
  EXPECT_EQ(AttachmentView{}.count(), 0u);
  EXPECT_EQ(AttachmentView{}.bytes(), 0u);
  const AttachmentView one{as_bytes(text)};
  EXPECT_EQ(one.count(), 1u);
  EXPECT_EQ(one.bytes(), text.size());
  const std::vector<Bytes> gathered{as_bytes(text), Bytes{}, as_bytes(text).first(3)};
  const AttachmentView several{std::span<const Bytes>{gathered}};
  EXPECT_EQ(several.count(), 3u);
  EXPECT_EQ(several.bytes(), text.size() + 3);
  EXPECT_EQ(as_text(several.run(2)), "att");
}

}  // namespace
}  // namespace weft
