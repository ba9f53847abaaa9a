// SPDX-License-Identifier: Apache-2.0
// CR-10: what is queued together is encrypted together, in records as long as they get.
#include <cstring>
#include <vector>

#include "integration/tls/raw_tls.hpp"
#include "integration/tls/tls_testing.hpp"
#include "transport/tls/context.hpp"
#include "transport/tls/tls_engine.hpp"

namespace weft::testing::tls_record_tests {
namespace {

using detail::tls::CipherBuffer;
using detail::tls::TlsEngine;
using ::testing::Each;
using ::testing::ElementsAre;

/// A record has at most so many bytes of ours, and in TLS 1.3 17 more: its true type, and what tells that
/// nobody has changed it.
constexpr std::size_t kMost = 16 * 1024;
constexpr std::size_t kMore = 17;

/// A server's TLS in memory, and a client of OpenSSL's own.
class Records : public TlsTest {
 protected:
  Records() {
    auto names = detail::tls::make_server_contexts(of_server()).value();
    names->ticket_keys().see(loop_->now());
    engine_ = std::make_unique<TlsEngine>(*loop_, detail::tls::Side::kServer, names->make(), names);
    EXPECT_TRUE(engine_->open());
    while (!client_.shake_hands()) {
      put(client_.take());
      engine_->shake_hands();
      static_cast<void>(taken());
    }
    put(client_.take());
    EXPECT_EQ(engine_->shake_hands(), TlsEngine::Outcome::kDone);
    static_cast<void>(taken());
  }

  void put(const std::string& bytes) {
    CipherBuffer& input = engine_->input();
    ASSERT_TRUE(input.empty() && input.open(bytes.size()));
    std::memcpy(input.room().data(), bytes.data(), bytes.size());
    input.add(bytes.size());
  }
  /// Gives what was encrypted to the client, and returns the lengths of its records.
  std::vector<std::size_t> taken() {
    CipherBuffer& output = engine_->output();
    const std::string bytes = std::string{as_text(output.bytes())};
    output.drop(bytes.size());
    client_.give(bytes);
    std::vector<std::size_t> lengths;
    for (std::size_t at = 0; at < bytes.size(); at += 5 + lengths.back()) {
      const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[at + i]); };
      lengths.push_back(byte(3) * std::size_t{256} + byte(4));
    }
    return lengths;
  }
  /// Encrypts all of `pieces` by as many writes as it takes, and returns the lengths of the records.
  std::vector<std::size_t> records_of(std::vector<iovec> pieces) {
    std::vector<std::size_t> all;
    for (std::size_t first = 0; first < pieces.size();) {
      std::size_t moved = 0;
      EXPECT_EQ(engine_->write(std::span{pieces}.subspan(first), moved), TlsEngine::Outcome::kDone);
      for (; first < pieces.size() && moved >= pieces[first].iov_len; ++first) moved -= pieces[first].iov_len;
      if (first < pieces.size()) {
        pieces[first].iov_base = static_cast<std::byte*>(pieces[first].iov_base) + moved;
        pieces[first].iov_len -= moved;
      }
      for (const std::size_t length : taken()) all.push_back(length);
    }
    return all;
  }

  RawTls client_;
  std::unique_ptr<TlsEngine> engine_;
};

TEST_F(Records, HaveManyFramesEach) {
  std::vector<std::byte> frame(144);
  const std::vector<iovec> frames(64, iovec{frame.data(), frame.size()});
  EXPECT_THAT(records_of(frames), ElementsAre(64 * frame.size() + kMore));
}

TEST_F(Records, AreFullButTheLastWhenMuchIsSent) {
  std::vector<std::byte> head(40);
  std::vector<std::byte> attachment(1024 * 1024);
  std::vector<std::size_t> lengths =
      records_of({{head.data(), head.size()}, {attachment.data(), attachment.size()}});
  ASSERT_EQ(lengths.size(), attachment.size() / kMost + 1);
  EXPECT_EQ(lengths.back(), head.size() + kMore);
  lengths.pop_back();
  EXPECT_THAT(lengths, Each(kMost + kMore));
}

}  // namespace
}  // namespace weft::testing::tls_record_tests
