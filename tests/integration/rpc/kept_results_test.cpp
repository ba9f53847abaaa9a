// SPDX-License-Identifier: Apache-2.0
// CR-3: results that are decoded into values of the caller, and results that are looked at where they were
// received.
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "integration/rpc/rpc_testing.hpp"

namespace weft::testing::kept_results_tests {
namespace {

struct Page {
  std::string title;
  std::vector<std::uint32_t> numbers;
  std::vector<std::string> lines;
  std::optional<std::string> note;
  std::map<std::string, int> counts;
  Compatible<std::string> added;
  friend bool operator==(const Page&, const Page&) = default;
};
struct PageView {
  std::string_view title;
  std::span<const std::uint32_t> numbers;
  std::vector<std::string_view> lines;
  std::optional<std::string_view> note;
  std::map<std::string_view, int> counts;
  Compatible<std::string_view> added;
};

/// A type with hooks, which expect an object without content.
struct Journal {
  std::vector<std::string> entries;
};

Page page(int kind) {
  if (kind == 0) {
    return {.title = std::string(100, 't'),
            .numbers = {1, 2, 3},
            .lines = {std::string(200, 'a'), std::string(300, 'b'), "c"},
            .note = std::string(50, 'n'),
            .counts = {{"one", 1}, {"two", 2}},
            .added = std::string(40, 'x')};
  }
  return {.title = "short",
          .numbers = {4},
          .lines = {"d", "e"},
          .note = std::nullopt,
          .counts = {{"three", 3}},
          .added = std::nullopt};
}
std::string text(std::uint64_t size, char letter) {
  return std::string(size, letter);
}
std::string fails(std::string_view why) {
  throw user_error(404, why, StatusCode::kNotFound);
}
std::vector<std::uint64_t> numbers_to(std::uint64_t end) {
  std::vector<std::uint64_t> numbers(end);
  for (std::uint64_t i = 0; i < end; ++i) numbers[i] = i;
  return numbers;
}
Task<std::string> never(CallContext&) {
  [[maybe_unused]] const Result<void> slept = co_await sleep_for(1h);
  co_return "late";
}
std::string with_attachment(CallContext& context, std::string_view said) {
  context.set_attachment(Buffer::copy_of(bytes_of("attached")));
  return std::string{said};
}
Journal journal(int entries) {
  return {std::vector<std::string>(static_cast<std::size_t>(entries), "entry")};
}

}  // namespace
}  // namespace weft::testing::kept_results_tests

template <>
struct weft::CodecTraits<weft::testing::kept_results_tests::Journal> {
  using Journal = weft::testing::kept_results_tests::Journal;
  using Wire = std::vector<std::string>;
  static Wire to_wire(const Journal& journal) { return journal.entries; }
  static bool from_wire(Wire&& wire, Journal& journal) {
    for (std::string& entry : wire) journal.entries.push_back(std::move(entry));  // it counts on no content
    return true;
  }
};

namespace weft::testing::kept_results_tests {
namespace {

class KeptResults : public RpcTest {
 protected:
  KeptResults() {
    server_ = &serve_here([](Server& server) {
      server.register_handler<page>();
      server.register_handler<text>();
      server.register_handler<fails>();
      server.register_handler<numbers_to>();
      server.register_handler<never>();
      server.register_handler<with_attachment>();
      server.register_handler<journal>();
    });
    client_ = &client(*server_);
  }
  template <typename Work>
  void run(Work work) {
    loop().block_on(work(*client_));
  }

  Server* server_;
  Client* client_;
};

Task<void> read_a_string_twice(Client& client) {
  std::string value;
  Result<void> long_one = co_await client.call<text>(5'000u, 'a').into(value);
  EXPECT_TRUE(long_one.ok()) << long_one.status().to_string();
  EXPECT_EQ(value, std::string(5'000, 'a'));
  const char* const memory = value.data();
  Result<void> short_one = co_await client.call<text>(100u, 'b').into(value);
  EXPECT_TRUE(short_one.ok());
  EXPECT_EQ(value, std::string(100, 'b'));
  EXPECT_EQ(value.data(), memory);
}
TEST_F(KeptResults, OfStringsUseTheirMemoryAgain) {
  run(read_a_string_twice);
}

Task<void> read_a_struct_again_and_again(Client& client) {
  Page value;
  for (const int kind : {0, 1, 0, 0, 1}) {
    Result<void> read = co_await client.call<page>(kind).into(value);
    EXPECT_TRUE(read.ok()) << read.status().to_string();
    EXPECT_EQ(value, page(kind));
  }
  Result<void> first = co_await client.call<page>(0).into(value);
  EXPECT_TRUE(first.ok());
  const void* const places[] = {value.title.data(), value.numbers.data(), value.lines[0].data(),
                                value.lines[1].data(), value.note->data()};
  Result<void> again = co_await client.call<page>(0).into(value);
  EXPECT_TRUE(again.ok());
  const void* const places_again[] = {value.title.data(), value.numbers.data(), value.lines[0].data(),
                                      value.lines[1].data(), value.note->data()};
  EXPECT_TRUE(std::equal(std::begin(places), std::end(places), std::begin(places_again)));
}
TEST_F(KeptResults, OfStructsHaveNothingOfTheirFormerContentAndKeepItsMemory) {
  run(read_a_struct_again_and_again);
}

Task<void> read_with_hooks(Client& client) {
  Journal value{{"from before"}};
  Result<void> read = co_await client.call<journal>(3).into(value);
  EXPECT_TRUE(read.ok());
  EXPECT_EQ(value.entries, std::vector<std::string>(3, "entry"));
}
TEST_F(KeptResults, WithHooksAreReadIntoFreshObjects) {
  run(read_with_hooks);
}

Task<void> fail_into(Client& client) {
  std::string value{"as before"};
  Result<void> failed = co_await client.call<fails>("nothing").into(value);
  EXPECT_EQ(failed.status().code(), StatusCode::kNotFound);
  EXPECT_EQ(value, "as before");
  const CallOptions brief{.timeout = 1ms};
  Result<void> late = co_await client.call<never>(brief).into(value);
  EXPECT_EQ(late.status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(value, "as before");
}
TEST_F(KeptResults, StayAsTheyWereWhenTheCallFails) {
  run(fail_into);
}

Task<void> answer_into(Client& client) {
  std::string value;
  Result<Answer<void>> whole = co_await client.call<with_attachment>("said").with_attachment().into(value);
  EXPECT_TRUE(whole.ok());
  EXPECT_EQ(value, "said");
  EXPECT_EQ(whole->attachment_bytes, 8u);
  Result<Answer<void>> other_order =
      co_await client.call<with_attachment>("again").into(value).with_attachment();
  EXPECT_TRUE(other_order.ok());
  EXPECT_EQ(value, "again");
  EXPECT_EQ(other_order->attachment_bytes, 8u);
}
TEST_F(KeptResults, MayComeWithAnAttachment) {
  run(answer_into);
}

/// The value of this coroutine ends with the cancelled call, before the answer comes.
Task<void> read_into_a_short_lived_value(Client* client) {
  std::string value{"as before"};
  const Result<void> read = co_await client->call<text>(20'000u, 'a').into(value);
  EXPECT_EQ(read.status().code(), StatusCode::kCancelled);
  EXPECT_EQ(value, "as before");
}
Task<void> cancel_at_once(Client& client) {
  Scope scope;
  scope.spawn(&read_into_a_short_lived_value, &client);
  scope.cancel(CancelReason::kRequested);
  co_await scope.join();
}
TEST_F(KeptResults, AreNotWrittenToOnceTheCallIsCancelled) {
  ASSERT_TRUE(connect(*client_).ok());
  run(cancel_at_once);
  // The late answer is dropped, and the connection goes on.
  EXPECT_EQ(call<text>(*client_, 3u, 'b').value(), "bbb");
}

Task<void> look(Client& client) {
  for (const std::uint64_t size : {0u, 1u, 5'000u, 9'000u, 70'000u, 1'000'000u}) {
    Result<Received<std::string_view>> seen = co_await client.call<text>(size, 'v').view();
    EXPECT_TRUE(seen.ok()) << seen.status().to_string();
    EXPECT_EQ(**seen, std::string(size, 'v'));
    EXPECT_EQ((*seen)->size(), size);
  }
  Result<Received<std::span<const std::uint64_t>>> numbers = co_await client.call<numbers_to>(10'000u).view();
  EXPECT_TRUE(numbers.ok());
  const std::span<const std::uint64_t> all = **numbers;
  EXPECT_EQ(all.size(), 10'000u);
  EXPECT_EQ(all.front(), 0u);
  EXPECT_EQ(all.back(), 9'999u);
  Result<Received<PageView>> seen_page = co_await client.call<page>(0).view<PageView>();
  EXPECT_TRUE(seen_page.ok()) << seen_page.status().to_string();
  const PageView& shown = **seen_page;
  const Page expected = page(0);
  EXPECT_EQ(shown.title, expected.title);
  EXPECT_TRUE(std::equal(shown.numbers.begin(), shown.numbers.end(), expected.numbers.begin(),
                         expected.numbers.end()));
  EXPECT_EQ(shown.lines.at(1), expected.lines.at(1));
  EXPECT_EQ(*shown.note, *expected.note);
  EXPECT_EQ(shown.counts.at("two"), 2);
  EXPECT_EQ(*shown.added, *expected.added);
}
TEST_F(KeptResults, AreLookedAtWhereTheyWereReceived) {
  run(look);
}

Task<void> look_and_keep(Client& client, std::vector<Received<std::string_view>>& kept) {
  for (const char letter : {'a', 'b', 'c', 'd'}) {
    Result<Received<std::string_view>> seen = co_await client.call<text>(100'000u, letter).view();
    EXPECT_TRUE(seen.ok());
    kept.push_back(std::move(*seen));
  }
  Result<Received<std::string_view>> another = co_await client.call<text>(40'000u, 'e').view();
  EXPECT_TRUE(another.ok());
  kept.front() = std::move(*another);
}
TEST_F(KeptResults, ThatAreLookedAtOutliveLaterCallsAndTheirClient) {
  std::vector<Received<std::string_view>> kept;
  {
    Client own{loop(), {.connect = server_->urls().front()}};
    loop().block_on(look_and_keep(own, kept));
  }
  ASSERT_EQ(kept.size(), 4u);
  EXPECT_EQ(*kept[0], std::string(40'000, 'e'));
  EXPECT_EQ(*kept[1], std::string(100'000, 'b'));
  EXPECT_EQ(*kept[3], std::string(100'000, 'd'));
}

Task<void> look_with_attachment(Client& client) {
  Result<Answer<Received<std::string_view>>> seen =
      co_await client.call<with_attachment>("said").view().with_attachment();
  EXPECT_TRUE(seen.ok());
  EXPECT_EQ(*seen->value, "said");
  EXPECT_EQ(seen->attachment.size(), 8u);
  const CallOptions options{.timeout = 10s};
  Result<Received<std::string_view>> failed = co_await client.call<fails>(options, "nothing").view();
  EXPECT_EQ(failed.status().code(), StatusCode::kNotFound);
}
TEST_F(KeptResults, ThatAreLookedAtMayComeWithAnAttachmentOrFail) {
  run(look_with_attachment);
}

}  // namespace
}  // namespace weft::testing::kept_results_tests
