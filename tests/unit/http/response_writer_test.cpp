// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/http/response_writer.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>

#include "support/heap_count.hpp"
#include "weft/detail/http/date.hpp"

namespace weft::detail::http {
namespace {

std::string answer(const ResponseHead& head, Method method, std::string_view body) {
  std::string out = "before|";
  ResponseWriter writer{out};
  write_answer(writer, head, method, "text/plain", body);
  EXPECT_TRUE(writer.finish());
  return out;
}

TEST(ResponseWriter, WritesAWholeAnswer) {
  EXPECT_EQ(
      answer({.date = "now"}, Method::kGet, "hello"),
      "before|HTTP/1.1 200 OK\r\nDate: now\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello");
  EXPECT_EQ(answer({.status = 404, .keeps_alive = false}, Method::kPost, ""),
            "before|HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Type: text/plain\r\n"
            "Content-Length: 0\r\n\r\n");
  EXPECT_EQ(answer({.status = 299, .version = Version::k10}, Method::kPost, "x"),
            "before|HTTP/1.1 299 \r\nConnection: keep-alive\r\nContent-Type: text/plain\r\nContent-Length: "
            "1\r\n\r\nx");
}

TEST(ResponseWriter, LeavesOutBodiesThatMustNotBe) {
  EXPECT_EQ(answer({}, Method::kHead, "hello"),
            "before|HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\n");
  for (const int status : {204, 304}) {
    const std::string text = answer({.status = status}, Method::kGet, "hello");
    EXPECT_EQ(text.find("Content-Length"), std::string::npos) << status;
    EXPECT_TRUE(text.ends_with("\r\n\r\n")) << status;
  }
  EXPECT_FALSE(may_have_body(Method::kGet, 100));
  EXPECT_TRUE(may_have_body(Method::kGet, 200));
}

TEST(ResponseWriter, RefusesFieldsThatWouldSplitTheAnswer) {
  std::string out;
  ResponseWriter writer{out};
  for (int byte = 0; byte < 256; ++byte) {
    const bool is_control = (byte < 0x20 && byte != '\t') || byte == 0x7f;
    for (const std::size_t place : {0, 5, 11}) {
      std::string value = "twelve bytes";
      value[place] = static_cast<char>(byte);
      EXPECT_EQ(writer.add("X", value), !is_control) << byte;
    }
  }
  for (const std::string_view name : {"", "a b", "a:", "a\r\nb", "\xC3\xA4", "a\t"}) {
    EXPECT_FALSE(writer.add(name, "value")) << name;
  }
  for (const std::string_view name : {"content-length", "Transfer-Encoding", "CONNECTION"}) {
    EXPECT_FALSE(writer.add(name, "5")) << name;
  }
  writer.finish();
  EXPECT_EQ(out.find('\0'), std::string::npos);
  EXPECT_EQ(out.find("value"), std::string::npos);
}

TEST(ResponseWriter, WritesChunks) {
  std::string out;
  ResponseWriter writer{out};
  writer.begin({});
  writer.end_chunked();
  writer.put_chunk("hello");
  writer.put_chunk("");
  writer.put_chunk(std::string(255, 'x'));
  writer.begin_chunk(2);
  writer.put("ab");
  writer.end_chunk();
  writer.end_chunks();
  ASSERT_TRUE(writer.finish());
  EXPECT_EQ(out, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nff\r\n" +
                     std::string(255, 'x') + "\r\n2\r\nab\r\n0\r\n\r\n");
}

TEST(ResponseWriter, StaysInASpanOfFixedSize) {
  std::string whole;
  {
    ResponseWriter writer{whole};
    write_answer(writer, {}, Method::kGet, "text/plain", "hello");
  }
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    std::string memory(size, '?');
    memory += "guard";
    ResponseWriter writer{std::span<char>{memory}.first(size)};
    write_answer(writer, {}, Method::kGet, "text/plain", "hello");
    EXPECT_EQ(writer.finish(), size == whole.size()) << size;
    EXPECT_TRUE(memory.ends_with("guard"));
    if (size == whole.size()) {
      EXPECT_EQ(writer.bytes(), size);
      EXPECT_EQ(memory, whole + "guard");
    }
  }
}

TEST(ResponseWriter, LargeBodiesGrowAString) {
  std::string out;
  ResponseWriter writer{out};
  const std::string body(100'000, 'b');
  write_answer(writer, {}, Method::kGet, "", body);
  ASSERT_TRUE(writer.finish());
  EXPECT_EQ(out, "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + body);
}

TEST(ResponseWriter, ReusedStringAllocatesNothing) {
  if (!weft::testing::kHeapIsCounted) GTEST_SKIP() << "a sanitizer has its own operator new";
  std::string out;
  std::size_t before = 0;
  for (int round = 0; round < 3; ++round) {
    if (round == 1) before = weft::testing::heap_allocations();
    out.clear();
    ResponseWriter writer{out};
    writer.begin({.date = "Sun, 06 Nov 1994 08:49:37 GMT"});
    for (int field = 0; field < 30; ++field) writer.add("X-Some-Field", "some value");
    writer.end_with_length(5);
    writer.put("hello");
    EXPECT_TRUE(writer.finish());
  }
  EXPECT_EQ(weft::testing::heap_allocations(), before);
}

TEST(ResponseWriter, LeavesTheStringAsItWasWithoutMemory) {
  if (!weft::testing::kHeapIsCounted) GTEST_SKIP() << "a sanitizer has its own operator new";
  std::string out = "before";
  weft::testing::fail_allocations(1, weft::testing::kForEver);
  ResponseWriter writer{out};
  write_answer(writer, {}, Method::kGet, "text/plain", "hello");
  EXPECT_FALSE(writer.finish());
  weft::testing::fail_allocations(0);
  EXPECT_EQ(out, "before");
}

TEST(DateText, HasTheFormOfRfc9110) {
  DateText date;
  EXPECT_EQ(date.at(784'111'777), "Sun, 06 Nov 1994 08:49:37 GMT");
  EXPECT_EQ(date.at(0), "Thu, 01 Jan 1970 00:00:00 GMT");
  EXPECT_EQ(date.at(951'782'400), "Tue, 29 Feb 2000 00:00:00 GMT");
  EXPECT_EQ(date.at(1'798'761'599), "Thu, 31 Dec 2026 23:59:59 GMT");
  EXPECT_EQ(date.at(-1), "Thu, 01 Jan 1970 00:00:00 GMT");
  EXPECT_EQ(date.at(INT64_MAX), "Fri, 31 Dec 9999 23:59:59 GMT");
  EXPECT_EQ(date.at(INT64_MIN), "Thu, 01 Jan 1970 00:00:00 GMT");
}

}  // namespace
}  // namespace weft::detail::http
