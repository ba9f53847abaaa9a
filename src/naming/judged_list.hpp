// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "weft/detail/base/status.hpp"
#include "weft/detail/naming/endpoint.hpp"
#include "weft/detail/naming/name_options.hpp"

namespace weft::detail {

/// The limits of NameOptions, for threads that parse answers.
struct NameLimits {
  explicit NameLimits(const NameOptions& options)
      : endpoints_max(options.endpoints_max), bytes_max(options.bytes_max) {}

  std::size_t endpoints_max;
  std::size_t bytes_max;
};

/// An answer that was parsed, sorted and compared with the previous list: the remaining work does not depend
/// on its length.
struct JudgedList {
  enum class Verdict : std::uint8_t { kGood, kEmpty, kRefused, kNoAnswer };

  Verdict verdict = Verdict::kGood;
  /// The reason of any other verdict than kGood.
  Status failure{};
  /// Ordered by URL, each URL once.
  std::vector<Endpoint> endpoints{};
  std::uint64_t duplicates = 0;
  /// Number of skipped entries, and the fault of the first one.
  std::uint64_t skipped = 0;
  Status first_skipped{};
  /// Version of the list that it was compared with, and whether it is the same.
  std::uint64_t compared_with = 0;
  bool is_same = false;
};

/// Judges an answer. Any thread.
JudgedList judge(std::vector<Endpoint> endpoints, const NameLimits& limits, const NameSnapshot& before);
/// An answer that could not be read, or was beyond a limit (kResourceExhausted).
JudgedList refused_list(Status why);
/// An attempt that had no answer.
JudgedList no_list(Status why);

}  // namespace weft::detail
