// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/base/intrusive_list.hpp"
#include "weft/detail/calls/served_call.hpp"

namespace weft::detail {

/// The calls of one connection that have a record. Thread: the connection's loop.
class ServedList {
 public:
  void add(ServedCall& call) { calls_.push_back(call); }
  /// Some have not been answered. Looks at each that has been once, however often it is asked.
  bool has_unanswered() {
    while (!calls_.empty() && calls_.front().answered()) answered_.push_back(calls_.pop_front());
    return !calls_.empty();
  }
  /// The connection is gone.
  void orphan_all() {
    calls_.splice_back(answered_);
    while (!calls_.empty()) calls_.front().orphan();
  }

 private:
  IntrusiveList<ServedCall, ServedCallTag> calls_;
  /// Their handlers have not ended.
  IntrusiveList<ServedCall, ServedCallTag> answered_;
};

}  // namespace weft::detail
