// SPDX-License-Identifier: Apache-2.0
// The parsers of gRPC above HTTP/2. Messages are the same however their bytes are cut into pieces, and all
// memory is free again behind them; metadata are pairs within their limits; a message that was compressed
// stays within its limit.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "calls/grpc/connection_memory.hpp"
#include "calls/grpc/header_texts.hpp"
#include "calls/grpc/inflate.hpp"
#include "calls/grpc/message_reader.hpp"
#include "calls/grpc/request_head.hpp"
#include "weft/detail/base/assert.hpp"

namespace weft {
namespace {

using detail::grpc::MessageReader;
using Step = MessageReader::Step;

constexpr std::uint32_t kMessageMax = 100'000;

/// Messages of a body, and the step at which the reader stopped.
struct Read {
  std::vector<std::pair<bool, std::string>> messages;
  Step last = Step::kMore;
  bool operator==(const Read&) const = default;
};

/// Reads `body` in pieces: each byte of `cuts` is the length of one, the last of the rest. Messages are kept
/// beyond their piece where `keeps` is true.
Read read_body(Bytes body, Bytes cuts, std::size_t headroom, bool keeps) {
  const auto budget = std::make_shared<detail::MemoryBudget>(std::size_t{64} << 20);
  Read read;
  {
    detail::LocalBudget memory{budget};
    const RpcLimits limits;
    detail::Admission admission{limits, memory};
    detail::grpc::ConnectionMemory kept{admission, memory};
    detail::ChunkPool chunks;
    MessageReader reader{kMessageMax, kept, chunks};
    reader.set_headroom(headroom);
    while (read.last == Step::kMore && !body.empty()) {
      std::size_t length = body.size();
      if (!cuts.empty()) {
        length = std::min(length, std::to_integer<std::size_t>(cuts.front()));
        cuts = cuts.subspan(1);
      }
      // A piece of its own, so that a read behind it is found.
      const std::vector<std::byte> piece(body.begin(), body.begin() + static_cast<std::ptrdiff_t>(length));
      body = body.subspan(length);
      Bytes rest = piece;
      do {
        read.last = reader.next(rest);
        if (read.last != Step::kMessage) continue;
        if (keeps) WEFT_ASSERT(reader.keep_message(), "there is memory");
        read.messages.emplace_back(reader.is_compressed(), as_text(reader.message()));
        if (reader.headroom() != nullptr) std::fill_n(reader.headroom(), headroom, std::byte{1});
        read.last = Step::kMore;
      } while (!rest.empty() && read.last == Step::kMore);
    }
    reader.drop();
  }
  WEFT_ASSERT(budget->used() == 0, "all memory is free again");
  return read;
}

void fuzz_messages(Bytes data) {
  const std::size_t cuts = std::min<std::size_t>(data.size(), 32);
  const Bytes body = data.subspan(cuts);
  const Read whole = read_body(body, {}, 0, false);
  WEFT_ASSERT(whole == read_body(body, data.first(cuts), 16, false), "pieces change nothing");
  WEFT_ASSERT(whole == read_body(body, data.first(cuts), 0, true), "keeping changes nothing");
}

void fuzz_head(std::string_view text) {
  detail::grpc::RequestHead head{4000};
  for (int round = 0; round < 2; ++round) {
    head.clear();
    for (std::string_view rest = text; !rest.empty();) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      const std::string_view line = rest.substr(0, end);
      const std::size_t is = std::min(line.find('=', line.starts_with('=') ? 1 : 0), line.size());
      if (is != 0) head.add(line.substr(0, is), line.substr(std::min(is + 1, line.size())));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    WEFT_ASSERT(detail::is_metadata(head.metadata().bytes()), "metadata are whole pairs");
    WEFT_ASSERT(head.metadata().bytes().size() <= 4000, "metadata are within the limit of the head");
    WEFT_ASSERT(!head.timeout() || *head.timeout() >= Duration::zero(), "a timeout is not negative");
  }
  std::string encoded;
  detail::grpc::append_percent_encoded(encoded, text);
  WEFT_ASSERT(std::all_of(encoded.begin(), encoded.end(), [](char c) { return c >= ' ' && c <= '~'; }),
              "a message is printable");
}

void fuzz_gzip(Bytes data) {
  constexpr std::size_t kBytesMax = 10'000;
  const auto budget = std::make_shared<detail::MemoryBudget>(std::size_t{64} << 20);
  {
    detail::LocalBudget memory{budget};
    const RpcLimits limits;
    detail::Admission admission{limits, memory};
    detail::grpc::ConnectionMemory kept{admission, memory};
    detail::grpc::InflatedMessage message{kept};
    const bool is_refused = message.inflate(data, kBytesMax).has_value();
    WEFT_ASSERT(message.bytes().size() <= (is_refused ? 0 : kBytesMax), "the message is within the limit");
  }
  WEFT_ASSERT(budget->used() == 0, "all memory is free again");
}

}  // namespace
}  // namespace weft

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size == 0) return 0;
  const weft::Bytes data = std::as_bytes(std::span{bytes + 1, size - 1});
  switch (bytes[0] % 3) {
    case 0:
      weft::fuzz_messages(data);
      break;
    case 1:
      weft::fuzz_head(weft::as_text(data));
      break;
    default:
      weft::fuzz_gzip(data);
      break;
  }
  return 0;
}
