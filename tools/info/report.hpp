// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "info/options.hpp"
#include "info/probe.hpp"
#include "info/rdma_facts.hpp"
#include "info/ucx_facts.hpp"
#include "info/words.hpp"
#include "weft/base/result.hpp"

namespace weft::info {

/// All that `weft info` has to say; each part is there or has a reason.
struct Report {
  Result<UcxFacts> ucx;
  /// Only with Options::connect.
  Result<Probe> probe;
  Result<RdmaFacts> rdma = RdmaFacts{};
};

/// 0, or 1 when something that was asked for cannot be had. A build without UCX or RDMA that was asked
/// nothing of it is no failure, and neither is a machine without RDMA devices.
int exit_code_of(const Report& report, const Options& options);

/// One JSON object.
std::string to_json(const Report& report, const Options& options);

/// The part about RDMA, for people.
std::string rdma_text(const Result<RdmaFacts>& rdma, const Options& options);

/// For people.
std::string to_text(const Report& report, const Options& options);

/// The lines that it is made of: a name and a value, many of those, and what stands above some.
std::string row(std::string name, std::string_view value);
std::string words_text(const std::vector<Word>& words);
std::string heading(std::string_view words);

}  // namespace weft::info
