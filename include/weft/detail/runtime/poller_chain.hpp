// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "weft/detail/base/result.hpp"
#include "weft/detail/base/time.hpp"
#include "weft/detail/runtime/poller.hpp"

namespace weft {
class Loop;
}  // namespace weft

namespace weft::detail {

class AddedPoller;

/// The pollers of one loop, polled in order. A poller may add and remove pollers while it is polled: a
/// removed one stays as an empty entry until forget_removed(). Thread: the loop's.
class PollerChain {
 public:
  PollerChain() noexcept;
  ~PollerChain();

  /// Errors: the system's when its descriptor cannot be watched by `loop`.
  Result<void> add(Poller& poller, Loop& loop);
  void remove(Poller& poller, Loop& loop) noexcept;
  /// Forgets removed pollers. Never called while the pollers are asked.
  void forget_removed();
  bool has_removed() const noexcept { return removed_; }
  /// True without any poller; a removed one counts until it is forgotten.
  bool empty() const noexcept { return first_ == nullptr; }

  /// Polls all pollers (at least one must exist) and returns the total number of events.
  std::size_t ask();
  /// Notes how much was done in the turn that asked them last; a new one counts as having something.
  void note_brought(std::size_t things) noexcept { brought_ = things; }
  /// Arms all pollers before a sleep of `at_most`, which is shortened to the shortest request. Returns false
  /// if events may be pending: the pollers that brought some are asked again first.
  bool arm(Duration& at_most);

 private:
  void chain() noexcept;

  std::vector<std::unique_ptr<AddedPoller>> all_;
  AddedPoller* first_ = nullptr;
  bool removed_ = false;
  std::size_t brought_ = 0;
};

}  // namespace weft::detail
