// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/transport/stream_filter.hpp"

#include <utility>

namespace weft::detail {

Result<std::unique_ptr<Connection>> make_connection(Loop& loop, const ConnectionOptions& options,
                                                    std::unique_ptr<BaseCarrier> stream) {
  if (options.filter != nullptr) {
    Result<std::unique_ptr<BaseCarrier>> filtered = options.filter->over(loop, std::move(stream));
    if (!filtered.ok()) return std::move(filtered).status();
    stream = *std::move(filtered);
  }
  return std::make_unique<Connection>(loop, options, std::move(stream));
}

}  // namespace weft::detail
