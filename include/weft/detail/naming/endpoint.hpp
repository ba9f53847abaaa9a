// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace weft {

/// Longest URL and longest zone of an endpoint, in bytes.
inline constexpr std::size_t kEndpointUrlBytesMax = 512;
inline constexpr std::size_t kEndpointZoneBytesMax = 64;
/// Largest weight of an endpoint.
inline constexpr std::uint32_t kEndpointWeightMax = 1'000'000;

/// One server behind a name. It is written as a line, in files and in etcd, where weight and zone may be
/// missing: `tcp://10.0.0.7:9000 weight=3 zone=a`.
struct Endpoint {
  std::string url;
  /// Share of the calls compared with the others'; zero is a server that should get none.
  std::uint32_t weight = 1;
  std::string zone{};

  friend auto operator<=>(const Endpoint&, const Endpoint&) = default;
};

/// The servers behind a name at one time: ordered by URL, each URL once.
struct NameList {
  /// Zero until there was a first list; larger with each change.
  std::uint64_t version = 0;
  std::vector<Endpoint> endpoints{};
};

/// Shared and never changed, so that any thread may keep one.
using NameSnapshot = std::shared_ptr<const NameList>;

}  // namespace weft
