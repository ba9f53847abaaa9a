// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "info/carrier_facts.hpp"
#include "info/options.hpp"
#include "info/probe.hpp"
#include "weft/detail/base/result.hpp"

namespace weft::info {

/// All that `weft info` has to say; each part is there or has a reason.
struct Report {
  /// The carriers, after they looked at the machine.
  Carriers carriers;
  /// Found out only with Options::connect.
  Result<Probe> probe;
};

/// 0, or 1 when something that was asked for cannot be had. A build or a machine without a carrier that was
/// asked nothing of it is no failure.
int exit_code_of(const Report& report, const Options& options);

/// One JSON object.
std::string to_json(const Report& report, const Options& options);

/// Returns it as text for people.
std::string to_text(const Report& report, const Options& options);

}  // namespace weft::info
