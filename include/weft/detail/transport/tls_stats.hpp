// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace weft {

/// Numbers of the handshakes of both sides that were made with one TlsCredentials, and of its files.
struct TlsStats {
  std::uint64_t handshakes = 0;  ///< done
  std::uint64_t resumed = 0;     ///< of these, without certificates
  std::uint64_t plain = 0;       ///< peers without TLS that were served, see TlsOptions::plain_too

  // Handshakes that failed, by reason.
  std::uint64_t not_tls = 0;               ///< the first byte was not a TLS record's
  std::uint64_t certificates_refused = 0;  ///< by either side
  std::uint64_t nothing_common = 0;        ///< no common version, cipher or protocol
  std::uint64_t broken = 0;                ///< the peer did not keep to TLS
  std::uint64_t lost = 0;                  ///< the byte stream ended
  std::uint64_t late = 0;                  ///< see TlsOptions::handshake_timeout
  std::uint64_t pushed_out = 0;            ///< see TlsOptions::handshakes_max
  std::uint64_t over_rate = 0;             ///< see TlsOptions::handshake_rate
  std::uint64_t out_of_memory = 0;

  std::uint64_t reloads = 0;         ///< the files were read again
  std::uint64_t reloads_failed = 0;  ///< they were not good, and the last good ones stayed
};

}  // namespace weft
