// SPDX-License-Identifier: Apache-2.0
// Streams of all four shapes, on one loop over real sockets.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "integration/rpc/rpc_testing.hpp"

namespace weft::testing::streams_tests {
namespace {

struct Quote {
  std::string symbol;
  int price = 0;
};

/// Gives as many quotes as are asked for.
Stream<Quote> watch(std::string symbol, int count) {
  for (int i = 0; i < count; ++i) {
    Quote quote{symbol, i};
    co_yield quote;
  }
}
/// Gives as many, and then a failure.
Stream<int> break_off(int count) {
  for (int i = 0; i < count; ++i) co_yield i;
  throw Status{StatusCode::kAborted, Layer::kUser, "the market closed"};
}
Task<Result<long>> add(Reader<int>& numbers) {
  long sum = 0;
  while (auto number = co_await numbers.next()) sum += *number;
  if (!numbers.status().ok()) co_return numbers.status();
  co_return sum;
}
/// Says the sum so far behind each number.
Stream<long> running_sum(Reader<int>& numbers) {
  long sum = 0;
  while (auto number = co_await numbers.next()) {
    sum += *number;
    co_yield sum;
  }
}
/// The same with a writer, times a factor.
Task<Result<void>> scaled(CallContext& context, Reader<int>& numbers, Writer<std::string>& texts,
                          int factor) {
  if (context.method().empty()) co_return Status{StatusCode::kInternal, Layer::kUser, "no name"};
  while (auto number = co_await numbers.next()) {
    const std::string text = std::to_string(*number * factor);
    if (const bool taken = co_await texts.write(text); !taken) co_return texts.status();
  }
  co_return Result<void>{};
}
Task<int> first_only(Reader<int>& numbers) {
  auto number = co_await numbers.next();
  co_return number.value_or(-1);
}

/// Handlers of each kind that set an attachment which no stream can carry.
void attach(CallContext& context) {
  context.set_attachment(Buffer::try_allocate(1000).value());
}
Task<int> read_and_attach(CallContext& context, Reader<int>& numbers) {
  while (auto number = co_await numbers.next()) continue;
  attach(context);
  co_return 1;
}
Stream<int> generate_and_attach(CallContext& context) {
  co_yield 1;
  attach(context);
}
Task<Result<void>> write_and_attach(CallContext& context, Writer<int>& numbers) {
  static_cast<void>(co_await numbers.write(1));
  attach(context);
  co_return Result<void>{};
}
int block_and_attach(CallContext& context, BlockingReader<int>& numbers) {
  while (numbers.next()) continue;
  attach(context);
  return 1;
}

template <typename S>
Task<std::vector<int>> prices(S& stream) {
  std::vector<int> seen;
  while (auto quote = co_await stream.next()) seen.push_back(quote->price);
  co_return seen;
}

class Streams : public RpcTest {
 protected:
  Server& serve_all() {
    return serve_here([](Server& server) {
      server.register_handler<watch, break_off, add, running_sum, scaled, first_only>();
    });
  }
};

template <auto F>
Task<Status> end_of(Client& caller) {
  auto stream = caller.open<F>();
  stream.end_writing();
  const auto end = co_await stream.finish();
  co_return end.status();
}

TEST_F(Streams, FailWhereTheirHandlerSetsAnAttachment) {
  Server& server = serve({.threads = 1}, [](Server& its) {
    its.register_handler<read_and_attach, generate_and_attach, write_and_attach, block_and_attach>();
  });
  Client& caller = client(server);
  for (const Status& status : {loop().block_on(end_of<read_and_attach>(caller)),
                               loop().block_on(end_of<block_and_attach>(caller))}) {
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << status.to_string();
    EXPECT_THAT(std::string{status.message()}, ::testing::HasSubstr("set_attachment()"));
  }
  const auto read_to_end = [&](auto stream) -> Task<Status> {
    while (auto number = co_await stream.next()) continue;
    co_return stream.status();
  };
  for (const Status& status : {loop().block_on(read_to_end(caller.open<generate_and_attach>())),
                               loop().block_on(read_to_end(caller.open<write_and_attach>()))}) {
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << status.to_string();
  }
}

TEST_F(Streams, ServerSendsItemsInTheirOrder) {
  Client& caller = client(serve_all());
  auto quotes = caller.open<watch>("WFT", 5000);
  const std::vector<int> seen = loop().block_on(prices(quotes));
  ASSERT_EQ(seen.size(), 5000u);
  EXPECT_TRUE(std::ranges::is_sorted(seen));
  EXPECT_TRUE(quotes.status().ok()) << quotes.status().message();
}

TEST_F(Streams, WhatCameBeforeAFailureIsRead) {
  Client& caller = client(serve_all());
  auto numbers = caller.open<break_off>(3);
  const auto read = [&]() -> Task<int> {
    int count = 0;
    while (auto number = co_await numbers.next()) ++count;
    co_return count;
  };
  EXPECT_EQ(loop().block_on(read()), 3);
  EXPECT_EQ(numbers.status().code(), StatusCode::kAborted);
  EXPECT_THAT(std::string{numbers.status().message()}, ::testing::HasSubstr("the market closed"));
}

TEST_F(Streams, ClientSendsItemsAndGetsOneResult) {
  Client& caller = client(serve_all());
  const auto upload = [&]() -> Task<Result<long>> {
    auto numbers = caller.open<add>();
    for (int i = 1; i <= 20000; ++i) {
      if (const bool taken = co_await numbers.write(i); !taken) co_return numbers.status();
    }
    Result<long> sum = co_await numbers.finish();
    co_return sum;
  };
  const Result<long> sum = loop().block_on(upload());
  ASSERT_TRUE(sum.ok()) << sum.status().message();
  EXPECT_EQ(*sum, 20000L * 20001 / 2);
}

TEST_F(Streams, GiveTheirResultOnceAndTakeNoItemsBehindTheirEnd) {
  Client& caller = client(serve_all());
  const auto misuse = [&]() -> Task<void> {
    auto numbers = caller.open<add>();
    const int seven = 7;
    const bool before = co_await numbers.write(seven);
    EXPECT_TRUE(before);
    numbers.end_writing();
    const bool behind = co_await numbers.write(seven);
    EXPECT_FALSE(behind);
    const Result<long> sum = co_await numbers.finish();
    EXPECT_EQ(sum.value_or(-1), 7);
    const bool late = co_await numbers.write(seven);
    EXPECT_FALSE(late);
    const Result<long> again = co_await numbers.finish();
    EXPECT_EQ(again.status().code(), StatusCode::kFailedPrecondition) << again.status().to_string();
    auto broken = caller.open<break_off>(0);
    for (int i = 0; i < 2; ++i) {
      const Result<void> failure = co_await broken.finish();
      EXPECT_EQ(failure.status().code(), StatusCode::kAborted) << "a failure is given again";
    }
  };
  loop().block_on(misuse());
}

TEST_F(Streams, BothSidesSend) {
  Client& caller = client(serve_all());
  const auto talk = [&]() -> Task<Status> {
    auto sums = caller.open<running_sum>();
    long expected = 0;
    for (int i = 0; i < 100; ++i) {
      if (const bool taken = co_await sums.write(i); !taken) co_return sums.status();
      expected += i;
      auto sum = co_await sums.next();
      if (!sum || *sum != expected) co_return Status{StatusCode::kDataLoss, Layer::kUser, "another sum"};
    }
    sums.end_writing();
    auto more = co_await sums.next();
    if (more) co_return Status{StatusCode::kDataLoss, Layer::kUser, "an item too many"};
    co_return sums.status();
  };
  const Status status = loop().block_on(talk());
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST_F(Streams, HandlerWithAWriterAndOptions) {
  Client& caller = client(serve_all());
  const auto talk = [&]() -> Task<std::vector<std::string>> {
    CallOptions options;
    options.timeout = 30s;
    auto stream = caller.open<scaled>(options, 3);
    std::vector<std::string> seen;
    for (int i = 0; i < 3; ++i) {
      static_cast<void>(co_await stream.write(i));
      auto text = co_await stream.next();
      seen.push_back(text.value_or("none"));
    }
    Result<void> end = co_await stream.finish();
    seen.push_back(end.ok() ? "well" : std::string{end.status().message()});
    co_return seen;
  };
  EXPECT_THAT(loop().block_on(talk()), ::testing::ElementsAre("0", "3", "6", "well"));
}

// The handler ends while its caller still writes: what crosses its answer is dropped.
TEST_F(Streams, HandlerThatEndsEarlyStopsItsCaller) {
  Client& caller = client(serve_all());
  const auto upload = [&]() -> Task<Result<int>> {
    auto numbers = caller.open<first_only>();
    int written = 0;
    for (;;) {
      const bool taken = co_await numbers.write(written + 7);
      if (!taken) break;
      ++written;
    }
    Result<int> first = co_await numbers.finish();
    co_return first;
  };
  const Result<int> first = loop().block_on(upload());
  ASSERT_TRUE(first.ok()) << first.status().message();
  EXPECT_EQ(*first, 7);
}

}  // namespace
}  // namespace weft::testing::streams_tests
