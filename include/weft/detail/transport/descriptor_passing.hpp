// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "weft/detail/base/descriptor.hpp"

namespace weft::detail {

/// Passes descriptors to the peer's process and receives the peer's, beside the bytes of a base carrier, for
/// carriers made of shared resources, such as memory. Only a base carrier between processes of one machine
/// can do this, and it looks for descriptors only between look() and look_no_more(): outside that time the
/// system closes incoming descriptors, and a receive costs nothing extra. Thread: the base carrier's loop.
class DescriptorPassing {
 public:
  /// Accepts at most `most` of the peer's descriptors from now on, and no more than Descriptors::kMost. When
  /// more arrive, all of them are closed, and the peer was unasked().
  virtual void look(std::size_t most) noexcept = 0;
  /// Closes all descriptors that were not taken.
  virtual void look_no_more() noexcept = 0;
  /// The peer passed more than it was asked for.
  virtual bool unasked() const noexcept = 0;
  /// Returns the descriptors that have arrived. They arrive no later than the byte behind which the peer
  /// passed them.
  virtual Descriptors take() noexcept = 0;
  /// Passes all `descriptors` together with the byte that is sent behind the next `ahead` bytes; this side
  /// then closes its copies. Descriptors of an earlier call that have not left are closed and not passed.
  virtual void pass(Descriptors descriptors, std::size_t ahead) noexcept = 0;

 protected:
  ~DescriptorPassing() = default;
};

}  // namespace weft::detail
