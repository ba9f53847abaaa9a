// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "weft/detail/base/status.hpp"
#include "weft/detail/calls/call/call_target.hpp"

namespace weft::detail {

class PeerIndex;
struct PeerWaiting;
class CallsOut;
class SessionLink;

/// Target of calls to the peer of one connection, on the side that accepted the connection as well. Created
/// on first use, shared by the session and everyone who may call later. It ends with the connection: later
/// calls are refused on any thread, even after the loop has ended. Thread: the loop's, except where stated;
/// destroyed on any.
class PeerTarget final : public CallTarget {
 public:
  /// Returns a new target that begins its calls with `calls`. Throws std::bad_alloc.
  static std::shared_ptr<PeerTarget> of(CallsOut& calls, Duration timeout, std::shared_ptr<PeerIndex> index);
  /// Returns a target that has ended, for use after the connection has ended. Throws std::bad_alloc.
  static std::shared_ptr<PeerTarget> gone(Loop& loop, std::uint64_t connection_id);

  PeerTarget(Loop& loop, Duration timeout, std::uint64_t connection_id);
  ~PeerTarget();
  PeerTarget(const PeerTarget&) = delete;
  PeerTarget& operator=(const PeerTarget&) = delete;

  void withdraw(PendingCall& call) noexcept override;
  Status why_over() const noexcept override;

  /// The session may have room for a call again.
  void on_room();
  /// The session has ended; waiting calls fail.
  void end() noexcept;

  /// Null when the connection has ended.
  SessionLink* link() const noexcept;
  /// Thread: any.
  std::uint64_t connection_id() const noexcept { return connection_id_; }
  /// Endpoint of the peer, even after it is gone. Thread: any.
  const std::string& remote_endpoint() const noexcept { return remote_endpoint_; }
  const std::string& tag() const noexcept { return tag_; }
  /// Throws std::bad_alloc, and leaves the tag unchanged then.
  void set_tag(std::string_view tag);

 private:
  Begun begin_without_session(PendingCall& call, std::size_t body_bytes) override;
  Begun begin_on_session(PendingCall& call, std::size_t body_bytes);
  bool takes_calls() const;
  bool has_room() const;

  CallsOut* calls_ = nullptr;
  const std::uint64_t connection_id_;
  std::string remote_endpoint_;
  std::string tag_;
  /// Peers of the loop by their tags; null on a client.
  std::shared_ptr<PeerIndex> index_;
  std::unique_ptr<PeerWaiting> waiting_;
};

}  // namespace weft::detail
