// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/base/counter.hpp"

namespace weft::detail {

/// Counts what one connection receives. Changed on its loop, read on any thread.
struct ReceiveCounters {
  Counter bytes;
  Counter frames;
  Counter receives;
};

/// Counts what one connection sends. Changed on its loop, read on any thread.
struct SendCounters {
  Counter bytes;
  Counter frames;
  Counter sends;
};

}  // namespace weft::detail
