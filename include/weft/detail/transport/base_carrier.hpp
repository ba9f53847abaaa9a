// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "weft/detail/transport/base_secret.hpp"
#include "weft/detail/transport/carrier.hpp"
#include "weft/detail/transport/identity.hpp"

namespace weft::detail {

class DescriptorPassing;

/// Carrier on which every connection begins: it knows both endpoints and the peer's identity, and stays
/// beside the carrier that takes over from it.
class BaseCarrier : public Carrier {
 public:
  /// Both ends as URLs, for people: "tcp://127.0.0.1:4242".
  virtual std::string local_endpoint() const { return {}; }
  virtual std::string remote_endpoint() const { return {}; }

  /// Returns the proven identity of the peer: fixed before the first byte is received, and unchanged until
  /// the end.
  Identity peer_identity() const noexcept { return peer_ != nullptr ? *peer_ : Identity{}; }

  /// Returns why no other carrier takes a connection over that began on it, for people; null when that is not
  /// its matter.
  virtual const char* keeps_others_off() const { return nullptr; }

  /// Returns the name of the protocol that both ends agreed on below the bytes (ALPN of TLS); empty when
  /// there is none, or before it is known. May become known before the first byte is received.
  virtual std::string_view agreed_protocol() const noexcept { return {}; }

  /// Returns the secret shared by both ends, with which another carrier proves that it leads to the same
  /// peer; null if there is none. Fixed before the first byte is received.
  virtual BaseSecret* secret() noexcept { return nullptr; }

  /// Passes descriptors beside the bytes; null where that cannot be.
  virtual DescriptorPassing* descriptor_passing() { return nullptr; }

 protected:
  /// Called once, before the first byte is received. Without memory for it the peer stays anonymous.
  void set_peer_identity(Identity identity) noexcept {
    if (!identity.is_anonymous()) peer_.reset(new (std::nothrow) const Identity{std::move(identity)});
  }

 private:
  /// Null for an anonymous peer. A pointer, because most peers are anonymous.
  std::unique_ptr<const Identity> peer_;
};

}  // namespace weft::detail
