// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/verbs/address_info.hpp"

#include <algorithm>
#include <cstring>

namespace weft::verbs {

namespace {

constexpr std::uint8_t kVersion = 1;
constexpr std::uint8_t kEthernet = 1;
constexpr std::uint32_t kNumberMax = 0xFF'FFFF;
// 0 and 1 are the subnet's management.
constexpr std::uint32_t kFirstNumber = 2;
constexpr std::uint16_t kMulticastLids = 0xC000;

}  // namespace

std::array<std::byte, AddressInfo::kEncodedBytes> AddressInfo::encode() const noexcept {
  std::array<std::byte, kEncodedBytes> to{};
  to[0] = std::byte{kVersion};
  to[1] = std::byte{ethernet ? kEthernet : std::uint8_t{0}};
  to[2] = static_cast<std::byte>(mtu);
  weft::detail::store_le(to.data() + 4, queue_pair);
  weft::detail::store_le(to.data() + 8, packet_sequence);
  weft::detail::store_le(to.data() + 12, lid);
  std::memcpy(to.data() + 16, gid.data(), gid.size());
  return to;
}

Result<AddressInfo> AddressInfo::decode(Bytes from) {
  const auto refused = [](const char* why) {
    return Status{StatusCode::kInvalidArgument, Layer::kTransport,
                  std::string{"the address of a queue pair "} + why};
  };
  if (from.size() != kEncodedBytes) return refused("is of another length");
  if (from[0] != std::byte{kVersion}) return refused("is of another version");
  AddressInfo info;
  const auto flags = static_cast<std::uint8_t>(from[1]);
  const auto mtu = static_cast<unsigned>(from[2]);
  info.queue_pair = weft::detail::load_le<std::uint32_t>(from.data() + 4);
  info.packet_sequence = weft::detail::load_le<std::uint32_t>(from.data() + 8);
  info.lid = weft::detail::load_le<std::uint16_t>(from.data() + 12);
  info.ethernet = flags == kEthernet;
  std::memcpy(info.gid.data(), from.data() + 16, info.gid.size());
  if (flags > kEthernet || from[3] != std::byte{0} ||
      weft::detail::load_le<std::uint16_t>(from.data() + 14) != 0) {
    return refused("has bits that nobody knows");
  }
  if (mtu < IBV_MTU_256 || mtu > IBV_MTU_4096) return refused("has an impossible MTU");
  info.mtu = static_cast<ibv_mtu>(mtu);
  if (info.queue_pair > kNumberMax || info.packet_sequence > kNumberMax) {
    return refused("has a number of more than 24 bits");
  }
  const bool has_gid = std::any_of(info.gid.begin(), info.gid.end(), [](std::uint8_t b) { return b != 0; });
  const bool to_many = info.gid[0] == 0xFF || info.lid >= kMulticastLids || info.queue_pair < kFirstNumber;
  if (to_many) return refused("names a group or a management queue pair");
  if (info.ethernet ? !has_gid : info.lid == 0 && !has_gid) return refused("leads nowhere");
  return info;
}

}  // namespace weft::verbs
