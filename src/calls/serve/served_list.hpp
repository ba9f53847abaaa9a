// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/base/intrusive_list.hpp"
#include "weft/detail/calls/serve/served_call.hpp"

namespace weft::detail {

/// The calls of one connection that have a record. Thread: the connection's loop.
class ServedList {
 public:
  void add(ServedCall& call) { calls_.push_back(call); }
  /// Returns true if some calls were not answered. Examines each answered call only once, over all
  /// invocations.
  bool has_unanswered() {
    while (!calls_.empty() && calls_.front().answered()) answered_.push_back(calls_.pop_front());
    return !calls_.empty();
  }
  /// The peer sends nothing more: streams cannot go on without its items and credits. Returns false when
  /// there were none.
  bool give_up_streams() {
    IntrusiveList<ServedCall, ServedCallTag> others;
    bool some = false;
    while (!calls_.empty()) {
      ServedCall& call = calls_.pop_front();
      const bool gives_up = call.stream() != nullptr && !call.answered();
      (gives_up ? answered_ : others).push_back(call);
      if (!gives_up) continue;
      some = true;
      call.cancel_by_peer();
    }
    calls_.splice_back(others);
    return some;
  }
  /// The connection is gone: notifies up to `left` calls, and decrements `left` for each. Returns false when
  /// some remain.
  bool orphan_some(std::size_t& left) {
    calls_.splice_back(answered_);
    for (; left > 0 && !calls_.empty(); --left) calls_.front().orphan();
    return calls_.empty();
  }

 private:
  IntrusiveList<ServedCall, ServedCallTag> calls_;
  /// Their handlers have not ended.
  IntrusiveList<ServedCall, ServedCallTag> answered_;
};

}  // namespace weft::detail
