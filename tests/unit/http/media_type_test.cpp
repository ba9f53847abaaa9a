// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/http/media_type.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "support/http_transcript.hpp"

namespace weft::detail::http {
namespace {

TEST(MediaType, IsComparedWithoutItsParameters) {
  EXPECT_TRUE(is_media_type("application/json", "application/json"));
  EXPECT_TRUE(is_media_type("Application/JSON ; charset=\"utf-8\"", "application/json"));
  EXPECT_FALSE(is_media_type("application/json5", "application/json"));
  EXPECT_FALSE(is_media_type("text/plain; a=application/json", "application/json"));
  EXPECT_FALSE(is_media_type("", "application/json"));
}

TEST(AcceptWeight, FollowsTheMostSpecificRange) {
  constexpr std::string_view kAccept =
      "text/*;q=0.3, text/plain;q=0.7, text/plain;format=flowed;q=0.2, */*;q=0.5";
  EXPECT_EQ(accept_weight(kAccept, "text/plain"), 700u);
  EXPECT_EQ(accept_weight(kAccept, "text/html"), 300u);
  EXPECT_EQ(accept_weight(kAccept, "image/png"), 500u);
  EXPECT_EQ(accept_weight("*/*, text/plain;q=0", "text/plain"), 0u);
  EXPECT_EQ(accept_weight("TEXT/*", "text/plain"), 1000u);
  EXPECT_EQ(accept_weight("text/html", "text/plain"), 0u);
  EXPECT_EQ(accept_weight("tex/*, text/p*, text, */plain", "text/plain"), 0u);
}

TEST(AcceptWeight, UnderstandsKnownClients) {
  constexpr std::string_view kPrometheus =
      "application/openmetrics-text;version=1.0.0;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,"
      "text/plain;version=0.0.4;q=0.3,*/*;q=0.2";
  EXPECT_EQ(accept_weight(kPrometheus, "application/openmetrics-text"), 500u);
  EXPECT_EQ(accept_weight(kPrometheus, "text/plain"), 300u);
  constexpr std::string_view kBrowser =
      "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8";
  EXPECT_EQ(accept_weight(kBrowser, "text/html"), 1000u);
  EXPECT_EQ(accept_weight(kBrowser, "application/json"), 800u);
  EXPECT_EQ(accept_weight("*/*", "application/json"), 1000u);
}

TEST(AcceptWeight, ReadsWeights) {
  const auto weight = [](std::string_view text) {
    return accept_weight("a/b;q=" + std::string{text}, "a/b");
  };
  EXPECT_EQ(weight("0"), 0u);
  EXPECT_EQ(weight("0."), 0u);
  EXPECT_EQ(weight("0.5"), 500u);
  EXPECT_EQ(weight("0.05"), 50u);
  EXPECT_EQ(weight("0.001"), 1u);
  EXPECT_EQ(weight("1"), 1000u);
  EXPECT_EQ(weight("1.000"), 1000u);
  // A range with a malformed weight does not count.
  for (const std::string_view text : {"", "2", "1.001", "0.0001", "-1", ".5", "x", "0.x"}) {
    EXPECT_EQ(accept_weight("a/b;q=" + std::string{text}, "a/b"), 0u) << text;
    EXPECT_EQ(accept_weight("*/*;q=0.1, a/b;q=" + std::string{text}, "a/b"), 100u) << text;
  }
}

TEST(AcceptWeight, SkipsSeparatorsInQuotedStrings) {
  EXPECT_EQ(accept_weight("a/b;c=\"d, a/e;q=0\";Q=0.5", "a/b"), 500u);
  EXPECT_EQ(accept_weight("a/b;c=\"d\\\",e\" ; q=0.25", "a/b"), 250u);
  EXPECT_EQ(accept_weight("a/b;c=\"not closed, a/c", "a/c"), 0u);
  EXPECT_EQ(accept_weight("a/b;c=\"ends with \\", "a/b"), 1000u);
  EXPECT_EQ(accept_weight(" , ,a/b, ;q=1", "a/b"), 1000u);
}

TEST(AcceptWeight, AddsUpTheFieldsOfARequest) {
  weft::testing::HttpTranscript transcript;
  transcript.receive("GET / HTTP/1.1\r\nHost: a\r\nAccept: a/b;q=0.5\r\naccept: a/*\r\n\r\n");
  const Request& request = transcript.parser().request();
  EXPECT_EQ(accept_weight(request, "a/b"), 500u);
  EXPECT_EQ(accept_weight(request, "a/c"), 1000u);
  EXPECT_EQ(accept_weight(request, "b/c"), 0u);
  transcript.receive("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(accept_weight(request, "b/c"), 1000u);
}

}  // namespace
}  // namespace weft::detail::http
