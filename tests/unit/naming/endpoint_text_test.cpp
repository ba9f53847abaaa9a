// SPDX-License-Identifier: Apache-2.0
// Lines that name servers, from files and from etcd.
#include "naming/endpoint_text.hpp"

#include <gtest/gtest.h>

namespace weft::detail {
namespace {

TEST(EndpointText, IsReadBackAsItWasWritten) {
  const Endpoint endpoint{.url = "tcp://[::1]:9000", .weight = 7, .zone = "eu-1"};
  auto read = parse_endpoint(to_text(endpoint));
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  EXPECT_EQ(*read, endpoint);
  auto bare = parse_endpoint("  unix:///run/kv.sock\r");
  ASSERT_TRUE(bare.ok());
  EXPECT_EQ(*bare, (Endpoint{.url = "unix:///run/kv.sock"}));
}

TEST(EndpointText, RefusesWhatIsNoEndpoint) {
  const std::string long_url = "tcp://" + std::string(kEndpointUrlBytesMax, 'a') + ":1";
  const std::string zero{"tcp://a\0b:1", 11};
  const std::string many(1 << 20, 'x');
  for (const std::string& text :
       {std::string{}, std::string{" "}, std::string{"weight=3"}, std::string{"tcp://a:1 weight=-1"},
        std::string{"tcp://a:1 weight=1000001"}, std::string{"tcp://a:1 weight=99999999999999"},
        std::string{"tcp://a:1 weight="}, std::string{"tcp://a:1 colour=red"},
        std::string{"tcp://a:1,tcp://b:1"}, std::string{"tcp://\xff\xfe:1"},
        "tcp://a:1 zone=" + std::string(65, 'z'), long_url, zero, many}) {
    auto read = parse_endpoint(text);
    ASSERT_FALSE(read.ok()) << text.substr(0, 80);
    EXPECT_EQ(read.status().code(), StatusCode::kInvalidArgument);
    EXPECT_LT(read.status().message().size(), 400u);
  }
}

TEST(EndpointText, LinesMayBeEmptyOrCommentsAndNameTheLineThatIsWrong) {
  auto read = parse_lines("# servers\n\ntcp://a:1\r\n  # more\ntcp://b:2 zone=x\n", 2);
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  EXPECT_EQ(read->size(), 2u);
  auto wrong = parse_lines("tcp://a:1\ngarbage\n", 10);
  ASSERT_FALSE(wrong.ok());
  EXPECT_NE(wrong.status().message().find("line 2"), std::string_view::npos);
  EXPECT_FALSE(parse_lines("tcp://a:1\ntcp://b:1", 10).ok()) << "the last line may be cut";
  EXPECT_EQ(parse_lines("tcp://a:1\ntcp://b:1\n", 1).status().code(), StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace weft::detail
