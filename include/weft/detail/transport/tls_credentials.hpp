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

/// Certificates, keys and CAs of TlsOptions, which are read again while connections go on: a handshake uses
/// the current ones at its beginning, and a connection keeps them. One object may be shared by several
/// servers and clients. Thread: any.
class TlsCredentials {
 public:
  explicit TlsCredentials(TlsOptions options);
  ~TlsCredentials();

  /// Reads all files again, changed or not. Sessions from before are not resumed. Nothing changes when a file
  /// cannot be read, is cut, does not fit its key, or holds a certificate, CA or list of revoked certificates
  /// that is not valid now while the one in use is; the status names the option. Ok when nothing was read
  /// before. Blocks while the files are read.
  Status reload();
  /// Returns why the files that were read last, by reload() or by a handshake, are not in use; ok when they
  /// are.
  Status last_failure() const noexcept;
  TlsStats stats() const noexcept;

 private:
  friend std::unique_ptr<detail::Transport> detail::make_tls_transport(
      std::unique_ptr<detail::Transport> base, std::shared_ptr<TlsCredentials> credentials);
  const std::shared_ptr<detail::tls::Credentials> state_;
};

}  // namespace weft
