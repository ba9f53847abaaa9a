// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/base/status.hpp"

namespace weft::detail {

/// Remembers whether an attempt of a call may have run. Every layer that repeats calls keeps one for each
/// call, and passes the failure of the whole call through outcome(): the last attempt may have been refused
/// although an earlier one ran.
class AttemptRecord {
 public:
  /// An attempt has ended with `outcome`.
  void add(const Status& outcome) noexcept { may_have_run_ = may_have_run_ || !outcome.unprocessed(); }
  /// An attempt was abandoned after it was sent.
  void add_abandoned() noexcept { may_have_run_ = true; }
  bool may_have_run() const noexcept { return may_have_run_; }

  /// Returns `failure` as that of the whole call: Status::unprocessed() is true if certainly no attempt
  /// ran, and false otherwise.
  Status outcome(Status failure) const noexcept {
    if (may_have_run_) {
      failure.clear_unprocessed();
    } else {
      failure.mark_unprocessed();
    }
    return failure;
  }

 private:
  bool may_have_run_ = false;
};

}  // namespace weft::detail
