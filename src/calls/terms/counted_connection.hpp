// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/base/intrusive_list.hpp"
#include "weft/detail/transport/connection_stats.hpp"

namespace weft::detail {

struct CountedConnectionTag;

/// A connection of any protocol whose traffic is summed by ConnectionTotals.
class CountedConnection : public ListHook<CountedConnectionTag> {
 public:
  /// Returns the traffic so far. Thread: any, while the connection is in the totals.
  virtual ConnectionStats traffic() const noexcept = 0;

 protected:
  ~CountedConnection() = default;
};

}  // namespace weft::detail
