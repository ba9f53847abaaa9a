// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "calls/serve/protocol.hpp"
#include "calls/serve/server_view.hpp"
#include "calls/server/first_bytes.hpp"
#include "calls/server/hold_reports.hpp"
#include "calls/server/peer_place.hpp"
#include "calls/session/session.hpp"
#include "calls/session/session_list.hpp"
#include "weft/detail/base/unique_function.hpp"
#include "weft/detail/calls/server/server_options.hpp"
#include "weft/detail/calls/terms/transports.hpp"

namespace weft::detail {

/// A server's part on one loop: the connections of the peers that were given to it. Thread: its loop's.
class ServerShard final : private SessionOwner,
                          private ServedConnectionOwner,
                          private FirstBytesOwner,
                          private Timer {
 public:
  struct Setup {
    Loop& loop;
    const ServerOptions& options;
    const MethodTable& methods;
    CallWorkers* workers;
    std::shared_ptr<MemoryBudget> memory;
    Logger& logger;
    FaultLog& faults;
    /// Gets this loop's place.
    PeerBoard& peers;
    std::atomic<std::uint64_t>& next_connection_id;
    std::atomic<std::size_t>& connections;
    const ServerView& server;
  };
  explicit ServerShard(const Setup& setup);
  ~ServerShard();

  void adopt(std::unique_ptr<Incoming> incoming) noexcept;

  /// Sends a goaway to every peer, waits at most `grace` for them to leave, then closes the remaining
  /// connections and cancels the running handlers. `stopped` is called once, when no session and no handler
  /// is left. A second call can only shorten the grace; its `stopped` is not called.
  void stop(Duration grace, UniqueFunction<void()> stopped);

  /// Closes every connection at once without a notification, in a child of fork.
  void drop_sessions() noexcept;
  /// Says what may hold the loop up now. Thread: any. Throws std::bad_alloc.
  std::string suspects_now() const { return holds_.suspects_now(); }
  /// Adds this shard's counts to `stats`, which has an entry for each method. Any thread.
  void count(ServerStats& stats) const;
  /// Appends this shard's samples of calls. Any thread. Throws std::bad_alloc.
  void samples_to(ServedCallSamples& samples) const;

 private:
  struct Reaper : Ready {
    explicit Reaper(ServerShard& owner) : Ready(&run), shard(owner) {}
    static void run(Ready* node) noexcept { static_cast<Reaper*>(node)->shard.destroy_ended(); }
    ServerShard& shard;
  };

  void on_session_ready(Session& session) override;
  void on_session_goaway(Session& session) override;
  void on_session_room(Session& session) override;
  void on_session_closed(Session& session, const Status& why) override;
  void on_connection_closed(ServedConnection& connection, const Status& why) override;
  void on_protocol(FirstBytes& first, const Protocol* protocol) override;
  void on_no_protocol(FirstBytes& first, const Status& why) override;
  void on_timer() override;

  void begin(Incoming& incoming);
  void begin_session(std::unique_ptr<BaseCarrier> carrier, const ConnectionOptions& options, Bytes received);
  void begin_other(const Protocol& protocol, std::unique_ptr<BaseCarrier> carrier, Bytes received);
  /// A connection was given up before it had an owner that reports its end.
  void lost_before_begin(const Status& why) noexcept;
  bool has_connections() const noexcept;
  /// Calls a user hook; an exception of it ends the connection.
  void tell(PeerVisit& hook, Session& session) noexcept;
  void reap();
  void destroy_ended();
  void check_stopped();
  void shorten_grace(TimePoint ends);
  void end_by_force();
  void report_held_calls();
  /// `endpoint()` returns the URL of the peer.
  template <typename Endpoint>
  void log_end(Endpoint endpoint, const Status& why) noexcept;

  Setup setup_;
  CallsHost host_;
  HoldReports holds_;
  SessionList sessions_;
  SessionList graveyard_;
  /// Connections of other protocols; owned.
  IntrusiveList<ServedConnection, ServedConnectionTag> others_;
  /// Connections of other protocols that have ended; owned.
  IntrusiveList<ServedConnection, ServedConnectionTag> ended_others_;
  /// Connections of an unknown protocol; owned.
  IntrusiveList<FirstBytes, FirstBytesTag> undecided_;
  /// Former members of undecided_, which wait to be destroyed; owned.
  IntrusiveList<FirstBytes, FirstBytesTag> decided_;
  /// ServedConnectionSetup::loop_state of each of ServerOptions::protocols.
  std::vector<std::shared_ptr<void>> protocol_states_;
  const std::shared_ptr<PeerPlace> place_;
  Reaper reaper_{*this};
  UniqueFunction<void()> stopped_;
  bool stopping_ = false;
  bool forced_ = false;
  TimePoint grace_ends_{};
};

}  // namespace weft::detail
