// SPDX-License-Identifier: Apache-2.0
// Request line, target and header fields: the rules of RFC 9112 and RFC 9110, and their limits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "support/http_transcript.hpp"
#include "weft/detail/http/request_parser.hpp"

namespace weft::detail::http {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using weft::testing::http_events;
using weft::testing::HttpTranscript;

// Piece that holds all bytes of a stream.
constexpr std::size_t kWhole = 1 << 20;

// A request with these fields behind Host.
std::string with_fields(std::string_view fields, std::string_view line = "POST /f HTTP/1.1") {
  return std::string{line} + "\r\nHost: here\r\n" + std::string{fields} + "\r\n";
}

std::string with_line(std::string_view line) {
  return with_fields("", line);
}

std::string with_target(std::string_view target) {
  return with_line("GET " + std::string{target} + " HTTP/1.1");
}

TEST(RequestHead, GivesTheFactsOfARequest) {
  HttpTranscript transcript;
  transcript.receive(
      "POST /functions/sum?x=1&y=a%20b HTTP/1.1\r\nHost: example.org:80\r\nX-Empty:\r\n"
      "x-spaces: \t two words \t \r\nContent-Length: 5\r\n\r\n");
  const Request& request = transcript.parser().request();
  EXPECT_EQ(request.method(), Method::kPost);
  EXPECT_EQ(request.version(), Version::k11);
  EXPECT_EQ(request.target(), "/functions/sum?x=1&y=a%20b");
  EXPECT_EQ(request.path(), "/functions/sum");
  EXPECT_EQ(request.query(), "x=1&y=a%20b");
  EXPECT_EQ(request.host(), "example.org:80");
  EXPECT_EQ(request.header_count(), 4u);
  EXPECT_EQ(request.find("x-empty"), "");
  EXPECT_EQ(request.find("X-SPACES"), "two words");
  EXPECT_EQ(request.find("X-Absent"), std::nullopt);
  EXPECT_EQ(request.count("HOST"), 1u);
  EXPECT_EQ(request.body_kind(), BodyKind::kLength);
  EXPECT_EQ(request.content_length(), 5u);
  EXPECT_TRUE(request.keeps_alive());
  EXPECT_FALSE(request.expects_continue());
}

TEST(RequestHead, HasTheMethodsThatAreServed) {
  for (const std::string name : {"GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"}) {
    EXPECT_THAT(http_events(with_line(name + " / HTTP/1.1")), StartsWith(name + " / 1.1 host"));
  }
}

TEST(RequestHead, RefusesOtherMethodsWith501) {
  for (const std::string name : {"CONNECT", "TRACE", "PRI", "GETT", "GE", "X-Y!"}) {
    const std::string events = http_events(with_line(name + " / HTTP/1.1"));
    EXPECT_THAT(events, StartsWith("501 ")) << name;
  }
}

TEST(RequestHead, RefusesMethodsThatAreNotInCapitalLetters) {
  for (const std::string name : {"get", "Get", "GEt", "G(T", "G\"T", "\xC3\x84"}) {
    EXPECT_EQ(http_events(with_line(name + " / HTTP/1.1")), "400 the method is not in capital letters\n");
  }
}

TEST(RequestHead, RefusesOtherVersionsWith505) {
  for (const std::string version : {"HTTP/0.9", "HTTP/1.2", "HTTP/2.0", "HTTP/3.7"}) {
    EXPECT_THAT(http_events(with_line("GET / " + version)), StartsWith("505 ")) << version;
  }
}

TEST(RequestHead, RefusesMalformedVersions) {
  for (const std::string version :
       {"HTTP/1.10", "HTTP/1", "HTTP/1.", "http/1.1", "HTTP/1,1", "HTTP/a.1", "XTTP/1.1", "HTTP/1.1\t", ""}) {
    EXPECT_THAT(http_events(with_line("GET / " + version)), StartsWith("400 ")) << version;
  }
}

TEST(RequestHead, RefusesOtherWhiteSpaceInTheRequestLine) {
  for (const std::string line :
       {"GET  / HTTP/1.1", "GET /  HTTP/1.1", " GET / HTTP/1.1", "GET / HTTP/1.1 ", "GET\t/ HTTP/1.1",
        "GET /\tHTTP/1.1", "GET /a b HTTP/1.1", "GET /", "GET", "GET / "}) {
    EXPECT_THAT(http_events(with_line(line)), StartsWith("400 ")) << line;
  }
}

TEST(RequestHead, IgnoresOneEmptyLineBeforeTheRequestLine) {
  EXPECT_THAT(http_events("\r\n" + with_target("/")), StartsWith("GET / "));
  EXPECT_THAT(http_events("\r\n\r\n" + with_target("/")), StartsWith("400 "));
}

TEST(RequestHead, RefusesBareLineFeeds) {
  constexpr std::string_view kRefusal = "400 a line ends with a line feed alone\n";
  EXPECT_EQ(http_events("GET / HTTP/1.1\nHost: here\r\n\r\n"), kRefusal);
  EXPECT_EQ(http_events("GET / HTTP/1.1\r\nHost: here\n\r\n"), kRefusal);
  EXPECT_EQ(http_events("GET / HTTP/1.1\r\nHost: here\r\n\n"), kRefusal);
  EXPECT_EQ(http_events("\nGET / HTTP/1.1\r\nHost: here\r\n\r\n"), kRefusal);
}

TEST(RequestHead, RefusesBareCarriageReturns) {
  constexpr std::string_view kRefusal = "400 a carriage return without a line feed\n";
  EXPECT_EQ(http_events("GET / HTTP/1.1\rHost: here\r\n\r\n"), kRefusal);
  EXPECT_EQ(http_events(with_fields("A: b\rc\r\n")), kRefusal);
  EXPECT_EQ(http_events(with_fields("A: b\r\r\n")), kRefusal);
  EXPECT_EQ(http_events(with_fields("A: b\r\n\r\r\n")), kRefusal);
}

TEST(RequestHead, RefusesControlBytes) {
  for (int byte = 0; byte < 256; ++byte) {
    const bool is_control = (byte < 0x20 && byte != '\t' && byte != '\r' && byte != '\n') || byte == 0x7f;
    for (const std::size_t place : {0, 1, 7, 8, 9, 30}) {
      std::string value(31, 'v');
      value[place] = static_cast<char>(byte);
      const std::string events = http_events(with_fields("A: " + value + "\r\n"));
      if (is_control) {
        EXPECT_EQ(events, "400 a line has a control byte\n") << byte;
      } else if (byte != '\r' && byte != '\n') {
        EXPECT_THAT(events, StartsWith("POST /f ")) << byte;
      }
    }
  }
}

TEST(RequestHead, RefusesFieldsThatContinueInTheNextLine) {
  constexpr std::string_view kRefusal = "400 a field continues in the next line, which is obsolete\n";
  EXPECT_EQ(http_events(with_fields("A: b\r\n c\r\n")), kRefusal);
  EXPECT_EQ(http_events(with_fields("A: b\r\n\tc\r\n")), kRefusal);
  EXPECT_EQ(http_events(with_fields("A: b\r\n \r\n")), kRefusal);
  EXPECT_EQ(http_events(with_fields("Content-Length:\r\n 5\r\n")).substr(0, 3), "400");
}

TEST(RequestHead, RefusesWhiteSpaceBeforeTheFirstField) {
  EXPECT_EQ(http_events("GET / HTTP/1.1\r\n Host: here\r\n\r\n"), "400 white space before the first field\n");
}

TEST(RequestHead, RefusesWhiteSpaceBeforeAColon) {
  constexpr std::string_view kRefusal = "400 white space between the name of a field and its colon\n";
  EXPECT_EQ(http_events(with_fields("Content-Length : 5\r\n")), kRefusal);
  EXPECT_EQ(http_events(with_fields("Transfer-Encoding\t: chunked\r\n")), kRefusal);
}

TEST(RequestHead, RefusesMalformedNamesOfFields) {
  EXPECT_EQ(http_events(with_fields("no colon\r\n")).substr(0, 3), "400");
  EXPECT_EQ(http_events(with_fields("nocolon\r\n")), "400 a field has no colon\n");
  EXPECT_EQ(http_events(with_fields(": value\r\n")), "400 a field has no name\n");
  for (const char byte : std::string_view{"\"(),/;<=>?@[\\]{}\x80\xff"}) {
    const std::string events = http_events(with_fields(std::string{"a"} + byte + "b: c\r\n"));
    EXPECT_EQ(events, "400 the name of a field has a byte that is not allowed there\n") << byte;
  }
  EXPECT_THAT(http_events(with_fields("!#$%&'*+-.^_`|~09az: c\r\n")), HasSubstr("[!#$%&'*+-.^_`|~09az=c]"));
}

TEST(RequestHead, NeedsExactlyOneHost) {
  EXPECT_EQ(http_events("GET / HTTP/1.1\r\n\r\n"), "400 Host is missing\n");
  EXPECT_EQ(http_events(with_fields("Host: here\r\n")), "400 Host is given twice\n");
  EXPECT_EQ(http_events("GET / HTTP/1.0\r\nHost: a\r\nhost: b\r\n\r\n"), "400 Host is given twice\n");
  EXPECT_THAT(http_events("GET / HTTP/1.0\r\n\r\n"), StartsWith("GET / 1.0 host \"\""));
}

TEST(RequestHead, ChecksTheFormOfHost) {
  const auto events = [](std::string_view host) {
    return http_events("GET / HTTP/1.1\r\nHost: " + std::string{host} + "\r\n\r\n");
  };
  for (const std::string_view host : {"a", "example.org", "example.org:0", "10.0.0.1:65535", "[::1]",
                                      "[::1]:8080", "[::ffff:10.0.0.1]", "a_b-c~d"}) {
    EXPECT_THAT(events(host), StartsWith("GET / 1.1 host \"" + std::string{host} + "\"")) << host;
  }
  for (const std::string_view host :
       {"",   "a b",  "a,b", "a:",    "a:65536", "a:x",      "a:123456", ":80", "user@a", "a/b",     "[::1",
        "[]", "[:]x", "::1", "[g::]", "a:80:80", "http://a", "a?",       "a#",  "%41",    "\xC3\xA4"}) {
    EXPECT_EQ(events(host), "400 Host is malformed\n") << host;
  }
}

TEST(RequestHead, DecodesThePath) {
  EXPECT_THAT(http_events(with_target("/a%20b%C3%A4%2e%3F")), StartsWith("GET /a b\xC3\xA4.? 1.1"));
  EXPECT_THAT(http_events(with_target("/-._~!$&'()*+,;=:@?/?&=")),
              StartsWith("GET /-._~!$&'()*+,;=:@?/?&= 1.1"));
  EXPECT_THAT(http_events(with_target("/f%3Cint%3E?q=%FF")), StartsWith("GET /f<int>?q=%FF 1.1"));
}

TEST(RequestHead, RefusesMalformedTargets) {
  for (const std::string_view target :
       {"a",    "",    "?",     "*",          "//%",     "/%",          "/%4",        "/%4g",
        "/%zz", "/?%", "/?%4",  "/?%g4",      "/#a",     "/?#a",        "/\"",        "/<",
        "/>",   "/\\", "/^",    "/`",         "/{",      "/|",          "/}",         "/[",
        "/]",   "/?[", "/\x80", "/?\xC3\xA4", "host:80", "ftp://here/", "http:/here", "mailto:a"}) {
    EXPECT_THAT(http_events(with_target(target)), StartsWith("400 ")) << target;
  }
}

TEST(RequestHead, RefusesPathsThatReadersMayTakeForOthers) {
  for (const std::string_view target :
       {"/a/../b", "/..", "/.", "/./a", "/a/.", "/a/..", "/a/%2e%2E/b", "/a/.%2e", "/.a/..", "/.a/./b",
        "/a%2fb", "/a%2Fb", "/a%00", "/a%0d%0ab", "/a%7f", "http://here/.."}) {
    EXPECT_THAT(http_events(with_target(target)), StartsWith("400 ")) << target;
  }
  for (const std::string_view target : {"/...", "/.a", "/a.", "/a..b", "/a/..b/c", "//", "/?/../"}) {
    EXPECT_THAT(http_events(with_target(target)), StartsWith("GET ")) << target;
  }
}

TEST(RequestHead, RefusesPathsThatAreNotUtf8) {
  for (const std::string_view target : {"/%FF", "/%C3", "/%C0%AF", "/%ED%A0%80", "/%F5%80%80%80"}) {
    EXPECT_EQ(http_events(with_target(target)), "400 the path is not UTF-8\n") << target;
  }
}

TEST(RequestHead, TakesAbsoluteTargetsThatNameTheSameHost) {
  EXPECT_THAT(http_events(with_target("http://here/a?b")), StartsWith("GET /a?b 1.1 host \"here\""));
  EXPECT_THAT(http_events(with_target("HTTPS://HERE/a")), StartsWith("GET /a 1.1"));
  EXPECT_THAT(http_events(with_target("http://here")), StartsWith("GET / 1.1"));
  EXPECT_THAT(http_events(with_target("http://here?b")), StartsWith("GET /?b 1.1"));
  EXPECT_THAT(http_events(with_line("OPTIONS http://here HTTP/1.1")), StartsWith("OPTIONS * 1.1"));
  EXPECT_THAT(http_events("GET http://there/ HTTP/1.0\r\n\r\n"), StartsWith("GET / 1.0 host \"there\""));
  EXPECT_EQ(http_events(with_target("http://there/")), "400 Host differs from the host of the target\n");
  EXPECT_EQ(http_events(with_target("http://here:80/")), "400 Host differs from the host of the target\n");
  for (const std::string_view target :
       {"http://", "http:///a", "http://me@here/", "http://here#a", "http://here\\a"}) {
    EXPECT_THAT(http_events(with_target(target)), StartsWith("400 ")) << target;
  }
}

TEST(RequestHead, HasOptionsForTheWholeServer) {
  EXPECT_THAT(http_events(with_line("OPTIONS * HTTP/1.1")), StartsWith("OPTIONS * 1.1"));
  EXPECT_THAT(http_events(with_line("CONNECT here:80 HTTP/1.1")), StartsWith("501 "));
}

TEST(RequestHead, KeepsConnectionsAliveByVersionAndConnection) {
  const auto keeps = [](std::string_view version, std::string_view fields) {
    HttpTranscript transcript;
    transcript.receive(with_fields(fields, "GET / HTTP/" + std::string{version}));
    EXPECT_EQ(transcript.requests(), 1u);
    return transcript.parser().request().keeps_alive();
  };
  EXPECT_TRUE(keeps("1.1", ""));
  EXPECT_TRUE(keeps("1.1", "Connection: keep-alive\r\n"));
  EXPECT_TRUE(keeps("1.1", "Connection: closed, upgrade\r\n"));
  EXPECT_FALSE(keeps("1.1", "Connection: close\r\n"));
  EXPECT_FALSE(keeps("1.1", "Connection: keep-alive , , ClosE\r\n"));
  EXPECT_FALSE(keeps("1.1", "Connection: a\r\nConnection: close\r\n"));
  EXPECT_FALSE(keeps("1.1", "Connection: close\r\nConnection: a\r\n"));
  EXPECT_TRUE(keeps("1.0", "Connection: keep-alive\r\nConnection: a\r\n"));
  EXPECT_FALSE(keeps("1.0", ""));
  EXPECT_TRUE(keeps("1.0", "Connection: Keep-Alive\r\n"));
  EXPECT_FALSE(keeps("1.0", "Connection: Keep-Alive, close\r\n"));
}

TEST(RequestHead, RefusesExpectationsOtherThan100Continue) {
  EXPECT_THAT(http_events(with_fields("Expect: 100-Continue\r\nContent-Length: 1\r\n")),
              HasSubstr(" expects"));
  EXPECT_THAT(http_events(with_fields("Expect: 100-continue\r\n")), ::testing::Not(HasSubstr(" expects")));
  EXPECT_THAT(http_events(with_fields("Expect: 200-ok\r\n")), StartsWith("417 "));
  EXPECT_THAT(http_events(with_fields("Expect: \r\n")), StartsWith("417 "));
}

TEST(RequestHead, LimitsTheRequestLine) {
  const RequestLimits limits{.request_line_bytes_max = 20};
  const std::string fits = "GET /" + std::string(6, 'a') + " HTTP/1.1";
  ASSERT_EQ(fits.size(), 20u);
  for (const std::size_t piece : {std::size_t{1}, kWhole}) {
    EXPECT_THAT(http_events(with_line(fits), piece, limits), StartsWith("GET /aaaaaa "));
    EXPECT_THAT(http_events("\r\n" + with_line(fits), piece, limits), StartsWith("GET /aaaaaa "));
    EXPECT_EQ(http_events(with_line("GET /" + std::string(7, 'a') + " HTTP/1.1"), piece, limits),
              "414 the request line is longer than the limit of 20 bytes\n");
    EXPECT_EQ(http_events(std::string(21, 'a'), piece, limits),
              "414 the request line is longer than the limit of 20 bytes\n");
  }
}

TEST(RequestHead, LimitsTheBytesOfTheHeader) {
  const RequestLimits limits{.header_bytes_max = 30};
  // "Host: here\r\n" has 12 bytes.
  for (const std::size_t piece : {std::size_t{1}, kWhole}) {
    EXPECT_THAT(http_events(with_fields("A: " + std::string(13, 'b') + "\r\n"), piece, limits),
                StartsWith("POST /f "));
    EXPECT_EQ(http_events(with_fields("A: " + std::string(14, 'b') + "\r\n"), piece, limits),
              "431 the header fields are longer than the limit of 30 bytes\n");
    EXPECT_EQ(http_events("GET / HTTP/1.1\r\n" + std::string(31, 'a'), piece, limits),
              "431 the header fields are longer than the limit of 30 bytes\n");
  }
}

TEST(RequestHead, LimitsTheNumberOfFields) {
  const RequestLimits limits{.header_count_max = 3};
  for (const std::size_t piece : {std::size_t{1}, kWhole}) {
    EXPECT_THAT(http_events(with_fields("A: b\r\nC: d\r\n"), piece, limits), StartsWith("POST /f "));
    EXPECT_EQ(http_events(with_fields("A: b\r\nC: d\r\nE: f\r\n"), piece, limits),
              "431 the header fields are more than the limit of 3 fields\n");
  }
}

TEST(RequestLimits, MayBeExtreme) {
  const std::string request =
      "POST / HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nA: b\r\n\r\n";
  const auto ends = [&](auto RequestLimits::* field, std::uint64_t value, std::string_view status) {
    RequestLimits limits;
    limits.*field = value;
    HttpTranscript transcript{limits};
    transcript.receive(request);
    EXPECT_EQ(transcript.requests(), status.empty() ? 1u : 0u);
    EXPECT_THAT(transcript.text(), HasSubstr(status));
  };
  for (const std::uint64_t value : {0u, 1u}) {
    ends(&RequestLimits::request_line_bytes_max, value, "414 ");
    ends(&RequestLimits::header_bytes_max, value, "431 ");
    ends(&RequestLimits::header_count_max, value, "431 ");
    ends(&RequestLimits::trailer_bytes_max, value, "431 ");
    ends(&RequestLimits::body_bytes_max, value, value == 0 ? "413 " : "");
    ends(&RequestLimits::chunk_digits_max, value, value == 0 ? "400 " : "");
  }
  for (const std::uint64_t value : {~std::uint64_t{0}, ~std::uint64_t{0} - 1}) {
    ends(&RequestLimits::request_line_bytes_max, value, "");
    ends(&RequestLimits::header_bytes_max, value, "");
    ends(&RequestLimits::header_count_max, value, "");
    ends(&RequestLimits::trailer_bytes_max, value, "");
    ends(&RequestLimits::body_bytes_max, value, "");
    ends(&RequestLimits::chunk_digits_max, value, "");
  }
}

TEST(RequestHead, FloodOfFieldsTakesBoundedMemory) {
  RequestParser parser;
  std::string flood = "GET /%20" + std::string(8000, 'p') + " HTTP/1.1\r\nHost: here\r\n";
  for (int at = 0; at < 90; ++at) flood += "a:\r\n";
  flood += std::string(1 << 20, 'a');
  std::string_view rest = flood;
  std::size_t most = 0;
  while (parser.next(as_bytes(rest.substr(0, 100))).event == RequestParser::Event::kMore) {
    rest.remove_prefix(100);
    most = std::max(most, parser.memory_bytes());
  }
  EXPECT_EQ(parser.refusal().status, 431);
  EXPECT_LT(most, 80u * 1024);
  EXPECT_GT(most, 24u * 1024);
}

TEST(QueryValue, DecodesPairs) {
  constexpr std::string_view kQuery = "a=1&b=x+y%2B%26&c&=d&a=2&e=f=g&%68=i&j=%";
  EXPECT_EQ(query_value(kQuery, "a"), "1");
  EXPECT_EQ(query_value(kQuery, "b"), "x y+&");
  EXPECT_EQ(query_value(kQuery, "c"), "");
  EXPECT_EQ(query_value(kQuery, "e"), "f=g");
  EXPECT_EQ(query_value(kQuery, "h"), "i");
  EXPECT_EQ(query_value(kQuery, "j"), "%");
  EXPECT_EQ(query_value(kQuery, "z"), std::nullopt);
  EXPECT_EQ(query_value("", "a"), std::nullopt);
}

}  // namespace
}  // namespace weft::detail::http
