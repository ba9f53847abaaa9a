// SPDX-License-Identifier: Apache-2.0
#include "ucx/framed.hpp"

#include <cstring>
#include <limits>

#include "weft/detail/ucx/status.hpp"

namespace weft::ucx::detail {

namespace {

constexpr std::size_t kHead = 16;

std::uint64_t checksum(Bytes bytes) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const std::byte byte : bytes) {
    hash ^= static_cast<std::uint64_t>(byte);
    hash *= 0x100000001b3;
  }
  return hash;
}

}  // namespace

std::vector<std::byte> frame(Framed what, Bytes bytes) {
  std::vector<std::byte> framed(kHead + bytes.size());
  weft::detail::store_le(framed.data(), what);
  weft::detail::store_le(framed.data() + 4, static_cast<std::uint32_t>(bytes.size()));
  weft::detail::store_le(framed.data() + 8, checksum(bytes));
  if (!bytes.empty()) std::memcpy(framed.data() + kHead, bytes.data(), bytes.size());
  return framed;
}

Result<Bytes> unframe(Framed what, Bytes framed) {
  const bool whole =
      framed.size() > kHead && weft::detail::load_le<Framed>(framed.data()) == what &&
      weft::detail::load_le<std::uint32_t>(framed.data() + 4) == framed.size() - kHead &&
      weft::detail::load_le<std::uint64_t>(framed.data() + 8) == checksum(framed.subspan(kHead));
  if (whole) return framed.subspan(kHead);
  return to_status(UCS_ERR_INVALID_ADDR, what == Framed::kAddress ? "a worker's address" : "a remote key");
}

}  // namespace weft::ucx::detail
