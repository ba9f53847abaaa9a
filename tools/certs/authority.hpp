// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "weft/detail/base/result.hpp"

namespace weft::certs {

/// Certificates that are wanted.
struct Options {
  std::string folder{};
  /// Names and IP addresses of a server. Empty: those of the certificate that is there, else localhost,
  /// 127.0.0.1 and ::1.
  std::vector<std::string> hosts{};
  /// Clients; each gets a certificate of its own, and the name of its files. Empty: one, "client"; none when
  /// some are revoked.
  std::vector<std::string> clients{};
  /// Path of a SPIFFE id that clients get before their name: spiffe://DOMAIN/NAME. Empty: none.
  std::string spiffe_domain{};
  /// Clients whose certificates are revoked.
  std::vector<std::string> revoked{};
  unsigned days = 30;
};

/// Makes a CA in the folder, if there is none, and certificates of it; returns the names of the files that
/// were written. Keys are readable by their owner only. Blocks. Errors: kInvalidArgument for a name that
/// cannot be; errno of files; kUnimplemented in a build without OpenSSL.
Result<std::vector<std::string>> blocking_make(const Options& options);

}  // namespace weft::certs
