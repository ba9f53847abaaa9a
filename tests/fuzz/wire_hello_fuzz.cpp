// SPDX-License-Identifier: Apache-2.0
// The hello: bytes as they come, and the same bytes in an envelope that is right, so that what lies inside is
// reached.
#include <algorithm>
#include <string>

#include "weft/detail/base/assert.hpp"
#include "weft/detail/wire/crc32c.hpp"
#include "weft/detail/wire/hello.hpp"

namespace weft::detail::wire {
namespace {

void check_length(Bytes input) {
  const auto whole = hello_length(input);
  if (!whole.ok()) return;
  WEFT_ASSERT(*whole <= kHelloBytesMax, "a length over the limit was accepted");
  for (std::size_t size = 0; size < std::min(input.size(), kHelloPrefixBytes); ++size) {
    const auto part = hello_length(input.first(size));
    WEFT_ASSERT(part.ok() && *part == 0, "a beginning of a good hello was refused");
  }
}

void check_decode(Bytes input) {
  const auto hello = decode_hello(input);
  if (!hello.ok()) {
    WEFT_ASSERT(!hello.status().message().empty(), "a refusal says why");
    return;
  }
  const std::string again = encode_hello(*hello);
  const auto same = decode_hello(as_bytes(again));
  WEFT_ASSERT(same.ok() && *same == *hello, "what was read does not survive being written");
}

/// `input` with magic, version, length and checksum made right.
std::string sealed(Bytes input) {
  std::string text{as_text(input.first(std::min(input.size(), kHelloBytesMax - 8)))};
  text.resize(std::max<std::size_t>(56, text.size() & ~std::size_t{7}));
  text.resize(text.size() + 8);
  auto* at = reinterpret_cast<std::byte*>(text.data());
  text.replace(0, 4, "\xF7WFT");
  store_le(at + 4, kVersion);
  store_le(at + 6, std::uint16_t{0});
  store_le(at + 8, static_cast<std::uint32_t>(text.size() - kHelloPrefixBytes));
  store_le(at + 12, std::uint32_t{0});
  store_le(at + text.size() - 8, std::uint64_t{crc32c({at, text.size() - 8})});
  return text;
}

}  // namespace
}  // namespace weft::detail::wire

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  using namespace weft::detail;
  const Bytes input{reinterpret_cast<const std::byte*>(data), size};
  wire::check_length(input);
  wire::check_decode(input);
  const std::string envelope = wire::sealed(input);
  wire::check_length(as_bytes(envelope));
  wire::check_decode(as_bytes(envelope));
  return 0;
}
