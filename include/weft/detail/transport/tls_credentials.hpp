// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "weft/detail/base/status.hpp"
#include "weft/detail/transport/tls.hpp"
#include "weft/detail/transport/tls_stats.hpp"

namespace weft {

namespace detail::tls {
class Credentials;
}  // namespace detail::tls

/// Certificates, keys and CAs of TlsOptions, which are read again while connections go on: a handshake takes
/// those that are there when it begins, and a connection keeps them. One object may be given to several
/// servers and clients. Thread: any.
class TlsCredentials {
 public:
  explicit TlsCredentials(TlsOptions options);
  ~TlsCredentials();

  /// Reads all files again, changed or not. Sessions from before it are not resumed. When anything is not
  /// good nothing changes, and the status names the option; it says ok when nothing was read before. Blocks
  /// for as long as reading takes.
  Status reload();
  TlsStats stats() const noexcept;

 private:
  friend std::unique_ptr<detail::Transport> detail::make_tls_transport(
      std::unique_ptr<detail::Transport> base, std::shared_ptr<TlsCredentials> credentials);
  const std::shared_ptr<detail::tls::Credentials> state_;
};

}  // namespace weft
