// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "weft/detail/base/intrusive_list.hpp"

namespace weft {
class Loop;
}  // namespace weft

namespace weft::detail::tls {

struct HandshakeTag;

/// A server's handshake that is under way.
class Handshake : public ListHook<HandshakeTag> {
 public:
  /// `address` is the peer's, see address_key().
  explicit Handshake(std::uint64_t address) noexcept : address_(address) {}
  std::uint64_t address() const noexcept { return address_; }
  /// It has to give way to a newer one. Out of the list by then.
  virtual void on_pushed_out() noexcept = 0;

 protected:
  ~Handshake() = default;

 private:
  const std::uint64_t address_;
};

/// Limits of handshakes under way on one loop: of all, and of one address.
struct HandshakeBounds {
  std::size_t all;
  std::size_t of_address;
};

/// Bounded list of the handshakes under way on one loop, the oldest first: a silent peer makes room for a new
/// one. An address with more than its share makes room for itself. Thread: the loop's.
class Handshakes {
 public:
  explicit Handshakes(HandshakeBounds most) noexcept : most_(most) {}

  void enter(Handshake& handshake) noexcept;
  void leave(Handshake& handshake) noexcept;
  std::size_t count() const noexcept { return count_; }

 private:
  const HandshakeBounds most_;
  std::size_t count_ = 0;
  IntrusiveList<Handshake, HandshakeTag> under_way_;
};

/// Finds the Handshakes of each loop of a listener. Thread: any.
class HandshakesByLoop {
 public:
  explicit HandshakesByLoop(HandshakeBounds most) noexcept : most_(most) {}
  /// Throws std::bad_alloc.
  std::shared_ptr<Handshakes> of(Loop& loop);

 private:
  const HandshakeBounds most_;
  std::mutex mutex_;
  std::map<Loop*, std::weak_ptr<Handshakes>> all_;
};

}  // namespace weft::detail::tls
