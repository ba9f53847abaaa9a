// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "weft/detail/base/status.hpp"
#include "weft/detail/calls/call_target.hpp"

namespace weft::detail {

class PeerIndex;
struct PeerWaiting;
class Session;

/// Place where calls to the peer of one connection are begun, in the direction in which the peer did not ask
/// for the connection as well. Made for the first who asks, kept by the session and by everybody who may call
/// later, and over when the connection is: calls are refused then, on any thread, whatever became of the
/// loop. Thread: the loop's, but for what says otherwise; destroyed on any.
class PeerTarget final : public CallTarget {
 public:
  /// Returns the target of `session`, which keeps it. Throws std::bad_alloc.
  static const std::shared_ptr<PeerTarget>& of(Session& session);
  /// Returns one that is over, for who asks when the connection has ended. Throws std::bad_alloc.
  static std::shared_ptr<PeerTarget> gone(Loop& loop, std::uint64_t connection_id);

  PeerTarget(Loop& loop, Duration timeout, std::uint64_t connection_id);
  ~PeerTarget();
  PeerTarget(const PeerTarget&) = delete;
  PeerTarget& operator=(const PeerTarget&) = delete;

  void withdraw(PendingCall& call) noexcept override;
  Status why_over() const noexcept override;

  /// The session says that a call may be sent again, perhaps.
  void on_room();
  /// The session is over; what waits fails.
  void end() noexcept;

  /// Null when the connection has ended.
  Session* session() const noexcept { return session_; }
  /// Thread: any.
  std::uint64_t connection_id() const noexcept { return connection_id_; }
  /// Endpoint of the peer, also when it is gone. Thread: any.
  const std::string& remote_endpoint() const noexcept { return remote_endpoint_; }
  const std::string& tag() const noexcept { return tag_; }
  /// Throws std::bad_alloc, and the tag is what it was then.
  void set_tag(std::string_view tag);

 private:
  Begun begin_without_session(PendingCall& call, std::size_t body_bytes) override;
  void choose_open_session();
  bool takes_calls() const;
  bool has_room() const;

  Session* session_ = nullptr;
  const std::uint64_t connection_id_;
  std::string remote_endpoint_;
  std::string tag_;
  /// Peers of the loop by their tags; null on a client.
  std::shared_ptr<PeerIndex> index_;
  std::unique_ptr<PeerWaiting> waiting_;
};

}  // namespace weft::detail
