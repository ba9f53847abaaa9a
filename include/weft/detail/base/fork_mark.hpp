// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace weft::detail {

/// Number of forks behind this process. A child counts itself before it has a second thread.
extern std::uint32_t forks_behind;
/// Identifies the process in which an object was made. A child of fork inherits copies of the object, but
/// descriptors in it refer to objects that the parent still uses: a child must only close them. The check
/// costs one comparison.
class ForkMark {
 public:
  ForkMark() noexcept;
  /// This process is a child, by fork, of the one that this was made in.
  bool in_child() const noexcept { return made_behind_ != detail::forks_behind; }

 private:
  std::uint32_t made_behind_;
};

}  // namespace weft::detail
