// SPDX-License-Identifier: Apache-2.0
// Hooks that count one number of bytes and write another: the message fails, and no byte is written past it.
#include <gmock/gmock.h>

#include <memory>
#include <string>
#include <vector>

#include "integration/rpc/rpc_testing.hpp"

namespace weft::testing::changed_size_tests {
namespace {

using ::testing::HasSubstr;

/// Its first use counts `measured` letters, and each later one `written`.
struct Growing {
  std::size_t measured = 0;
  std::size_t written = 0;
  mutable int uses = 0;
};

/// The same in a hook that uses the encoder itself.
struct ByHand {
  std::size_t measured = 0;
  std::size_t written = 0;
};

}  // namespace
}  // namespace weft::testing::changed_size_tests

template <>
struct weft::CodecTraits<weft::testing::changed_size_tests::Growing> {
  using Wire = std::string;
  static Wire to_wire(const weft::testing::changed_size_tests::Growing& value) {
    return std::string(value.uses++ == 0 ? value.measured : value.written, 'g');
  }
  static bool from_wire(Wire, weft::testing::changed_size_tests::Growing&) { return true; }
};

template <>
struct weft::CodecTraits<weft::testing::changed_size_tests::ByHand> {
  static constexpr std::size_t kMinEncodedSize = 0;
  static void encoded_size(auto& size, const weft::testing::changed_size_tests::ByHand& value) {
    size.skip(value.measured);
  }
  static void encode(auto& to, const weft::testing::changed_size_tests::ByHand& value) {
    const std::vector<std::byte> bytes(value.written);
    to.write_bytes(bytes.data(), bytes.size());
  }
  static bool decode(auto&, weft::testing::changed_size_tests::ByHand&) { return true; }
  static constexpr void append_schema(auto& to) { to.put("by hand"); }
};

namespace weft::testing::changed_size_tests {
namespace {

constexpr std::size_t kSizes[][2] = {
    {0, 1}, {1, 0}, {10, 100'000}, {100'000, 10}, {100'000, 200'000}, {200'000, 100'000}};

std::size_t take(const Growing& value) {
  return value.measured;
}
Growing give(std::size_t measured, std::size_t written) {
  return {measured, written};
}
void give_later(Reply<Growing> reply, std::size_t measured, std::size_t written) {
  std::move(reply)(Growing{measured, written});
}
Stream<Growing> give_items(std::size_t measured, std::size_t written) {
  const Growing item{measured, written};
  co_yield item;
}
std::size_t take_by_hand(const ByHand& value) {
  return value.measured;
}
int add_one(int number) {
  return number + 1;
}

class ChangedSize : public RpcTest {
 protected:
  void SetUp() override {
    Server& server = serve_here([](Server& its) {
      its.register_handler<&take>();
      its.register_handler<&give>();
      its.register_handler<&give_later>();
      its.register_handler<&give_items>();
      its.register_handler<&take_by_hand>();
      its.register_handler<&add_one>();
    });
    client_ = &client(server);
  }
  void TearDown() override {
    const Result<int> sum = wait_for(client_->start<&add_one>(1));
    EXPECT_TRUE(sum.ok() && *sum == 2) << "the connection is still good: " << sum.status().to_string();
  }
  static void expect_changed(const Status& status) {
    EXPECT_THAT(status.to_string(), HasSubstr("the size of a value changed between measuring and writing"));
  }
  template <typename R>
  Status status_of(Call<R> call) {
    return wait_for(std::move(call)).status();
  }

  Client* client_ = nullptr;
};

TEST_F(ChangedSize, OfAnArgumentFailsItsCall) {
  for (const auto& [measured, written] : kSizes) {
    expect_changed(status_of(client_->start<&take>(Growing{measured, written})));
    expect_changed(status_of(client_->start<&take_by_hand>(ByHand{measured, written})));
    auto awaited = [](Client* client, std::size_t its_measured, std::size_t its_written) -> Task<Status> {
      const Growing value{its_measured, its_written};
      Result<std::size_t> answer = co_await client->call<&take>(value);
      co_return answer.status();
    };
    expect_changed(loop().block_on(awaited(client_, measured, written)));
  }
}

TEST_F(ChangedSize, OfAResultFailsItsCall) {
  for (const auto& [measured, written] : kSizes) {
    expect_changed(status_of(client_->start<&give>(measured, written)));
    expect_changed(status_of(client_->start<&give_later>(measured, written)));
  }
}

TEST_F(ChangedSize, OfAnItemFailsItsStream) {
  for (const auto& [measured, written] : kSizes) {
    auto read = [](Client* client, std::size_t its_measured, std::size_t its_written) -> Task<Status> {
      auto items = client->open<&give_items>(its_measured, its_written);
      while (auto item = co_await items.next()) continue;
      co_return items.status();
    };
    expect_changed(loop().block_on(read(client_, measured, written)));
  }
}

}  // namespace
}  // namespace weft::testing::changed_size_tests
