// SPDX-License-Identifier: Apache-2.0
// Messages of DNS with SRV records, whole, cut and changed.
#include "naming/srv_answer.hpp"

#include <gtest/gtest.h>

#include "dns_server.hpp"

namespace weft::detail {
namespace {

std::span<const unsigned char> bytes_of(const std::string& text) {
  return {reinterpret_cast<const unsigned char*>(text.data()), text.size()};
}

std::string message() {
  const DnsRecord first = srv_record("_kv._tcp.test", 300, 1, 2, 9000, "a.test");
  const DnsRecord second = srv_record("_kv._tcp.test", 60, 1, 3, 9001, "b.test");
  std::string text = big_endian(7, 2) + big_endian(0x8180, 2) + big_endian(1, 2) + big_endian(2, 2) +
                     big_endian(0, 4) + dns_name("_kv._tcp.test") + big_endian(kSrv, 2) + big_endian(1, 2);
  for (const DnsRecord& record : {first, second}) {
    text += big_endian(0xc00c, 2) + big_endian(kSrv, 2) + big_endian(1, 2) + big_endian(record.ttl, 4) +
            big_endian(static_cast<std::uint32_t>(record.data.size()), 2) + record.data;
  }
  return text;
}

TEST(SrvAnswer, HasRecordsAndTheSmallestTtl) {
  const std::string text = message();
  auto answer = read_srv_answer(bytes_of(text));
  ASSERT_TRUE(answer.ok()) << answer.status().to_string();
  EXPECT_EQ(answer->ttl_seconds, 60u);
  ASSERT_EQ(answer->records.size(), 2u);
  EXPECT_EQ(answer->records[1].target, "b.test");
  EXPECT_EQ(answer->records[1].port, 9001);
}

TEST(SrvAnswer, ThatIsCutAnywhereIsRefused) {
  const std::string text = message();
  for (std::size_t size = 0; size < text.size(); ++size) {
    const std::string cut = text.substr(0, size);
    EXPECT_FALSE(read_srv_answer(bytes_of(cut)).ok()) << size;
  }
}

TEST(SrvAnswer, WithAnyByteChangedIsReadOrRefusedWithinItsBounds) {
  const std::string text = message();
  std::size_t refused = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    for (const char value : {'\x00', '\x3f', '\xc0', '\xff'}) {
      std::string changed = text;
      changed[at] = value;
      auto answer = read_srv_answer(bytes_of(changed));
      if (!answer.ok()) {
        ++refused;
        continue;
      }
      EXPECT_LE(answer->records.size(), 65535u);
    }
  }
  EXPECT_GT(refused, 0u);
}

}  // namespace
}  // namespace weft::detail
