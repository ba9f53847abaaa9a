// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/transport/stream_filter.hpp"

#include <utility>

namespace weft::detail {

Result<std::unique_ptr<Connection>> make_connection(Loop& loop, const ConnectionOptions& options,
                                                    std::unique_ptr<BaseCarrier> base) {
  if (options.filter != nullptr) {
    Result<std::unique_ptr<BaseCarrier>> filtered = options.filter->over(loop, std::move(base));
    if (!filtered.ok()) return std::move(filtered).status();
    base = *std::move(filtered);
  }
  return std::make_unique<Connection>(loop, options, std::move(base));
}

}  // namespace weft::detail
