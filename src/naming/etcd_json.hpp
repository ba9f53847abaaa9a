// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/detail/base/result.hpp"

namespace weft::detail {

/// A key of etcd and its value; a deleted one has none.
struct EtcdEntry {
  std::string key;
  std::string value;
  bool deleted = false;
};

struct EtcdRange {
  std::int64_t revision = 0;
  std::vector<EtcdEntry> entries{};
};

struct EtcdLease {
  std::int64_t id = 0;
  /// Zero or less when there is no such lease.
  std::int64_t ttl_seconds = 0;
};

std::string base64_of(std::string_view bytes);
/// Returns the first key behind all keys that begin with `prefix`.
std::string end_of_prefix(std::string prefix);

/// Bodies of requests to etcd's JSON gateway.
std::string range_request(std::string_view prefix, std::size_t entries_max);
std::string watch_request(std::string_view prefix, std::int64_t from_revision);
std::string grant_request(std::int64_t ttl_seconds);
std::string lease_request(std::int64_t id);
std::string put_request(std::string_view key, std::string_view value, std::int64_t lease);

/// Parsers of etcd's answers. Errors: kInvalidArgument for malformed text, kUnavailable for an error of
/// etcd's.
Result<EtcdRange> read_range(std::string_view text);
/// Reads one line of a watch. One that etcd ended is kUnavailable.
Result<std::vector<EtcdEntry>> read_watch(std::string_view line);
Result<EtcdLease> read_grant(std::string_view text);
Result<EtcdLease> read_keep_alive(std::string_view text);

}  // namespace weft::detail
