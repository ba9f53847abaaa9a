// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "weft/detail/base/descriptor.hpp"

namespace weft::detail {

/// Passes descriptors to the peer's process and takes in the peer's, beside the bytes of a base carrier, for
/// carriers that are made of what both processes hold, such as memory. Only a base carrier between processes
/// of one machine can, and it looks for descriptors only between look() and look_no_more(): otherwise the
/// system closes what comes, and nothing is asked for each receive. Thread: the base carrier's loop.
class DescriptorPassing {
 public:
  /// Takes in at most `most` of the peer's from now on, and no more than Descriptors::kMost. When more come,
  /// all of them are closed, and the peer was unasked().
  virtual void look(std::size_t most) noexcept = 0;
  /// Closes those that nobody has taken.
  virtual void look_no_more() noexcept = 0;
  /// The peer passed more than it was asked for.
  virtual bool unasked() const noexcept = 0;
  /// Gives those that have come. They come no later than the byte behind which the peer passed them.
  virtual Descriptors take() noexcept = 0;
  /// Passes `descriptors`, all together, with the byte that is sent behind the next `ahead` ones; they are
  /// closed on this side then. Those that were to be passed before and have not left are closed and go with
  /// nothing.
  virtual void pass(Descriptors descriptors, std::size_t ahead) noexcept = 0;

 protected:
  ~DescriptorPassing() = default;
};

}  // namespace weft::detail
