// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace weft::detail {

/// Number of forks behind this process. A child counts itself before it has a second thread.
extern std::uint32_t forks_behind;
/// Mark of the process that something was made in. What a child of fork inherits are copies, but behind the
/// descriptors is what the parent still uses: a child closes them and does nothing else with them. To ask
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
