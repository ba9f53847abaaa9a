// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "weft/detail/calls/server/broadcast.hpp"
#include "weft/detail/calls/server/broadcast_options.hpp"
#include "weft/detail/calls/server/peer_board.hpp"
#include "weft/detail/calls/threads/call_errand.hpp"
#include "weft/detail/functions/call.hpp"
#include "weft/detail/functions/named_first.hpp"
#include "weft/detail/functions/peer.hpp"

namespace weft {

/// The connected peers of a server: what `server.peers()` gives. May be copied, kept and used by any thread
/// once the server was started; it is empty when the server has ended. Calls to peers pay nothing for it.
class Peers {
 public:
  explicit Peers(std::shared_ptr<detail::PeerBoard> board) noexcept : board_(std::move(board)) {}

  /// Returns the number of peers after their hello and before their end, as far as this thread knows.
  std::size_t count() const noexcept { return board_->count(); }

  /// Returns the peers that have `tag` (Peer::set_tag()), on all loops. On another loop than the peer's it is
  /// called by on_loop_of(peer), or blocking(peer). Throws std::bad_alloc.
  std::vector<Peer> find(std::string_view tag) const {
    std::vector<Peer> found;
    for (auto& target : board_->find(tag)) found.emplace_back(std::move(target));
    return found;
  }

  /// Calls `visit(Peer)` on each peer of the loop in whose turn this is, now; elsewhere on none. `visit` may
  /// keep the handle, and start calls. Throws std::bad_alloc, and what `visit` throws.
  template <typename Visit>
  void for_each_here(Visit&& visit) const {
    board_->for_each_here(
        [&visit](const std::shared_ptr<detail::PeerTarget>& target) { visit(Peer{target}); });
  }
  /// The same on each loop of the server, soon, each with a copy of `visit`, which must not throw. Returns at
  /// once. Throws std::bad_alloc.
  template <typename Visit>
  void for_each(const Visit& visit) const {
    board_->on_each_loop([&] { return std::make_unique<VisitWork<Visit>>(board_, visit); });
  }

  /// Calls a function of all peers, or of those with a tag: `Result<BroadcastOutcome> outcome = co_await
  /// server.peers().broadcast<f>(x);`, in a coroutine of any loop. The arguments are encoded once, now.
  /// BroadcastOptions, if any, come first. A peer that is behind by their rule is left out, or closed. A slow
  /// peer delays the outcome by the timeout at most, and not again before it answers anything: see
  /// BroadcastOutcome::silent. Results of the function are not read. Cancel: at once; sent requests are not
  /// taken back. Errors: the failure of encoding, kCancelled, kDeadlineExceeded, kResourceExhausted without
  /// memory.
  template <auto M, typename... Given>
    requires(!detail::broadcast_options_first<Given...>)
  detail::BroadcastAwaiter broadcast(Given&&... arguments) const {
    return make_broadcast<M>(BroadcastOptions{}, std::forward<Given>(arguments)...);
  }
  template <auto M, typename... Given>
  detail::BroadcastAwaiter broadcast(const BroadcastOptions& options, Given&&... arguments) const {
    return make_broadcast<M>(options, std::forward<Given>(arguments)...);
  }

 private:
  template <typename Visit>
  class VisitWork final : public detail::PeerWork {
   public:
    VisitWork(std::shared_ptr<detail::PeerBoard> board, const Visit& visit)
        : board_(std::move(board)), visit_(visit) {}
    void run(detail::PeerPlace&) override {
      board_->for_each_here(
          [this](const std::shared_ptr<detail::PeerTarget>& target) { visit_(Peer{target}); });
    }

   private:
    std::shared_ptr<detail::PeerBoard> board_;
    Visit visit_;
  };

  template <auto M, typename... Given>
  detail::BroadcastAwaiter make_broadcast(const BroadcastOptions& options, Given&&... arguments) const {
    static_assert(!detail::has_items<detail::MethodTraits<M>>,
                  "weft cannot make this broadcast: the function is a stream, for it takes a Reader or a "
                  "Writer or returns a Stream; open one with each peer: auto stream = "
                  "peer.open<f>(arguments...)");
    detail::refuse_what_dies_twice<Given...>();
    if constexpr (detail::CallableWith<M, Given...>) {
      Status failure;
      std::shared_ptr<detail::Broadcast> made =
          encode<M>(options, failure, std::forward<Given>(arguments)...);
      return {board_, std::move(made), std::move(failure)};
    } else {
      detail::explain_arguments(typename detail::MethodTraits<M>::Arguments{}, detail::TypeList<Given...>{});
      return {nullptr, nullptr, {}};
    }
  }

  template <auto M, typename... Given>
  static std::shared_ptr<detail::Broadcast> encode(const BroadcastOptions& options, Status& failure,
                                                   Given&&... arguments) noexcept {
    try {
      typename detail::KeptArguments<typename detail::MethodTraits<M>::Arguments, Given...>::Tuple kept{
          std::forward<Given>(arguments)...};
      return std::apply(
          [&](const auto&... values) -> std::shared_ptr<detail::Broadcast> {
            const std::size_t bytes = detail::encoded_size(values...);
            if (bytes == detail::kUnencodable) {
              failure = detail::unencodable_failure();
              return nullptr;
            }
            std::vector<std::byte> body(bytes);
            detail::encode_to(body.data(), bytes, values...);
            return std::make_shared<detail::Broadcast>(detail::method_key<M>, options, std::move(body));
          },
          kept);
    } catch (...) {  // a hook of the user's, or no memory
      failure = detail::failure_of_encoding();
      return nullptr;
    }
  }

  std::shared_ptr<detail::PeerBoard> board_;
};

}  // namespace weft
