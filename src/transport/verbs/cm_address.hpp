// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "transport/verbs/carrier_terms.hpp"

namespace weft::detail::verbs_carrier {

/// Token by which a listener of rdma_cm finds the connection of a request: random, sent to one peer on its
/// base carrier, valid for one request.
using CmToken = std::array<std::byte, 16>;

/// Says where the listening side waits, and for what.
struct CmListening {
  std::uint16_t port = 0;
  CmToken token{};

  friend bool operator==(const CmListening&, const CmListening&) = default;
};

/// The address of an end that is connected by rdma_cm. The connecting side's ends after its terms.
///
///      0        1        2        3        4        5        6        7
///  0 | terms (carrier_address.hpp)                                              |
///  8 | port            | zero                                                |
/// 16 | token                                                                 |
/// 24 |                                                                       |
/// 32
struct CmAddress {
  CarrierTerms terms;
  std::optional<CmListening> listening{};

  std::string encode() const;
  /// Errors: kInvalidArgument for what encode() does not make.
  static Result<CmAddress> decode(std::string_view from);
};

/// The private data of a request. Devices add zeros behind it.
///
///      0        1        2        3
///  0 | 'w'    | 'e'    | 'f'    | version|
///  4 | token, 16 bytes                   |
/// 20
inline constexpr std::size_t kCmRequestBytes = 20;
std::array<std::byte, kCmRequestBytes> encode_request(const CmToken& token) noexcept;
/// Returns nothing unless encode_request() made the data. Zeros may follow the data.
std::optional<CmToken> decode_request(Bytes private_data) noexcept;

}  // namespace weft::detail::verbs_carrier
