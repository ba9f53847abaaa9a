// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/detail/base/assert.hpp"
#include "weft/detail/base/unique_function.hpp"

namespace weft::detail {

class MemoryBudget;
class PeerPlace;
class PeerTarget;

using PeerVisit = UniqueFunction<void(const std::shared_ptr<PeerTarget>&)>;

/// Work for one loop's peers, handed over by another thread: run() there, or destroyed without it when that
/// loop has ended.
class PeerWork {
 public:
  virtual ~PeerWork() = default;
  virtual void run(PeerPlace& place) = 0;
};

/// The connected peers of a server, by its loops; used by Peers. Shared by its users, and empty once the
/// server has ended. Thread: any, except where stated.
class PeerBoard {
 public:
  PeerBoard() = default;
  ~PeerBoard();
  PeerBoard(const PeerBoard&) = delete;
  PeerBoard& operator=(const PeerBoard&) = delete;

  std::size_t count() const noexcept;
  /// Returns the budget that pays for requests to peers; null before the server has started.
  std::shared_ptr<MemoryBudget> memory() const noexcept;
  /// Throws std::bad_alloc.
  std::vector<std::shared_ptr<PeerTarget>> find(std::string_view tag) const;
  /// Calls `visit` on each peer of the loop in whose turn this is; none elsewhere. Throws std::bad_alloc, and
  /// what `visit` throws.
  void for_each_here(PeerVisit visit) const;
  /// Hands what `make()` returns, a std::unique_ptr<PeerWork>, to each loop. Throws std::bad_alloc; the loops
  /// that come later have none then.
  template <typename Make>
  void on_each_loop(Make make) const {
    for (const auto& place : places_) send(place, make());
  }

  /// Called before the server serves. Thread: the one that makes the server.
  void add(std::shared_ptr<PeerPlace> place) { places_.push_back(std::move(place)); }
  void forget_places() { places_.clear(); }
  /// Sets the callbacks for a connected peer, and for a disconnected one, on its loop.
  void set_hooks(PeerVisit connected, PeerVisit gone) {
    WEFT_ASSERT(places_.empty(), "say on_peers() before start()");
    connected_ = std::move(connected);
    gone_ = std::move(gone);
  }
  /// Empty: none. Thread: that of the peer's loop.
  PeerVisit& connected() { return connected_; }
  PeerVisit& gone() { return gone_; }

 private:
  static void send(const std::shared_ptr<PeerPlace>& place, std::unique_ptr<PeerWork> work);

  std::vector<std::shared_ptr<PeerPlace>> places_;
  PeerVisit connected_;
  PeerVisit gone_;
};

}  // namespace weft::detail
