// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "weft/detail/base/result.hpp"
#include "weft/detail/transport/base_carrier.hpp"
#include "weft/detail/transport/connection.hpp"

namespace weft {
class Loop;
}  // namespace weft

namespace weft::detail {

/// Lays a carrier over the one that a connection begins on: all bytes go through it, encrypted for one.
/// Thread: any, and several at a time.
class StreamFilter {
 public:
  virtual ~StreamFilter() = default;
  /// Returns the carrier that replaces `base` and takes ownership of it. `base` has no owner yet, and never
  /// returns kBegun. Thread: the loop's. Errors: kResourceExhausted without memory.
  virtual Result<std::unique_ptr<BaseCarrier>> over(Loop& loop, std::unique_ptr<BaseCarrier> base) const = 0;
};

/// Makes a connection over `base`, with the filter of `options` between them. Errors: the filter's.
Result<std::unique_ptr<Connection>> make_connection(Loop& loop, const ConnectionOptions& options,
                                                    std::unique_ptr<BaseCarrier> base);

}  // namespace weft::detail
