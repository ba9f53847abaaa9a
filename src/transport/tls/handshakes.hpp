// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
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
  /// It has to give way to a newer one. Out of the list by then.
  virtual void on_pushed_out() noexcept = 0;

 protected:
  ~Handshake() = default;
};

/// Handshakes under way on one loop, the oldest first, of which there may be so many: whoever is silent makes
/// room for whoever comes. Thread: the loop's.
class Handshakes {
 public:
  explicit Handshakes(std::size_t most) noexcept : most_(most) {}

  void enter(Handshake& handshake) noexcept;
  void leave(Handshake& handshake) noexcept;
  std::size_t count() const noexcept { return count_; }

 private:
  const std::size_t most_;
  std::size_t count_ = 0;
  IntrusiveList<Handshake, HandshakeTag> under_way_;
};

/// Finds the Handshakes of each loop of a listener. Thread: any.
class HandshakesByLoop {
 public:
  explicit HandshakesByLoop(std::size_t most) noexcept : most_(most) {}
  /// Throws std::bad_alloc.
  std::shared_ptr<Handshakes> of(Loop& loop);

 private:
  const std::size_t most_;
  std::mutex mutex_;
  std::map<Loop*, std::weak_ptr<Handshakes>> all_;
};

}  // namespace weft::detail::tls
