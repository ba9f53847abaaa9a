// SPDX-License-Identifier: Apache-2.0
// CR-10: what calls over TLS allocate that a policy lets through, of both sides together, and what an idle
// connection holds.
#include <malloc.h>
#include <openssl/crypto.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <vector>

#include "integration/tls/raw_tls.hpp"
#include "integration/tls/tls_testing.hpp"
#include "support/heap_count.hpp"
#include "support/raw_socket.hpp"
#include "support/steady_calls.hpp"
#include "weft/detail/access/policy.hpp"

namespace weft::testing::tls_counting_tests {
namespace {

/// A record's buffer, of which OpenSSL has one for each direction of a connection. What else it takes for a
/// record is small, and is not ours to mend.
constexpr std::size_t kBufferBytes = 8192;
std::atomic<std::size_t> buffers_taken{0};
std::atomic<std::size_t> buffers_held{0};

void* took(void* memory, std::size_t bytes) {
  if (memory == nullptr || bytes < kBufferBytes) return memory;
  ++buffers_taken;
  ++buffers_held;
  return memory;
}
void gives_back(void* memory) {
  if (memory != nullptr && ::malloc_usable_size(memory) >= kBufferBytes) --buffers_held;
}
void* allocate(std::size_t bytes, const char*, int) {
  return took(std::malloc(bytes), bytes);
}
// Of a size that is clearly on one side, so that what was taken as a buffer is given back as one.
void* reallocate(void* memory, std::size_t bytes, const char*, int) {
  gives_back(memory);
  return took(std::realloc(memory, bytes), bytes);
}
void release(void* memory, const char*, int) {
  gives_back(memory);
  std::free(memory);
}
// Before anything of OpenSSL allocates.
const int replaced = CRYPTO_set_mem_functions(allocate, reallocate, release);

using Payload = std::array<std::uint64_t, 16>;

Payload next(CallContext& context, Payload payload) {
  if (context.identity().subject() == "CN=batch") ++payload[0];
  return payload;
}

std::size_t buffers_taken_so_far() noexcept {
  return buffers_taken;
}
using Count = SteadyCalls<heap_allocations, buffers_taken_so_far>;

Task<void> call_again_and_again(Client* client, Count* count) {
  Payload payload{};
  while (count->more()) {
    Result<Payload> answer = co_await client->call<next>(payload);
    count->end_one(answer.ok() && (*answer)[0] == payload[0] + 1);
    ++payload[0];
  }
}

class CountedCallsOverTls : public TlsTest {
 protected:
  CountedCallsOverTls() {
    loop_ = Loop::create({.mode = WaitMode::kWait, .clock = &clock_}).value();
    TlsOptions of_mutual = of_server();
    of_mutual.clients = TlsClients::kRequired;
    of_mutual.ca_pem = ca_.pem();
    ServerOptions options{.listen = {"tls://127.0.0.1:0"}, .threads = 0, .loop = loop_.get()};
    options.authorizer = authorize_by(Policy::parse("allow cn:batch *next*\nallow cn:other *").value());
    server_ = std::make_unique<Server>(std::move(options), with(std::move(of_mutual)));
    server_->register_handler<next>();
    server_->start().value();
    TlsOptions own = of_client();
    own.certificates = {ca_.issue({.name = "batch"})};
    client_ = client(server_->urls().front(), std::move(own));
  }

  ~CountedCallsOverTls() override {
    client_.reset();
    server_.reset();
    loop_.reset();
  }

  void expect_no_allocations(std::size_t in_flight) {
    ASSERT_EQ(replaced, 1);
    Count count;
    std::vector<Task<void>> callers;
    for (std::size_t i = 0; i < in_flight; ++i)
      callers.push_back(call_again_and_again(client_.get(), &count));
    loop_->block_on(when_all(std::move(callers)));
    EXPECT_EQ(count.failed(), 0u);
    EXPECT_EQ(count.growth(1), 0u);
    if (kHeapIsCounted && !detail::kFramePoolBypassed) {
      EXPECT_EQ(count.growth(0), 0u);
    }
  }

  ManualClock clock_;
  std::unique_ptr<Client> client_;
};

TEST_F(CountedCallsOverTls, OneAtATimeAllocateNothing) {
  expect_no_allocations(1);
}
TEST_F(CountedCallsOverTls, ManyInFlightAllocateNothing) {
  expect_no_allocations(256);
}

// Both ends together, each after a call. What OpenSSL takes is not in this.
TEST_F(CountedCallsOverTls, AnIdleConnectionCostsLittleBesideWhatOpensslTakes) {
  if (!kHeapIsCounted) GTEST_SKIP() << "the heap is not counted here";
  constexpr std::size_t kConnections = 64;
  Server both{{.listen = {"tls://127.0.0.1:0", "tcp://127.0.0.1:0"}, .threads = 0, .loop = loop_.get()},
              with(of_server())};
  both.register_handler<next>();
  ASSERT_TRUE(both.start().ok());
  const auto own = shared(of_client());
  const auto bytes_of_one = [&](const std::string& url) {
    std::vector<std::unique_ptr<Client>> idle;
    std::size_t before = 0;
    for (std::size_t i = 0; i <= kConnections; ++i) {
      idle.push_back(std::make_unique<Client>(*loop_, ClientOptions{.connect = url}, with(own)));
      EXPECT_TRUE(loop_->block_on(idle.back()->call<next>(Payload{})).ok());
      if (i == 0) before = heap_bytes();
    }
    return (heap_bytes() - before) / kConnections;
  };
  const std::size_t of_tcp = bytes_of_one(both.urls().back());
  const std::size_t of_tls = bytes_of_one(both.urls().front());
  std::printf("TLS adds %zu bytes to the %zu of both ends\n", of_tls - of_tcp, of_tcp);
  EXPECT_LE(of_tls, of_tcp + 2 * 4096);
}

TEST_F(CountedCallsOverTls, AnIdleConnectionGivesOpensslsBuffersBack) {
  ASSERT_TRUE(loop_->block_on(client_->call<next>(Payload{})).ok());
  const std::size_t busy = buffers_held;
  for (int seconds = 0; seconds < 2; ++seconds) {
    clock_.advance(1s);
    for (int turns = 0; turns < 10; ++turns) loop_->run_once(0s);
  }
  EXPECT_EQ(buffers_held, busy - 4) << "one for each direction, at both ends";
  ASSERT_TRUE(loop_->block_on(client_->call<next>(Payload{})).ok());
  EXPECT_EQ(buffers_held, busy);
}

TEST_F(CountedCallsOverTls, AStrangerWhoIsSilentInTheHandshakeHoldsNoRecords) {
  constexpr std::size_t kStrangers = 16;
  ASSERT_TRUE(loop_->block_on(client_->call<next>(Payload{})).ok());
  const std::size_t before = buffers_held;
  detail::Url url = detail::Url::parse(server_->urls().front()).value();
  url.scheme = "tcp";
  std::deque<RawSocket> strangers;
  for (std::size_t i = 0; i < kStrangers; ++i) {
    RawTls tls;
    EXPECT_FALSE(tls.shake_hands());
    ASSERT_TRUE(strangers.emplace_back(url).send(tls.take()));
  }
  const auto answered = [&] {
    return std::ranges::all_of(strangers, [](RawSocket& each) { return each.has_input(); });
  };
  while (!answered()) loop_->run_once(1ms);
  EXPECT_EQ(buffers_held, before + kStrangers) << "one for the messages of a handshake, none for records";
}

}  // namespace
}  // namespace weft::testing::tls_counting_tests
