// SPDX-License-Identifier: Apache-2.0
// Bytes arrive in any pieces, requests follow each other, and buffers are used again.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "support/heap_count.hpp"
#include "support/http_transcript.hpp"
#include "weft/detail/http/request_parser.hpp"

namespace weft::detail::http {
namespace {

using weft::testing::http_events;
using weft::testing::HttpTranscript;
using Event = RequestParser::Event;

constexpr std::string_view kStreams[] = {
    "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
    "\r\nPOST /a%20b?c=%20 HTTP/1.1\r\nHost: a\r\nX: \t y\t z \r\nContent-Length: 5\r\n\r\nhelloGET / "
    "HTTP/1.0\r\n\r\nrest",
    "POST /f HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: "
    "chunked\r\n\r\n3\r\nabc\r\n0d\r\n0123456789abc\r\n0\r\nT: u\r\nV: "
    "w\r\n\r\nHEAD / HTTP/1.1\r\nHost: b\r\n\r\n",
    "POST /f HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n4;x\r\n",
    "GET / HTTP/1.1\r\nHost: a\r\nA: b\r\n c\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: a\rb\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: a\r\nA : b\r\n\r\n",
    "OPTIONS * HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nxyGET / HTTP/1.1\r\nHost: "
    "a\r\nContent-Length: 1\r\n"
    "Content-Length: 1\r\n\r\n",
};

TEST(RequestPieces, EverySplitGivesTheSameEvents) {
  for (const std::string_view stream : kStreams) {
    const std::string whole = http_events(stream);
    EXPECT_EQ(http_events(stream, 1), whole);
    for (std::size_t first = 0; first <= stream.size(); ++first) {
      for (std::size_t second = first; second <= stream.size(); ++second) {
        HttpTranscript transcript;
        transcript.receive(stream.substr(0, first));
        transcript.receive(stream.substr(first, second - first));
        transcript.receive(stream.substr(second));
        ASSERT_EQ(transcript.text(), whole) << "cut at " << first << " and " << second;
      }
    }
  }
}

TEST(RequestPieces, LongHeadsMayBeCutAnywhere) {
  const std::string head = "GET /" + std::string(700, 'p') +
                           " HTTP/1.1\r\nHost: a\r\nX: " + std::string(1500, 'x') +
                           "\r\nY: " + std::string(600, 'y') + "\r\n\r\n";
  const std::string whole = http_events(head + head);
  for (const std::size_t piece : {1u, 7u, 511u, 512u, 513u, 1024u, 2000u}) {
    EXPECT_EQ(http_events(head + head, piece), whole) << piece;
  }
}

TEST(RequestPieces, PipelinedRequestsAreReadOneByOne) {
  std::string stream;
  for (int at = 0; at < 100; ++at) stream += "GET /" + std::to_string(at) + " HTTP/1.1\r\nHost: a\r\n\r\n";
  RequestParser parser;
  Bytes input = as_bytes(stream);
  for (int at = 0; at < 100; ++at) {
    const auto head = parser.next(input);
    ASSERT_EQ(head.event, Event::kHead);
    EXPECT_EQ(parser.request().path(), "/" + std::to_string(at));
    input = input.subspan(head.taken);
    const auto end = parser.next(input);
    ASSERT_EQ(end.event, Event::kEnd);
    EXPECT_EQ(end.taken, 0u);
    // The views stay valid as long as no byte of the next request was given.
    EXPECT_EQ(parser.next({}).event, Event::kMore);
    EXPECT_EQ(parser.request().path(), "/" + std::to_string(at));
  }
  EXPECT_TRUE(input.empty());
}

TEST(RequestPieces, NothingOfARequestIsLeftForTheNext) {
  constexpr std::string_view kRequests[] = {
      "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
      "GET http://there/ HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
      "GET /%20?query HTTP/1.1\r\nHost: a\r\n\r\n",
      "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
      "POST / HTTP/1.1\r\nHost: b\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\nabc",
      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n003\r\nabc\r\n0\r\nA: b\r\n\r\n",
      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n00\r\nA: b\r\nLonger: trailer\r\n\r\n",
      "\r\nHEAD /?other HTTP/1.1\r\nHost: a\r\n\r\n",
      // The last of a connection.
      "GET / HTTP/1.0\r\n\r\n",
      "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nConnection: close\r\n\r\nab",
      "GET / HTTP/1.1\r\n\r\n",
  };
  for (const std::string_view first : kRequests) {
    const std::string before = http_events(first);
    if (!before.ends_with("\"\n")) continue;
    for (const std::string_view second : kRequests) {
      const std::string both = std::string{first} + std::string{second};
      EXPECT_EQ(http_events(both), before + http_events(second)) << both;
      EXPECT_EQ(http_events(both, 1), before + http_events(second)) << both;
    }
  }
}

TEST(RequestPieces, LaterRequestsAllocateNothing) {
  if (!weft::testing::kHeapIsCounted) GTEST_SKIP() << "a sanitizer has its own operator new";
  constexpr std::string_view kRequest =
      "POST /a%20b?c=d HTTP/1.1\r\nHost: here\r\nA: b\r\nC: d\r\nTransfer-Encoding: chunked\r\n\r\n"
      "3\r\nabc\r\n0\r\nTrailer: of some length\r\n\r\n";
  RequestParser parser;
  const auto receive = [&](std::string_view bytes) {
    std::size_t ends = 0;
    for (Bytes input = as_bytes(bytes);;) {
      const auto step = parser.next(input);
      input = input.subspan(step.taken);
      if (step.event == Event::kEnd) ++ends;
      if (step.event == Event::kMore || step.event == Event::kRefused) return ends;
    }
  };
  EXPECT_EQ(receive(kRequest), 1u);
  EXPECT_EQ(receive(kRequest.substr(0, 40)), 0u);
  EXPECT_EQ(receive(kRequest.substr(40)), 1u);
  const std::size_t before = weft::testing::heap_allocations();
  EXPECT_EQ(receive(kRequest), 1u);
  EXPECT_EQ(receive(kRequest.substr(0, 40)), 0u);
  EXPECT_EQ(receive(kRequest.substr(40)), 1u);
  EXPECT_EQ(weft::testing::heap_allocations(), before);
}

TEST(RequestPieces, TrimGivesBackTheMemoryOfAnIdleParser) {
  HttpTranscript transcript;
  const std::string request = "GET / HTTP/1.1\r\nHost: a\r\nX: " + std::string(5000, 'x') + "\r\n\r\n";
  transcript.receive(request.substr(0, 100));
  transcript.parser().trim();
  transcript.receive(request.substr(100));
  EXPECT_EQ(transcript.requests(), 1u);
  EXPECT_GT(transcript.parser().memory_bytes(), 5000u);
  transcript.parser().trim();
  EXPECT_LT(transcript.parser().memory_bytes(), 100u);
  transcript.receive(request);
  EXPECT_EQ(transcript.requests(), 2u);
}

TEST(RequestPieces, RefusesARequestWithoutMemory) {
  if (!weft::testing::kHeapIsCounted) GTEST_SKIP() << "a sanitizer has its own operator new";
  const std::string request = "GET /" + std::string(100, 'a') + "%20 HTTP/1.1\r\nHost: a\r\n\r\n";
  std::size_t failures = 0;
  for (std::size_t at = 1;; ++at) {
    RequestParser parser;
    weft::testing::fail_allocations(at, weft::testing::kForEver);
    const Event event = parser.next(as_bytes(request)).event;
    weft::testing::fail_allocations(0);
    if (event == Event::kHead) break;
    ++failures;
    EXPECT_EQ(event, Event::kRefused);
    EXPECT_EQ(parser.refusal().status, 503);
    EXPECT_EQ(parser.next(as_bytes(request)).event, Event::kClosed);
  }
  EXPECT_GE(failures, 3u);
}

}  // namespace
}  // namespace weft::detail::http
