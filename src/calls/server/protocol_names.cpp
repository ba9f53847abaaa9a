// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/calls/server/protocol_names.hpp"

#include <algorithm>

#include "calls/serve/protocol.hpp"

namespace weft::detail {

void add_protocol_names(const ServerOptions& options, std::vector<std::string>& names) {
  if (names.empty()) return;
  for (const auto& protocol : options.protocols) {
    if (protocol == nullptr) continue;  // start() refuses it
    if (std::find(names.begin(), names.end(), protocol->name()) == names.end()) {
      names.emplace_back(protocol->name());
    }
  }
}

}  // namespace weft::detail
