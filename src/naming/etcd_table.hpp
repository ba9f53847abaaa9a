// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "naming/etcd_json.hpp"
#include "naming/judged_list.hpp"

namespace weft::detail {

/// Meaning of an answer of etcd for a name.
struct EtcdNews {
  /// Reason for which etcd's words could not be read; ok when they could.
  Status failure{};
  /// Revision of a range; watch changes from the next revision on.
  std::int64_t revision = 0;
  /// False: nothing has changed, and there is no list.
  bool changed = false;
  JudgedList list{};
};

/// The keys below a prefix of etcd and their values. Thread: one at a time, whichever reads the answers.
class EtcdTable {
 public:
  /// `bytes_max` bounds all values together.
  EtcdTable(std::string prefix, const NameLimits& limits, std::size_t bytes_max)
      : prefix_(std::move(prefix)), limits_(limits), bytes_max_(bytes_max) {}

  /// Reads the answer to range_request().
  EtcdNews begin(std::string_view range, const NameSnapshot& before);
  /// Reads whole lines of the answer to watch_request().
  EtcdNews follow(std::string_view lines, const NameSnapshot& before);
  /// Estimate of the bytes that are looked at to tell of a change.
  std::size_t bytes() const noexcept { return bytes_; }

 private:
  Status apply(std::vector<EtcdEntry> entries);
  JudgedList list(const NameSnapshot& before) const;

  const std::string prefix_;
  const NameLimits limits_;
  const std::size_t bytes_max_;
  std::map<std::string, std::string> entries_;
  std::size_t bytes_ = 0;
};

}  // namespace weft::detail
