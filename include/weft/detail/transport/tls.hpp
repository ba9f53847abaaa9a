// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/detail/base/log.hpp"
#include "weft/detail/base/secret.hpp"
#include "weft/detail/base/time.hpp"
#include "weft/detail/limits/rate.hpp"
#include "weft/detail/transport/transport.hpp"

namespace weft {

class TlsCredentials;

/// A certificate and its private key, each from a file or from memory (PEM). The chain begins with the
/// certificate itself, and the CAs between it and the root follow. The key has no password.
struct TlsCertificate {
  // The key's text leaves nothing behind. There is no move, so each copy does this.
  ~TlsCertificate() { detail::wipe_memory(key_pem.data(), key_pem.size()); }

  std::string chain_file{};
  std::string key_file{};
  /// Texts in place of the files.
  std::string chain_pem{};
  std::string key_pem{};
};

/// Says how a server treats certificates of its clients.
enum class TlsClients : std::uint8_t {
  kNotAsked,  ///< clients stay anonymous
  kAsked,     ///< a certificate that a client has is checked; a client may have none
  kRequired,  ///< mutual TLS: a client without a certificate is refused
};

enum class TlsVersion : std::uint8_t { k12, k13 };

/// Encryption of tls:// connections, and the trust in their peers. The files are read for the first listener,
/// or the first connection, and again when they have changed.
struct TlsOptions {
  /// This side's. A server needs at least one; of several it shows the first that is made out for the name
  /// that a client asks for, else the first of all. A client shows the first when it is asked.
  std::vector<TlsCertificate> certificates{};
  /// The CAs that are believed, as a file or in memory (PEM). When both are empty a client believes those of
  /// the system, and a server cannot ask for certificates of clients.
  std::string ca_file{};
  std::string ca_pem{};
  /// Lists of certificates that their CAs have revoked (CRL), as a file or in memory (PEM). Where there are
  /// any, each CA of a peer's chain needs one that is not out of date, or the peer is refused.
  std::string crl_file{};
  std::string crl_pem{};
  /// A handshake that begins this long after the last look at the files looks at them again, and reads them
  /// if they have changed: on its loop, for a few milliseconds. Files written in place are read once two
  /// looks find the same. Files that are not good, a certificate that has expired among them, are logged,
  /// counted and shown by TlsCredentials::last_failure(), and the last good ones stay. Zero: each handshake
  /// looks; kNoTimeout: none does, see TlsCredentials::reload().
  Duration reload_interval = std::chrono::seconds{10};
  TlsClients clients = TlsClients::kNotAsked;
  /// The name, or IP address, that a server's certificate has to be made out for, when that is not the host
  /// of the URL.
  std::string server_name{};
  /// A client trusts any certificate, and so any server. For experiments only.
  bool insecure = false;
  /// The lowest version that is spoken.
  TlsVersion version_min = TlsVersion::k13;
  /// Protocols that are offered and accepted by ALPN, in this order. A peer that names none is served; one
  /// that names others is not.
  std::vector<std::string> alpn{"weft"};
  /// The longest that a session may be resumed, which spares both sides the certificates; the keys of a
  /// server's tickets change as often, and when files are read again. Zero: none is resumed. It is at most a
  /// week.
  Duration session_lifetime = std::chrono::hours{1};
  /// The most sessions that a client keeps for each server. Each is used once.
  std::size_t sessions_max = 8;
  /// A server's port serves clients without TLS too, recognised by their first byte. These are treated like
  /// clients of tcp://: not encrypted, and anonymous. Not allowed with TlsClients::kRequired.
  bool plain_too = false;
  /// The longest that a handshake may take.
  Duration handshake_timeout = std::chrono::seconds{10};
  /// The most handshakes that are under way on each loop of a server: the oldest gives way to a new one.
  /// Above zero.
  std::size_t handshakes_max = 1024;
  /// Share of an address, or of a 64-bit network of IPv6: when there is no room, an address with this many
  /// handshakes loses its own oldest one, not another address's. Above zero.
  std::size_t handshakes_of_address_max = 256;
  /// Rates of accepted connections: from all addresses, and from one. Connections beyond them are closed
  /// without an answer.
  std::optional<Rate> handshake_rate{};
  std::optional<Rate> handshake_rate_of_address{};
  /// Receives faults of files, and refused connections above the rates, the latter at most once a second.
  /// Must outlive the transport, its listeners and connections.
  Logger* logger = &stderr_logger();
};

namespace detail {

/// The transport of tls://host:port: TLS over the tcp:// of `base`. A certificate is checked for its chain,
/// its time, its purpose, and a server's for the host of the URL as well. The handshake comes before
/// anything else; a connection fails with kUnauthenticated when the peer's certificate is not good or this
/// side's is not good enough for it, and with kUnavailable when the byte stream ended without TLS's own end.
///
/// Errors of listen() and connect() beside those of `base`: kInvalidArgument, which names the option of
/// TlsOptions that cannot be; kResourceExhausted.
std::unique_ptr<Transport> make_tls_transport(std::unique_ptr<Transport> base, TlsOptions options = {});
/// The same with credentials that others may have too.
std::unique_ptr<Transport> make_tls_transport(std::unique_ptr<Transport> base,
                                              std::shared_ptr<TlsCredentials> credentials);

}  // namespace detail

}  // namespace weft
