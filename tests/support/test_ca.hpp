// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "weft/detail/transport/tls.hpp"

namespace weft::testing {

/// Contents of a certificate that a test wants. Times are in days from now.
struct Wanted {
  std::string name = "test";
  /// Names as OpenSSL writes them: "DNS:localhost,IP:127.0.0.1". Empty: none.
  std::string alternatives = "DNS:localhost,IP:127.0.0.1,IP:::1";
  /// "serverAuth", "clientAuth", both, or empty: no extended key usage.
  std::string purpose = "serverAuth,clientAuth";
  int from_days = -1;
  int to_days = 30;
  /// Names that are written as they are, whatever their bytes: of a host, or, if they hold a colon, a URI. In
  /// place of `alternatives`.
  std::vector<std::string> raw_alternatives{};
  /// An RSA key of so many bits; zero: ECDSA.
  unsigned rsa_bits = 0;
};

/// A CA that lives as long as the test, with keys of its own (ECDSA).
class TestCa {
 public:
  explicit TestCa(const std::string& name = "test CA");
  TestCa(TestCa&&) noexcept;
  ~TestCa();

  /// Its certificate in PEM.
  const std::string& pem() const { return pem_; }
  /// A certificate that it signed, with its key.
  TlsCertificate issue(const Wanted& wanted = {}) const;
  /// Returns a list of what it revoked, in PEM, good for so many days from now.
  std::string crl(const std::vector<TlsCertificate>& revoked, int to_days = 30) const;
  /// A CA that it signed: what that issues comes with the chain.
  TestCa intermediate(const std::string& name) const;
  /// A certificate that signed itself.
  static TlsCertificate self_signed(const Wanted& wanted = {});

 private:
  struct Keys;
  explicit TestCa(std::unique_ptr<Keys> keys);
  std::unique_ptr<Keys> keys_;
  std::string pem_;
  /// The CAs between it and the root, its own certificate first; empty for a root.
  std::string chain_;
};

}  // namespace weft::testing
