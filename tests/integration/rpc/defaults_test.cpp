// SPDX-License-Identifier: Apache-2.0
// Programs without options: long arguments, answers and attachments.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include <weft/weft.hpp>

#include "support/pattern.hpp"
#include "weft/blocking_client.hpp"

namespace weft::testing::defaults_tests {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

std::string repeat(std::string text) {
  return text;
}

std::size_t attached(CallContext& context) {
  Buffer taken = context.take_attachment();
  const std::size_t bytes = taken.size();
  context.set_attachment(std::move(taken));
  return bytes;
}

/// A server and a client with the options that they have by themselves, on the URL that is the parameter.
class Defaults : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    server_.register_handler<repeat, attached>();
    const auto started = server_.start();
    ASSERT_TRUE(started.ok()) << started.status().to_string();
    client_.emplace(ClientOptions{.connect = server_.urls().front()});
  }
  Server server_{{.listen = {std::string{GetParam()} + (std::string_view{GetParam()}.starts_with("unix")
                                                            ? std::to_string(::getpid())
                                                            : std::string{})}}};
  std::optional<BlockingClient> client_;
};

TEST_P(Defaults, TakeArgumentsAndAnswersOfTenMebibytes) {
  for (const std::size_t size : {4 * kMiB, 8 * kMiB, 10 * kMiB}) {
    const std::string text(size, 'x');
    const auto answer = client_->call<repeat>(text);
    ASSERT_TRUE(answer.ok()) << answer.status().to_string();
    EXPECT_TRUE(*answer == text) << size;
  }
}

TEST_P(Defaults, TakeAttachmentsOfEightMebibytesBothWays) {
  const std::vector<std::byte> sent = pattern(8 * kMiB);
  const auto answer = client_->call_with_attachment<attached>(CallOptions{.attachment = sent});
  ASSERT_TRUE(answer.ok()) << answer.status().to_string();
  EXPECT_EQ(answer->value, sent.size());
  EXPECT_TRUE(same_bytes(answer->attachment.bytes(), sent));
}

/// Keeps a view of each request until it answers.
struct Late {
  std::vector<std::pair<std::string_view, Reply<std::string>>> kept;
  void keep(Reply<std::string> reply, std::string_view text) {
    kept.emplace_back(text, std::move(reply));
    if (kept.size() < 3) return;
    for (auto& [view, waiting] : kept) std::move(waiting)(std::string{view});
    kept.clear();
  }
};

TEST(DelayedReplies, KeepTheViewOfTheirRequest) {
  Late late;
  Server server{{.listen = {"tcp://127.0.0.1:0"}, .threads = 1}};
  server.register_handler<&Late::keep>(&late);
  ASSERT_TRUE(server.start().ok());
  const auto loop = Loop::create().value();
  Client client{*loop, {.connect = server.urls().front()}};
  std::vector<Call<std::string>> calls;
  for (const char letter : {'a', 'b', 'c'})
    calls.push_back(client.start<&Late::keep>(std::string(5000, letter)));
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const auto answer = loop->block_on(std::move(calls[i]));
    ASSERT_TRUE(answer.ok()) << answer.status().to_string();
    EXPECT_EQ(*answer, std::string(5000, static_cast<char>('a' + i)));
  }
}

INSTANTIATE_TEST_SUITE_P(Over, Defaults, ::testing::Values("tcp://127.0.0.1:0", "unix:///tmp/weft_defaults_"),
                         [](const auto& info) { return std::string{info.param}.substr(0, 3); });

}  // namespace
}  // namespace weft::testing::defaults_tests
