// SPDX-License-Identifier: Apache-2.0
// Calls in both directions of one connection, over every transport.
#include <cstring>
#include <optional>

#include "conformance/fixture.hpp"
#include "weft/client.hpp"
#include "weft/server.hpp"

namespace weft::conformance {

namespace {

constexpr auto kHello = remote<"hello", void()>;

std::string back(CallContext& context, std::string text) {
  context.set_attachment(context.take_attachment());
  return text;
}

/// Gives `blocks` blocks of a memory of its own, each second of it, the last first.
std::uint64_t give_blocks(CallContext& context, std::uint64_t blocks, std::uint64_t bytes) {
  const auto memory = std::make_shared<const std::string>(pattern(2 * blocks * bytes, 3));
  std::vector<Bytes> runs;
  for (std::size_t i = blocks; i > 0; --i)
    runs.push_back(as_bytes(*memory).subspan(2 * i * bytes - bytes, bytes));
  context.set_attachment({runs, memory});
  return blocks;
}
std::string blocks_given(std::size_t blocks, std::size_t bytes) {
  const std::string memory = pattern(2 * blocks * bytes, 3);
  std::string all;
  for (std::size_t i = blocks; i > 0; --i) all += memory.substr(2 * i * bytes - bytes, bytes);
  return all;
}

constexpr auto kEcho = &back;

class PeerCalls : public ConformanceTest {
 protected:
  PeerCalls() {
    transports_.add(std::move(transport_));
    ServerOptions options;
    options.listen = {any_url().to_string()};
    options.threads = 0;
    options.loop = loop_.get();
    server_.emplace(std::move(options), transports_);
    server_->register_handler<back, give_blocks>();
    server_->register_handler("hello", [this](CallContext& context) { peer_.emplace(context.peer()); });
    server_->start().value();
    ClientOptions to_server;
    to_server.connect = server_->urls().front();
    client_.emplace(*loop_, to_server, transports_);
    client_->register_handler<back, give_blocks>();
  }
  ~PeerCalls() override {
    client_.reset();
    peer_.reset();
    if (in_memory()) {
      server_->stop(Duration::zero());
      EXPECT_TRUE(until([this] { return server_->stopped(); }));
    }
    server_.reset();
  }
  void greet() {
    auto hello = client_->start<kHello>();
    ASSERT_TRUE(until([&] { return hello.done(); }));
    ASSERT_TRUE(peer_.has_value());
  }

  Transports transports_;
  std::optional<Server> server_;
  std::optional<weft::Peer> peer_;
  std::optional<Client> client_;
};

// Of blocks that are copied, gathered and leased, in one frame and in pieces.
TEST_P(PeerCalls, AreAnsweredFromBlocksInManyPlaces) {
  ASSERT_NO_FATAL_FAILURE(greet());
  constexpr std::pair<std::size_t, std::size_t> kShapes[] = {{3, 7}, {40, 2048}, {300, 1000}, {200, 9000}};
  for (const auto& [blocks, bytes] : kShapes) {
    std::vector<std::string> landings(2, std::string(blocks * bytes, '\0'));
    std::vector<Call<std::uint64_t>> calls;
    const auto into = [&](std::size_t i) {
      return CallOptions{.landing = std::as_writable_bytes(std::span{landings[i]})};
    };
    calls.push_back(client_->start<give_blocks>(into(0), blocks, bytes));
    calls.push_back(peer_->start<give_blocks>(into(1), blocks, bytes));
    ASSERT_TRUE(
        until([&] { return std::ranges::all_of(calls, [](const auto& call) { return call.done(); }); }));
    for (std::size_t i = 0; i < 2; ++i) {
      const Result<std::uint64_t> given =
          loop_->block_on([](Call<std::uint64_t> call) -> Task<Result<std::uint64_t>> {
            Result<std::uint64_t> result = co_await std::move(call);
            co_return result;
          }(std::move(calls[i])));
      ASSERT_TRUE(given.ok()) << given.status().to_string();
      EXPECT_TRUE(landings[i] == blocks_given(blocks, bytes)) << blocks << " of " << bytes << ", " << i;
    }
  }
}

TEST_P(PeerCalls, CrossInNumbers) {
  ASSERT_NO_FATAL_FAILURE(greet());
  std::vector<Call<std::string>> calls;
  for (std::size_t i = 0; i < 200; ++i) {
    calls.push_back(client_->start<kEcho>(pattern(i * 20, 1)));
    calls.push_back(peer_->start<kEcho>(pattern(i * 20, 2)));
  }
  ASSERT_TRUE(
      until([&] { return std::ranges::all_of(calls, [](const auto& call) { return call.done(); }); }));
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const Result<std::string> answer =
        loop_->block_on([](Call<std::string> call) -> Task<Result<std::string>> {
          Result<std::string> result = co_await std::move(call);
          co_return result;
        }(std::move(calls[i])));
    ASSERT_TRUE(answer.ok()) << answer.status().to_string();
    EXPECT_EQ(*answer, pattern(i / 2 * 20, i % 2 + 1));
  }
}

TEST_P(PeerCalls, CarryAttachmentsBothWaysAtOnce) {
  ASSERT_NO_FATAL_FAILURE(greet());
  for (const std::size_t bytes : {100ul, 70'000ul, 900'000ul}) {
    const std::string sent = pattern(bytes);
    std::string landed(bytes, ' ');
    std::string landed_there(bytes, ' ');
    CallOptions options;
    options.attachment = as_bytes(sent);
    options.landing = as_writable_bytes(std::span{landed});
    auto from_server = peer_->start<kEcho>(options, "text");
    options.landing = as_writable_bytes(std::span{landed_there});
    auto from_client = client_->start<kEcho>(options, "text");
    ASSERT_TRUE(until([&] { return from_server.done() && from_client.done(); }));
    EXPECT_EQ(landed, sent);
    EXPECT_EQ(landed_there, sent);
  }
}

TEST_P(PeerCalls, EndWithTheConnection) {
  ASSERT_NO_FATAL_FAILURE(greet());
  client_->close();
  ASSERT_TRUE(until([&] { return !peer_->connected(); }));
  EXPECT_TRUE(peer_->start<kEcho>("late").done());
}

INSTANTIATE_TEST_SUITE_P(Over, PeerCalls, ::testing::ValuesIn(all_transports()),
                         [](const auto& test) { return std::string{test.param}; });

}  // namespace
}  // namespace weft::conformance
