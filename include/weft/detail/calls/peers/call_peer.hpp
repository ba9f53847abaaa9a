// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "weft/detail/calls/call/caller.hpp"

namespace weft::detail {

class PeerTarget;

/// Handle of the other side of a connection that this side did not ask for: a server's of a client, or a
/// client's of the server that calls it. Calls go over that one connection, whose memory and limits they
/// share. Copied freely; copies are the same peer. It may outlive the connection, the loop and the server:
/// calls fail with kUnavailable then, and have not run.
///
/// Thread: the connection's loop, as with a client; elsewhere write on_loop_of(peer) or blocking(peer). Made,
/// copied, compared and destroyed anywhere. A call that was made but not awaited yet does not outlive the
/// handle that made it, or a copy.
class CallPeer : public Caller {
 public:
  /// `target` is what CallContext::peer_target() gives; not null.
  explicit CallPeer(std::shared_ptr<PeerTarget> target) noexcept;
  CallPeer(const CallPeer& other) noexcept;
  CallPeer& operator=(const CallPeer& other) noexcept;
  ~CallPeer();

  /// Returns true if the connection has not ended, as far as this thread knows. Thread: any.
  bool connected() const noexcept;
  /// CallContext::connection_id() of its calls. Thread: any.
  std::uint64_t connection_id() const noexcept;
  /// Returns the peer as a URL, also after it is gone; empty for a handle that was made after that. Thread:
  /// any.
  const std::string& remote_endpoint() const noexcept;

  /// Text of the user's by which a server's Peers find it, such as a user name; empty at first. Several peers
  /// may have one tag. A disconnected peer keeps its tag, is not found by it, and gets no other. Throws
  /// std::bad_alloc, with the tag unchanged.
  const std::string& tag() const noexcept;
  void set_tag(std::string_view tag);

  /// Ends the connection soon, and tells the peer `reason` if that can be sent at once. Its calls that are
  /// under way, in both directions, end.
  void close(std::string_view reason);

  friend bool operator==(const CallPeer& a, const CallPeer& b) noexcept {
    return a.peer_ == b.peer_ || a.connection_id() == b.connection_id();
  }

 private:
  std::shared_ptr<PeerTarget> peer_;
};

}  // namespace weft::detail
