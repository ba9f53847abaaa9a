// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/base/result.hpp"
#include "weft/detail/verbs/device.hpp"

namespace weft::verbs {

/// Address of a queue pair that a peer needs to connect its own; sent to it by other means, such as a TCP
/// connection.
///
///      0        1        2        3        4        5        6        7
///  0 | version| flags  | mtu    | zero   | queue pair number                 |
///  8 | packet sequence number            | LID             | zero            |
/// 16 | GID                                                                   |
/// 24 |                                                                       |
/// 32
///
/// Little-endian but for the GID. `flags`: 1 for an Ethernet port. `mtu` is 1 for 256 bytes to 5 for 4096.
struct AddressInfo {
  static constexpr std::size_t kEncodedBytes = 32;

  std::uint32_t queue_pair = 0;
  std::uint32_t packet_sequence = 0;
  std::uint16_t lid = 0;
  ibv_mtu mtu = IBV_MTU_256;
  bool ethernet = false;
  std::array<std::uint8_t, 16> gid{};

  std::array<std::byte, kEncodedBytes> encode() const noexcept;
  /// Errors: kInvalidArgument for what encode() does not make.
  static Result<AddressInfo> decode(Bytes from);

  friend bool operator==(const AddressInfo&, const AddressInfo&) = default;
};

}  // namespace weft::verbs
