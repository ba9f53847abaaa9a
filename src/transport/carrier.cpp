// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/transport/carrier.hpp"

#include <string>
#include <system_error>

namespace weft::detail {

Status connection_lost(std::string_view what, std::string_view whom, int error) noexcept {
  const auto text = [&] {
    return std::string{what} + std::string{whom} + ": " + std::generic_category().message(error);
  };
  return {StatusCode::kUnavailable, Layer::kTransport, text, error};
}

}  // namespace weft::detail
