// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "load/options.hpp"

namespace weft::load {

/// The transfers that ran beside the measured calls, and how late a timer of a millisecond was meanwhile on
/// both sides.
struct BesideReport {
  double transfers_gbps = 0;
  std::uint64_t transfers = 0;
  double timer_p99_us = 0;
  double timer_max_us = 0;
  double server_timer_p99_us = 0;
  double server_timer_max_us = 0;
};

/// The result of a client's measurement. Both commands print it the same way.
struct Report {
  std::uint64_t calls = 0;
  double seconds = 0;
  double qps = 0;
  /// Payload of the larger direction, in 10^9 bits per second.
  double gbps = 0;
  double p50_us = 0;
  double p90_us = 0;
  double p99_us = 0;
  double p999_us = 0;
  double max_us = 0;
  std::uint64_t errors = 0;
  /// Processor time of the client's process for each call.
  double cpu_us_per_call = 0;
  /// Name of the carrier of the calls: "tcp", "ucx" and so on; empty for `weft raw`.
  std::string carrier = {};
  std::optional<BesideReport> beside = {};
};

/// One JSON object on one line, without the line's end.
std::string to_json(const Report& report);

/// A small aligned table for people.
std::string to_table(const Report& report, const ClientOptions& options);

/// Prints the report to stdout the way `options` asks for.
void print_report(const Report& report, const ClientOptions& options);

}  // namespace weft::load
