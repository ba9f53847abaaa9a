// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "weft/detail/base/lent_runs.hpp"
#include "weft/detail/calls/terms/exchange.hpp"

namespace weft::detail {

/// An exchange that begins with a request whose body it writes, at once or when there is a connection.
class RequestExchange : public Exchange {
 protected:
  ~RequestExchange() = default;

  virtual std::size_t body_bytes() const = 0;
  virtual void encode_body(std::byte* to) const = 0;
  /// Offers `runs` the long runs of the body that stay unchanged where they are until the exchange has ended.
  virtual void find_runs(LentRuns& runs) const { static_cast<void>(runs); }
  /// Writes the body without `runs`, and sets their places. Called only if find_runs() offered some.
  virtual void encode_around(std::byte* to, LentRuns& runs) const {
    static_cast<void>(runs);
    encode_body(to);
  }
};

}  // namespace weft::detail
