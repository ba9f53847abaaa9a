// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <new>
#include <string>
#include <utility>

#include "weft/detail/transport/base_secret.hpp"
#include "weft/detail/transport/carrier.hpp"
#include "weft/detail/transport/identity.hpp"

namespace weft::detail {

class DescriptorPassing;

/// Carrier that connections begin on: it knows both ends and who is there, and stays beside the
/// carrier that takes over from it.
class BaseCarrier : public Carrier {
 public:
  /// Both ends as URLs, for people: "tcp://127.0.0.1:4242".
  virtual std::string local_endpoint() const { return {}; }
  virtual std::string remote_endpoint() const { return {}; }

  /// Returns who is at the other end, as far as that was proven: settled before the first byte is received,
  /// and the same to its end.
  Identity peer_identity() const noexcept { return peer_ != nullptr ? *peer_ : Identity{}; }

  /// Returns why no other carrier takes a connection over that began on it, for people; null when that is not
  /// its matter.
  virtual const char* keeps_others_off() const { return nullptr; }

  /// Returns the secret that both ends have, with which another carrier has to prove who is at its end; null
  /// when there is none. Settled before the first byte is received.
  virtual BaseSecret* secret() noexcept { return nullptr; }

  /// Passes descriptors beside the bytes; null where that cannot be.
  virtual DescriptorPassing* descriptor_passing() { return nullptr; }

 protected:
  /// Called once, before the first byte is received. Without memory for it the peer is nobody.
  void set_peer_identity(Identity identity) noexcept {
    if (!identity.is_anonymous()) peer_.reset(new (std::nothrow) const Identity{std::move(identity)});
  }

 private:
  /// Null: nobody. Most connections have none, so it takes a pointer.
  std::unique_ptr<const Identity> peer_;
};

}  // namespace weft::detail
