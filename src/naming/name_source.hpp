// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string_view>

#include "naming/name_board.hpp"
#include "weft/detail/base/result.hpp"
#include "weft/detail/runtime/loop.hpp"

namespace weft::detail {

/// Tells a board what stands behind a name, until it ends.
class NameSource {
 public:
  virtual ~NameSource() = default;
};

using MadeSource = Result<std::unique_ptr<NameSource>>;

/// Each makes the source of one scheme; `rest` is the name behind the scheme. The board outlives the source.
MadeSource make_static_source(NameBoard& board, std::string_view rest);
MadeSource make_file_source(Loop& loop, NameBoard& board, std::string_view rest);
MadeSource make_dns_source(Loop& loop, NameBoard& board, std::string_view rest);
MadeSource make_etcd_source(Loop& loop, NameBoard& board, std::string_view rest);

}  // namespace weft::detail
