// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "calls/grpc/grpc_calls.hpp"
#include "calls/grpc/http2_session.hpp"
#include "calls/serve/protocol.hpp"
#include "calls/terms/refusals.hpp"
#include "weft/detail/base/status.hpp"
#include "weft/detail/base/time.hpp"
#include "weft/detail/memory/local_budget.hpp"
#include "weft/detail/runtime/timer.hpp"
#include "weft/detail/transport/byte_connection.hpp"
#include "weft/grpc.hpp"

namespace weft::detail::grpc {

/// One connection of gRPC: the bytes below its session, its time limits and its end.
///
///   kOpen --drain()--> kAnnounced --the peer has heard of it--> kDraining --all calls ended--> kEnding
///     '--close(), the peer's end, or a violation of the protocol-----------------------------> kEnding
///
/// Requests that were on their way are served in kAnnounced, so that a stop loses no call. Thread: its
/// loop's.
class GrpcConnection final : public ServedConnection, private ByteSink, private GrpcLink, private Timer {
 public:
  /// `options` outlives it.
  GrpcConnection(const ServedConnectionSetup& setup, const GrpcOptions& options,
                 std::unique_ptr<BaseCarrier> carrier);
  ~GrpcConnection() override;

  void start(Bytes received) override;
  void drain() override;
  void close(const Status& why) override;
  std::string remote_endpoint() const override { return connection_.remote_endpoint(); }
  ConnectionStats traffic() const noexcept override { return connection_.stats(); }

 private:
  enum class State : std::uint8_t { kOpen, kAnnounced, kDraining, kEnding };

  // The connection reports.
  std::size_t on_bytes(Bytes bytes) override;
  void on_peer_end() override;
  void before_flush() override { send(); }
  void on_drained() override;
  void on_closed(const Status& why) override;
  void on_timer() override;

  // The calls ask.
  Http2Session& session() noexcept override { return session_; }
  ByteConnection& bytes() noexcept override { return connection_; }
  void flush_soon() noexcept override { connection_.flush_soon(); }
  void give_up() noexcept override;
  void on_ended() noexcept override;
  void on_pong(std::uint8_t mark) noexcept override;

  void send();
  Status send_submitted();
  void receive_part(Bytes part);
  /// Ends with `why` if that is a failure.
  void end_if_failed(const Status& why) noexcept;
  void end_if_over();
  void begin_end() noexcept;
  /// Sends pings when nothing arrives, and ends the connection when they are not answered.
  void keep_alive();
  void watch() noexcept;
  /// Counts the memory of the session in that of the server.
  void charge_session() noexcept;

  Loop& loop_;
  ServedConnectionOwner& owner_;
  const RpcLimits& limits_;
  LocalBudget& memory_;
  RefusalCounters& refusals_;
  ByteConnection connection_;
  Http2Session session_;
  GrpcCalls calls_;
  TimePoint last_received_{};
  std::size_t charged_ = 0;
  /// Reason for the end, other than the peer's or the server's wish.
  Status failure_;
  /// Close that waits until the session is not active.
  std::optional<Status> close_due_;
  State state_ = State::kOpen;
  bool has_pinged_ = false;
  /// A ping follows the announcement of the end: a ping that is submitted with it would overtake it.
  bool drain_ping_due_ = false;
};

}  // namespace weft::detail::grpc
