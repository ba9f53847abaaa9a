// SPDX-License-Identifier: Apache-2.0
#include "transport/tls/spare_buffers.hpp"

#include <utility>

#include "transport/tls/openssl.hpp"
#include "weft/detail/runtime/loop.hpp"

namespace weft::detail::tls {

namespace {

constexpr Duration kRestAfter = std::chrono::seconds{1};

}  // namespace

void SpareBuffers::arm() noexcept {
  loop_.arm(*this, loop_.now() + kRestAfter);
}

// Buffers with a record in them stay.
void SpareBuffers::on_timer() {
  if (std::exchange(used_, false)) return arm();
  SSL_free_buffers(&ssl_);
}

}  // namespace weft::detail::tls
