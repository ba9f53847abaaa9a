// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weft::info {

/// One of the ways by which an endpoint of UCX sends, and what for, in UCX's own short words ("am", "am_bw",
/// "rma_bw", "wireup", "keepalive").
struct Lane {
  std::string transport;
  std::string device;
  std::vector<std::string> uses;
  friend bool operator==(const Lane&, const Lane&) = default;
};

/// The lanes in what UCX prints of an endpoint. Empty when it prints otherwise than it did up to now.
std::vector<Lane> parse_lanes(std::string_view description);

/// Explains UCX's word for the use of a lane; returns the word itself when it is not known.
std::string meaning_of(std::string_view use);

}  // namespace weft::info
