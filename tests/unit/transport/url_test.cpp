// SPDX-License-Identifier: Apache-2.0
// Capabilities: CR-22.
#include "weft/detail/transport/url.hpp"

#include <gtest/gtest.h>

namespace weft {

using namespace weft::detail;
namespace {

TEST(Url, IsReadIntoItsParts) {
  EXPECT_EQ(Url::parse("tcp://127.0.0.1:9000").value(), (Url{"tcp", "127.0.0.1", 9000}));
  EXPECT_EQ(Url::parse("tcp://[::1]:0").value(), (Url{"tcp", "::1", 0}));
  EXPECT_EQ(Url::parse("tcp://host.example:65535").value(), (Url{"tcp", "host.example", 65535}));
  EXPECT_EQ(Url::parse("unix:///run/a:b.sock").value(), (Url{"unix", "/run/a:b.sock", 0}));
  EXPECT_EQ(Url::parse("memory://name").value(), (Url{"memory", "name", 0}));
  EXPECT_EQ(Url::parse("ucx://10.0.0.1:7").value(), (Url{"ucx", "10.0.0.1", 7}));
}

TEST(Url, HostAndPortWithoutASchemeAreOfTcp) {
  EXPECT_EQ(Url::parse("127.0.0.1:9000").value(), (Url{"tcp", "127.0.0.1", 9000}));
  EXPECT_EQ(Url::parse("host.example:0").value(), (Url{"tcp", "host.example", 0}));
  EXPECT_EQ(Url::parse("[::1]:7").value(), (Url{"tcp", "::1", 7}));
  EXPECT_EQ(Url::parse("[::1]:7").value().to_string(), "tcp://[::1]:7");
  for (const char* text :
       {"host", ":1", "*:1", "::1:9000", "host:", "unix:/run/name", "memory:name", "/run/name"}) {
    EXPECT_FALSE(Url::parse(text).ok()) << text;
  }
}

TEST(Url, ComesBackAsText) {
  for (const char* text : {"tcp://127.0.0.1:9000", "tcp://[fe80::1]:1", "unix:///a", "memory://m"}) {
    EXPECT_EQ(Url::parse(text).value().to_string(), text);
  }
}

TEST(Url, WhatIsWrongIsSaidTogetherWithARightOne) {
  const char* const wrong[] = {
      "",           "127.0.0.1",   "tcp:/x:1",      "://x:1",         "TCP://x:1",     "tcp://:1",
      "tcp://host", "tcp://host:", "tcp://host:-1", "tcp://h:1x",     "tcp://h:65536", "tcp://::1:9000",
      "tcp://[::1", "tcp://[::1]", "tcp://[]:1",    "tcp://[::1]x:1", "unix://",       "unix://relative",
      "memory://",
  };
  for (const char* text : wrong) {
    const auto url = Url::parse(text);
    ASSERT_FALSE(url.ok()) << text;
    EXPECT_EQ(url.status().code(), StatusCode::kInvalidArgument) << text;
    EXPECT_NE(url.status().message().find("tcp://127.0.0.1:9000"), std::string_view::npos) << text;
  }
}

TEST(Url, OfAnUnknownSchemeIsNotSaidToWantAPortOnly) {
  const auto said = [](const char* text) { return Url::parse(text).status().to_string(); };
  EXPECT_NE(said("foo://x").find("its scheme is none of these"), std::string::npos) << said("foo://x");
  EXPECT_NE(said("tls://x").find("the port is missing"), std::string::npos) << said("tls://x");
  EXPECT_EQ(said("tls://x").find("its scheme"), std::string::npos) << said("tls://x");
}

TEST(Url, IsCorrectedWhereTheMistakeIsKnown) {
  const auto said = [](const char* text) { return Url::parse(text).status().to_string(); };
  for (const char* text : {"tcp://::1:9000", "::1:9000", "tcp://fe80::1", "ucx://:::1"}) {
    EXPECT_NE(said(text).find("an IPv6 address needs brackets"), std::string::npos) << said(text);
  }
  EXPECT_NE(said("tcp:/127.0.0.1:9000").find("\"://\" follows the scheme"), std::string::npos);
  for (const char* text :
       {"tcp://127.0.0.1:9000/path", "127.0.0.1:9000/", "tcp://host/", "tcp://[::1]:9/x"}) {
    EXPECT_NE(said(text).find("an address has no path"), std::string::npos) << said(text);
  }
}

TEST(Url, EveryAddressIsWrittenAsANumberAndNotAsAStarOrAsNothing) {
  for (const char* text : {"tcp://*:0", "tcp://:0", "tcp://[]:0", "tcp://[*]:0"}) {
    const auto url = Url::parse(text);
    ASSERT_FALSE(url.ok()) << text;
    EXPECT_EQ(url.status().code(), StatusCode::kInvalidArgument) << text;
    const std::string said = url.status().to_string();
    EXPECT_NE(said.find("0.0.0.0"), std::string::npos) << said;
    EXPECT_NE(said.find("[::]"), std::string::npos) << said;
  }
}

}  // namespace
}  // namespace weft
