// SPDX-License-Identifier: Apache-2.0
// Framing of bodies, and the ways to smuggle a request past it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "support/http_transcript.hpp"
#include "weft/detail/http/request_parser.hpp"

namespace weft::detail::http {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using weft::testing::http_events;
using weft::testing::HttpTranscript;
using Event = RequestParser::Event;

// Piece that holds all bytes of a stream.
constexpr std::size_t kWholeBody = 1 << 20;

std::string post(std::string_view fields, std::string_view body, std::string_view version = "1.1") {
  return "POST /f HTTP/" + std::string{version} + "\r\nHost: here\r\n" + std::string{fields} + "\r\n\r\n" +
         std::string{body};
}

std::string chunked(std::string_view body) {
  return post("Transfer-Encoding: chunked", body);
}

TEST(RequestBody, HasTheGivenLength) {
  EXPECT_THAT(http_events(post("Content-Length: 5", "hello")), EndsWith("\nbody \"hello\"\n"));
  EXPECT_THAT(http_events(post("Content-Length: 0", "")), EndsWith("\nbody \"\"\n"));
  EXPECT_THAT(http_events(post("Content-Length: 0005", "hello")), EndsWith("\nbody \"hello\"\n"));
  EXPECT_THAT(http_events(post("Content-Length: 6", "hello")), EndsWith("\npart \"hello\"\n"));
}

TEST(RequestBody, IsEmptyWithoutALength) {
  EXPECT_THAT(http_events(post("A: b", "")), EndsWith("\nbody \"\"\n"));
}

TEST(RequestBody, OfHttp10NeedsALength) {
  EXPECT_THAT(http_events(post("A: b", "", "1.0")), StartsWith("411 "));
  EXPECT_THAT(http_events(post("Content-Length: 1", "x", "1.0")), EndsWith("\nbody \"x\"\nclosed\n"));
  EXPECT_THAT(http_events("GET / HTTP/1.0\r\n\r\n"), EndsWith("\nbody \"\"\nclosed\n"));
}

TEST(RequestBody, ArrivesInChunks) {
  EXPECT_THAT(http_events(chunked("5\r\nhello\r\n1\r\n \r\n00A\r\n0123456789\r\n0\r\n\r\n")),
              EndsWith("\nbody \"hello 0123456789\"\n"));
  EXPECT_THAT(http_events(chunked("0\r\n\r\n")), EndsWith("\nbody \"\"\n"));
  EXPECT_THAT(http_events(post("transfer-encoding: CHUNKED", "aB\r\n")), StartsWith("POST /f "));
}

TEST(RequestBody, IsComparedWithALimitThatChanges) {
  const std::string stream = post("Content-Length: 1000", "hello");
  const std::string chunk = chunked("1000\r\nhello");
  for (const std::string& bytes : {stream, chunk}) {
    RequestParser parser;
    Bytes input = as_bytes(bytes);
    Event event = Event::kMore;
    do {
      const RequestParser::Step step = parser.next(input);
      event = step.event;
      input = input.subspan(step.taken);
    } while (event != Event::kBody);
    parser.limit_body(1000'000);
    EXPECT_EQ(parser.next({}).event, Event::kMore);
    parser.limit_body(999);
    EXPECT_EQ(parser.next(as_bytes(std::string_view{"more"})).event, Event::kRefused);
    EXPECT_EQ(parser.refusal().status, 413);
    EXPECT_EQ(parser.next({}).event, Event::kClosed);
  }
}

TEST(RequestSmuggling, TwoLengthsAreRefused) {
  constexpr std::string_view kRefusal = "400 Content-Length is given twice\n";
  EXPECT_EQ(http_events(post("Content-Length: 5\r\nContent-Length: 6", "hello")), kRefusal);
  EXPECT_EQ(http_events(post("Content-Length: 5\r\ncontent-length: 5", "hello")), kRefusal);
}

TEST(RequestSmuggling, MalformedLengthsAreRefused) {
  for (const std::string length :
       {"5, 5", "5,6", "5 5", "+5", "-5", "0x5", "5a", "", "5.0", "5;", "\xC2\xB2"}) {
    EXPECT_EQ(http_events(post("Content-Length: " + length, "hello")),
              "400 Content-Length is not a number in decimal digits\n")
        << length;
  }
  for (const std::string length :
       {"18446744073709551616", "99999999999999999999999", "00000000000000000005"}) {
    EXPECT_THAT(http_events(post("Content-Length: " + length, "hello")), StartsWith("413 ")) << length;
  }
}

TEST(RequestSmuggling, LengthTogetherWithChunksIsRefused) {
  constexpr std::string_view kRefusal = "400 both Content-Length and Transfer-Encoding are given\n";
  EXPECT_EQ(http_events(post("Content-Length: 5\r\nTransfer-Encoding: chunked", "0\r\n\r\n")), kRefusal);
  EXPECT_EQ(http_events(post("Transfer-Encoding: chunked\r\nContent-Length: 0", "0\r\n\r\n")), kRefusal);
}

TEST(RequestSmuggling, TransferEncodingsOtherThanChunkedAreRefused) {
  for (const std::string encoding :
       {"gzip, chunked", "chunked, chunked", "chunked, identity", "identity", "xchunked", "chunked;a=b",
        "\"chunked\"", "chunked,", ",chunked", "chunkedx", ""}) {
    EXPECT_EQ(http_events(post("Transfer-Encoding: " + encoding, "0\r\n\r\n")),
              "501 Transfer-Encoding is not exactly chunked\n")
        << encoding;
  }
  EXPECT_EQ(http_events(post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", "0\r\n\r\n")),
            "400 Transfer-Encoding is given twice\n");
  EXPECT_EQ(http_events(post("Transfer-Encoding : chunked", "0\r\n\r\n")),
            "400 white space between the name of a field and its colon\n");
  EXPECT_EQ(http_events(post("Transfer-Encoding: \x0B"
                             "chunked",
                             "0\r\n\r\n")),
            "400 a line has a control byte\n");
}

TEST(RequestSmuggling, ChunksInHttp10AreRefused) {
  EXPECT_EQ(http_events(post("Transfer-Encoding: chunked", "0\r\n\r\n", "1.0")),
            "400 Transfer-Encoding is given in a request of HTTP/1.0\n");
}

TEST(RequestSmuggling, ExtensionsOfChunksAreRefused) {
  for (const std::string size : {"5;a=b", "5;", "5;a=\"\n\"", "0;a"}) {
    EXPECT_THAT(http_events(chunked(size + "\r\nhello\r\n")),
                EndsWith("400 extensions of chunks are not accepted\n"))
        << size;
  }
}

TEST(RequestSmuggling, MalformedSizesOfChunksAreRefused) {
  for (const std::string size :
       {"", " 5", "5 ", "\t5", "0x5", "+5", "-5", "5g", "5\n", "5\r", "\n5", "_5", "5_0"}) {
    const std::string events = http_events(chunked(size + "\r\nhello\r\n0\r\n\r\n"));
    EXPECT_THAT(events, HasSubstr("\n400 ")) << size;
  }
}

TEST(RequestSmuggling, ChunksWithoutASizeAreRefused) {
  for (const std::string_view body : {"\r\n\r\n", "\r\n0\r\n\r\n", "1\r\nx\r\n\r\n\r\n"}) {
    EXPECT_THAT(http_events(chunked(body)), HasSubstr("\n400 a chunk begins without a size\n")) << body;
  }
}

TEST(RequestSmuggling, ChunksLongerOrShorterThanTheirSizeAreRefused) {
  EXPECT_THAT(http_events(chunked("4\r\nhello\r\n0\r\n\r\n")),
              HasSubstr("\n400 a chunk is longer than its size\n"));
  EXPECT_THAT(http_events(chunked("5\r\nhello\n0\r\n\r\n")),
              HasSubstr("\n400 a chunk is longer than its size\n"));
  EXPECT_THAT(http_events(chunked("5\r\nhello\r0\r\n\r\n")),
              HasSubstr("\n400 a line feed must follow a chunk\n"));
  EXPECT_THAT(http_events(chunked("5\nhello\r\n0\r\n\r\n")), HasSubstr("\n400 "));
}

TEST(RequestSmuggling, TrailersObeyTheRulesOfFields) {
  for (const std::string_view trailers :
       {"A : b\r\n\r\n", " A: b\r\n\r\n", "A: b\r\n c\r\n\r\n", "A\r\n\r\n", "A: b\n\r\n", "A: b\rc\r\n\r\n",
        "\n", "\r\r\n", "A: \x01\r\n\r\n"}) {
    EXPECT_THAT(http_events(chunked("0\r\n" + std::string{trailers})), HasSubstr("\n400 ")) << trailers;
  }
}

TEST(RequestBody, DropsTrailers) {
  const std::string one =
      chunked("1\r\nx\r\n0\r\nContent-Length: 9\r\nTransfer-Encoding: gzip\r\nHost: there\r\n\r\n");
  HttpTranscript transcript;
  transcript.receive(one + one);
  EXPECT_EQ(transcript.requests(), 2u);
  EXPECT_EQ(transcript.parser().request().header_count(), 2u);
}

TEST(RequestBody, LimitsTrailers) {
  const RequestLimits limits{.trailer_bytes_max = 10};
  for (const std::size_t piece : {std::size_t{1}, kWholeBody}) {
    EXPECT_THAT(http_events(chunked("0\r\nA: bcdef\r\n\r\n"), piece, limits), EndsWith("\nbody \"\"\n"));
    EXPECT_THAT(http_events(chunked("0\r\nA: bcdefg\r\n\r\n"), piece, limits),
                EndsWith("\n431 the trailer fields are longer than the limit of 10 bytes\n"));
  }
}

TEST(RequestBody, LimitsTheDigitsOfAChunk) {
  const RequestLimits limits{.chunk_digits_max = 3};
  for (const std::size_t piece : {std::size_t{1}, kWholeBody}) {
    EXPECT_THAT(http_events(chunked("005\r\nhello\r\n0\r\n\r\n"), piece, limits),
                EndsWith("\nbody \"hello\"\n"));
    EXPECT_THAT(http_events(chunked("0005\r\nhello\r\n0\r\n\r\n"), piece, limits),
                EndsWith("\n400 the size of a chunk has more than the limit of 3 digits\n"));
  }
}

TEST(RequestBody, LimitsItsBytes) {
  const RequestLimits limits{.body_bytes_max = 8};
  for (const std::size_t piece : {std::size_t{1}, kWholeBody}) {
    EXPECT_THAT(http_events(post("Content-Length: 8", "12345678"), piece, limits),
                EndsWith("\nbody \"12345678\"\n"));
    EXPECT_THAT(http_events(post("Content-Length: 9", ""), piece, limits),
                EndsWith("\n413 the body is longer than the limit of 8 bytes\n"));
    EXPECT_THAT(http_events(chunked("4\r\n1234\r\n4\r\n5678\r\n0\r\n\r\n"), piece, limits),
                EndsWith("\nbody \"12345678\"\n"));
    EXPECT_THAT(http_events(chunked("4\r\n1234\r\n5\r\n"), piece, limits),
                EndsWith("\n413 the body is longer than the limit of 8 bytes\npart \"1234\"\n"));
  }
}

TEST(RequestBody, SizesOfChunksDoNotOverflow) {
  const RequestLimits limits{.body_bytes_max = ~std::uint64_t{0}, .chunk_digits_max = 16};
  for (const std::size_t piece : {std::size_t{1}, kWholeBody}) {
    EXPECT_THAT(http_events(chunked("1\r\nx\r\nffffffffffffffff\r\n"), piece, limits), HasSubstr("\n413 "));
    EXPECT_THAT(http_events(chunked("1\r\nx\r\nfffffffffffffffe\r\ny"), piece, limits),
                EndsWith("\npart \"xy\"\n"));
  }
}

TEST(RequestBody, LimitMayBeChangedForARequest) {
  for (const std::string& request : {post("Content-Length: 3", "abc"), chunked("3\r\nabc\r\n")}) {
    RequestParser parser;
    Bytes input = as_bytes(request);
    const auto head = parser.next(input);
    ASSERT_EQ(head.event, Event::kHead);
    parser.limit_body(2);
    EXPECT_EQ(parser.next(input.subspan(head.taken)).event, Event::kRefused);
    EXPECT_EQ(parser.refusal().status, 413);
  }
}

TEST(RequestBody, LimitReturnsToItsValueForTheNextRequest) {
  const std::string request = post("Content-Length: 3", "abc");
  RequestParser parser{{.body_bytes_max = 2}};
  for (const Event last : {Event::kBody, Event::kRefused}) {
    Bytes input = as_bytes(request);
    const auto head = parser.next(input);
    ASSERT_EQ(head.event, Event::kHead);
    input = input.subspan(head.taken);
    if (last == Event::kBody) parser.limit_body(3);
    EXPECT_EQ(parser.next(input).event, last);
    if (last == Event::kBody) {
      EXPECT_EQ(parser.next({}).event, Event::kEnd);
    }
  }
}

TEST(RequestContinue, IsAwaitedUntilTheFirstByteOfTheBody) {
  for (const std::string framing : {"Content-Length: 3", "Transfer-Encoding: chunked"}) {
    HttpTranscript transcript;
    transcript.receive(post("Expect: 100-continue\r\n" + framing, ""));
    EXPECT_TRUE(transcript.parser().awaits_continue()) << framing;
    transcript.receive(framing.starts_with('C') ? "a" : "3");
    EXPECT_FALSE(transcript.parser().awaits_continue()) << framing;
  }
}

TEST(RequestContinue, IsNotAwaitedForABodyOverTheLimit) {
  HttpTranscript transcript{{.body_bytes_max = 2}};
  transcript.receive(post("Expect: 100-continue\r\nContent-Length: 3", ""));
  EXPECT_FALSE(transcript.parser().awaits_continue());
  EXPECT_THAT(transcript.text(), HasSubstr("\n413 "));
}

TEST(RequestContinue, IsNotAwaitedInHttp10) {
  HttpTranscript transcript;
  transcript.receive(post("Expect: 100-continue\r\nContent-Length: 3", "", "1.0"));
  EXPECT_FALSE(transcript.parser().awaits_continue());
}

TEST(RequestParser, ReadsNothingBehindARequestThatCloses) {
  HttpTranscript transcript;
  transcript.receive(post("Connection: close", "") + post("A: b", ""));
  EXPECT_EQ(transcript.requests(), 1u);
  EXPECT_EQ(transcript.parser().next(as_bytes("GET")).event, Event::kClosed);
}

TEST(RequestParser, ReadsNothingBehindARefusal) {
  HttpTranscript transcript;
  transcript.receive("get / HTTP/1.1\r\n" + post("A: b", ""));
  transcript.receive(post("A: b", ""));
  EXPECT_EQ(transcript.text(), "400 the method is not in capital letters\n");
}

TEST(RequestParser, IsIdleBetweenRequests) {
  const std::string request = post("Content-Length: 3", "abc");
  HttpTranscript transcript;
  EXPECT_TRUE(transcript.parser().idle());
  for (std::size_t at = 0; at < request.size(); ++at) {
    transcript.receive(request.substr(at, 1));
    EXPECT_EQ(transcript.parser().idle(), at + 1 == request.size()) << at;
  }
  // Some clients send an empty line behind a body.
  transcript.receive("\r\n");
  EXPECT_TRUE(transcript.parser().idle());
}

}  // namespace
}  // namespace weft::detail::http
