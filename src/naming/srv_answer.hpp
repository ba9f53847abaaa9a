// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weft/detail/base/result.hpp"

namespace weft::detail {

struct SrvRecord {
  std::uint16_t priority = 0;
  std::uint16_t weight = 0;
  std::uint16_t port = 0;
  std::string target{};
};

struct SrvAnswer {
  /// The smallest TTL of the records.
  std::uint32_t ttl_seconds = 0;
  std::vector<SrvRecord> records{};
};

/// Reads the SRV records of a DNS message, which c-ares gives without their TTLs.
/// Errors: kInvalidArgument for a message that is malformed anywhere up to its last answer.
Result<SrvAnswer> read_srv_answer(std::span<const unsigned char> message);

}  // namespace weft::detail
