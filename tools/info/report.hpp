// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "info/options.hpp"
#include "info/probe.hpp"
#include "info/ucx_facts.hpp"
#include "weft/base/result.hpp"

namespace weft::info {

/// All that `weft info` has to say; each part is there or has a reason.
struct Report {
  Result<UcxFacts> ucx;
  /// Only with Options::connect.
  Result<Probe> probe;
};

/// 0, or 1 when something that was asked for cannot be had. A build without UCX that was asked nothing of it
/// is no failure.
int exit_code_of(const Report& report, const Options& options);

/// One JSON object.
std::string to_json(const Report& report, const Options& options);

/// For people.
std::string to_text(const Report& report, const Options& options);

}  // namespace weft::info
