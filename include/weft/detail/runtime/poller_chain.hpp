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

/// The pollers of one loop, which asks them one after the other. A poller that is asked may add and remove
/// some: one that is removed stays as an empty place until forget_removed(). Thread: the loop's.
class PollerChain {
 public:
  PollerChain() noexcept;
  ~PollerChain();

  /// Errors: the system's when its descriptor cannot be watched by `loop`.
  Result<void> add(Poller& poller, Loop& loop);
  void remove(Poller& poller, Loop& loop) noexcept;
  /// Forgets those that were removed. Never called while they are asked.
  void forget_removed();
  bool has_removed() const noexcept { return removed_; }
  /// There is nobody to ask; one that was removed counts until it is forgotten.
  bool empty() const noexcept { return first_ == nullptr; }

  /// Asks each, of which there must be one, and returns what they brought together.
  std::size_t ask();
  /// Notes how much was done in the turn that asked them last; a new one counts as having something.
  void note_brought(std::size_t things) noexcept { brought_ = things; }
  /// Arms all before a sleep of `at_most`, which gets as short as the least patient wants it. False when
  /// there may be something to do still: those that brought something are asked again first.
  bool arm(Duration& at_most);

 private:
  void chain() noexcept;

  std::vector<std::unique_ptr<AddedPoller>> all_;
  AddedPoller* first_ = nullptr;
  bool removed_ = false;
  std::size_t brought_ = 0;
};

}  // namespace weft::detail
