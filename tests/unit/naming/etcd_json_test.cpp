// SPDX-License-Identifier: Apache-2.0
// Answers of etcd's gateway, and of what is none.
#include "naming/etcd_json.hpp"

#include <gtest/gtest.h>

namespace weft::detail {
namespace {

TEST(EtcdJson, PrefixesEndBehindTheirLastKey) {
  EXPECT_EQ(end_of_prefix("/a/"), "/a0");
  EXPECT_EQ(end_of_prefix("a\xff\xff"), "b");
  EXPECT_EQ(end_of_prefix("\xff"), std::string(1, '\0'));
}

TEST(EtcdJson, BytesGoThroughBase64) {
  EXPECT_EQ(base64_of(""), "");
  EXPECT_EQ(base64_of("a"), "YQ==");
  EXPECT_EQ(base64_of("ab"), "YWI=");
  EXPECT_EQ(base64_of("abc"), "YWJj");
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  auto range = read_range(R"({"header":{"revision":"3"},"kvs":[{"key":")" + base64_of(all) +
                          R"(","value":")" + base64_of(all + "x") + "\"}]}");
  ASSERT_TRUE(range.ok()) << range.status().to_string();
  EXPECT_EQ(range->revision, 3);
  ASSERT_EQ(range->entries.size(), 1u);
  EXPECT_EQ(range->entries[0].key, all);
  EXPECT_EQ(range->entries[0].value, all + "x");
}

TEST(EtcdJson, RangesThatAreNoneAreRefused) {
  for (const char* text :
       {"", "garbage", "[]", "{}", "null", R"({"header":7})", R"({"header":{"revision":"-1"}})",
        R"({"header":{"revision":"9x"}})", R"({"header":{"revision":"99999999999999999999"}})",
        R"({"header":{"revision":"9223372036854775807"}})", R"({"header":{"revision":"1"},"kvs":7})",
        R"({"header":{"revision":"1"},"kvs":[7]})", R"({"header":{"revision":"1"},"kvs":[{}]})",
        R"({"header":{"revision":"1"},"kvs":[{"key":"*"}]})",
        R"({"header":{"revision":"1"},"kvs":[{"key":"YQ==","value":"YQ="}]})",
        R"({"header":{"revision":"1"},"kvs":[{"key":"YQ==","value":{}}]})"}) {
    EXPECT_EQ(read_range(text).status().code(), StatusCode::kInvalidArgument) << text;
  }
  EXPECT_EQ(read_range(R"({"error":"no leader"})").status().code(), StatusCode::kUnavailable);
  EXPECT_FALSE(read_range(std::string(1'000'000, '[')).ok()) << "depth is no harm";
}

TEST(EtcdJson, WatchesTellOfPutsAndDeletes) {
  auto events = read_watch(
      R"({"result":{"events":[{"kv":{"key":"YQ==","value":"Yg=="}},{"type":"DELETE","kv":{"key":"YQ=="}}]}})");
  ASSERT_TRUE(events.ok()) << events.status().to_string();
  ASSERT_EQ(events->size(), 2u);
  EXPECT_FALSE((*events)[0].deleted);
  EXPECT_TRUE((*events)[1].deleted);
  EXPECT_TRUE(read_watch(R"({"result":{"created":true}})")->empty());
  EXPECT_TRUE(read_watch(R"({"result":{"header":{"revision":"9"}}})")->empty()) << "a progress notification";
  EXPECT_NE(watch_request("/a/", 4).find(R"("progress_notify":true)"), std::string::npos);
  EXPECT_EQ(read_watch(R"({"result":{"canceled":true,"compact_revision":"5"}})").status().code(),
            StatusCode::kUnavailable);
  for (const char* text :
       {"", "{", R"({"result":{"events":{}}})", R"({"result":{"events":[{}]}})", R"({"a":1})"}) {
    EXPECT_FALSE(read_watch(text).ok()) << text;
  }
}

TEST(EtcdJson, LeasesAreReadAndLostOnesHaveNoTime) {
  auto granted = read_grant(R"({"ID":"7587","TTL":"10"})");
  ASSERT_TRUE(granted.ok());
  EXPECT_EQ(granted->id, 7587);
  EXPECT_FALSE(read_grant(R"({"TTL":"10"})").ok());
  EXPECT_EQ(read_keep_alive(R"({"result":{"ID":"7587","TTL":"9"}})")->ttl_seconds, 9);
  EXPECT_EQ(read_keep_alive(R"({"result":{"ID":"7587"}})")->ttl_seconds, 0);
  EXPECT_FALSE(read_keep_alive(R"({"result":[]})").ok());
  EXPECT_FALSE(read_keep_alive("{}").ok());
}

}  // namespace
}  // namespace weft::detail
