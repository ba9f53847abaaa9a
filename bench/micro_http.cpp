// SPDX-License-Identifier: Apache-2.0
// Measures HTTP/1.1 without I/O: reading small requests, whole and in pieces, and writing small answers.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "weft/detail/http/date.hpp"
#include "weft/detail/http/request_parser.hpp"
#include "weft/detail/http/response_writer.hpp"

namespace weft::detail::http {
namespace {

using Event = RequestParser::Event;

// The request of curl for a call with a small argument; fields of 131 bytes.
constexpr std::string_view kPost =
    "POST /functions/centre HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nUser-Agent: curl/7.88.1\r\nAccept: */*\r\n"
    "Content-Type: application/json\r\nContent-Length: 23\r\n\r\n[[[0,0],[6,0],[0,3]]]\r\n";
constexpr std::string_view kGet =
    "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nUser-Agent: curl/7.88.1\r\nAccept: */*\r\n\r\n";
constexpr std::string_view kChunked =
    "POST /functions/centre HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nUser-Agent: curl/7.88.1\r\nAccept: */*\r\n"
    "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    "17\r\n[[[0,0],[6,0],[0,3]]]\r\n\r\n0\r\n\r\n";

// Reads all of `input` and returns the number of requests in it.
std::size_t read_all(RequestParser& parser, Bytes input) {
  for (std::size_t requests = 0;;) {
    const auto step = parser.next(input);
    input = input.subspan(step.taken);
    if (step.event == Event::kEnd) ++requests;
    if (step.event == Event::kRefused) std::abort();
    if (step.event == Event::kMore) return requests;
  }
}

void read_requests(benchmark::State& state, std::string_view request, std::size_t piece, std::size_t depth) {
  RequestParser parser;
  std::string stream;
  for (std::size_t at = 0; at < depth; ++at) stream += request;
  std::size_t requests = 0;
  for (auto _ : state) {
    for (Bytes input = as_bytes(stream); !input.empty();) {
      const std::size_t size = std::min(piece, input.size());
      requests += read_all(parser, input.first(size));
      input = input.subspan(size);
    }
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(requests));
}
BENCHMARK_CAPTURE(read_requests, post, kPost, SIZE_MAX, 1);
BENCHMARK_CAPTURE(read_requests, post_in_two_pieces, kPost, 100, 1);
BENCHMARK_CAPTURE(read_requests, post_byte_by_byte, kPost, 1, 1);
BENCHMARK_CAPTURE(read_requests, post_64_in_a_row, kPost, SIZE_MAX, 64);
BENCHMARK_CAPTURE(read_requests, get, kGet, SIZE_MAX, 1);
BENCHMARK_CAPTURE(read_requests, chunked, kChunked, SIZE_MAX, 1);

void write_answers(benchmark::State& state, bool to_string) {
  DateText date;
  std::string out;
  char memory[1024];
  for (auto _ : state) {
    const ResponseHead head{.date = date.at(1'700'000'000)};
    if (to_string) {
      out.clear();
      ResponseWriter writer{out};
      write_answer(writer, head, Method::kPost, "application/json", "[2.0,1.0]");
    } else {
      ResponseWriter writer{std::span<char>{memory}};
      write_answer(writer, head, Method::kPost, "application/json", "[2.0,1.0]");
    }
    benchmark::DoNotOptimize(out.data());
    benchmark::DoNotOptimize(memory);
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()));
}
BENCHMARK_CAPTURE(write_answers, to_string, true);
BENCHMARK_CAPTURE(write_answers, to_span, false);

}  // namespace
}  // namespace weft::detail::http

BENCHMARK_MAIN();
