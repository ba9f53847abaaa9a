// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "weft/detail/base/descriptor.hpp"
#include "weft/detail/base/status.hpp"
#include "weft/detail/transport/carrier.hpp"
#include "weft/detail/transport/identity.hpp"

namespace weft::detail {

/// Receives the progress of an end that comes up, and the events of its carrier until that has another owner.
/// Called in turns of the loop, never from inside a call to the end, and not after CarrierEnd::shut().
class CarrierEndOwner : public CarrierOwner {
 public:
  /// This end is ready to receive, after a connect() that left it connecting().
  virtual void on_connected() {}
  /// Called when the first message of the peer arrives: the path from the peer works.
  virtual void on_heard() = 0;
  /// Returns where the base carrier leads that this side connected, as a URL; empty when the peer connected
  /// it.
  virtual std::string connected_to() const { return {}; }
  /// Returns the identity of the peer, as the base carrier proves it.
  virtual Identity peer_identity() const { return {}; }

 protected:
  ~CarrierEndOwner() = default;
};

/// One end of another way to the peer than the base carrier, while it is brought up. Belongs to one loop.
///
///   made --connect()--> probing --on_heard()--> up --shut()--> shut
///
/// It stays until the connection ends; once it is up the bytes are its carrier's, mostly the same object.
class CarrierEnd {
 public:
  CarrierEnd() = default;
  CarrierEnd(const CarrierEnd&) = delete;
  CarrierEnd& operator=(const CarrierEnd&) = delete;
  /// Shuts it if that was not done.
  virtual ~CarrierEnd() = default;

  /// Knows its address from the beginning. Otherwise it does once it is connected; only at the side that the
  /// peer connected to, so that one of the two can begin.
  virtual bool has_address() const { return true; }
  /// Tells the peer how to reach this end; at most wire::kCarrierTextMax bytes. When it has one.
  virtual std::string address() const = 0;
  /// Gives the descriptors that the peer's end needs; passed beside the address. Once, behind address().
  virtual Descriptors descriptors() { return {}; }
  /// Takes the descriptors that came with the peer's address; called once, before connect(). Errors: they are
  /// not the expected ones.
  virtual Status take_descriptors(Descriptors theirs) {
    static_cast<void>(theirs);
    return {};
  }
  /// Begins to connect to the peer. Bytes may be sent to it from then on, except with needs_peer_ready().
  virtual Status connect(std::string_view peer_address) = 0;
  /// connect() went well and takes longer: on_connected() follows, or on_failed(). If such an end also has no
  /// address yet, it waits for room on this side, and the time limit of the peer begins when it is connected.
  virtual bool connecting() const { return false; }
  /// Returns true if bytes sent before the peer's end is connected are lost: connect() then only prepares to
  /// receive, each side notifies the other when it is ready, and on_peer_ready() allows sending.
  virtual bool needs_peer_ready() const { return false; }
  virtual void on_peer_ready() {}

  /// Moves the bytes. Once it is up.
  virtual Carrier& carrier() = 0;

  /// Ends it and its carrier at once. All memory lent to it is free afterwards, and its owner is not notified
  /// any more.
  virtual void shut() = 0;
};

}  // namespace weft::detail
