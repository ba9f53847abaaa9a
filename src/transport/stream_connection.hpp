// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "transport/path_switch.hpp"
#include "transport/stream_framer.hpp"
#include "weft/coro/executor.hpp"
#include "weft/runtime/loop.hpp"
#include "weft/transport/connection.hpp"

namespace weft {

/// A Connection over some ordered stream of bytes: all of the contract but the moving of bytes itself, which
/// a transport adds by deriving from it.
///
/// States:
///   made      nothing is received; what is queued is sent
///   started   start() gave it a sink
///   closing   it is to end with why_: nothing is received, sent or handed up any more; work_ is scheduled
///   closed    the stream is shut, every lease released, the sink has heard on_closed and is forgotten
/// Beside these, one side may have ended before the other: send_ended_ after finish(), receive_ended_ after
/// the peer's end. When the peer has ended, what is queued is still sent, and then the connection closes.
///
/// With ConnectionOptions::paths the bytes after the hellos may move to a data path. Then path_ is set, and
/// the stream is only watched: its end is the peer's.
class StreamConnection : public Connection,
                         private PathSwitchHost,
                         private OutboxDrain,
                         private TurnEndHook,
                         private Timer {
 public:
  StreamConnection(Loop& loop, const ConnectionOptions& options, const Capabilities& capabilities);
  ~StreamConnection() override;

  void start(FrameSink& sink) final;
  std::vector<wire::DataPathOffer> path_offers() const final;
  PathReport path_report() const final;
  Outbox& outbox() final { return outbox_; }
  void use_checksums() final;
  void abandon_landing() final;
  Result<Buffer> landing_memory(std::size_t bytes, std::shared_ptr<MemoryBudget> budget) final;
  void pause_receiving() final;
  void resume_receiving() final;
  void finish() final;
  void close(Status why) final;
  bool is_moving() const final {
    return (!outbox_.empty() && !send_ended_) || (framer_.inside() && framer_.wants_bytes());
  }
  const Capabilities& capabilities() const final {
    return path_ != nullptr ? path_->capabilities() : capabilities_;
  }

 protected:
  /// Move what can be moved without waiting. Once one says kBlocked, readable() or writable() is to be called
  /// when that changes.
  virtual Moved receive(std::span<const iovec> into) = 0;
  virtual Moved send(std::span<const iovec> from) = 0;
  /// Everything was sent: tells the peer that no more comes.
  virtual void end_sending() = 0;
  /// Ends the stream in both directions; nothing is asked of it afterwards. Called at most once.
  virtual void shut() = 0;

  // For the transport to call, in a turn of the loop.
  void readable();
  void writable();
  /// What is queued need not wait for the turn's end.
  void send_now();
  /// The stream broke, which also a connection that receives nothing at present has to know.
  void broken(int error);

  Loop& loop() const noexcept { return loop_; }
  bool receiving() const noexcept { return framer_.wants_bytes() || path_ != nullptr; }

 private:
  struct Work : Ready {
    explicit Work(StreamConnection& its) noexcept;
    StreamConnection& connection;
  };

  void on_queued() noexcept final;
  void on_much_queued() noexcept final;
  void on_take_back() noexcept final;
  bool queue_path_frame(std::string_view frame) final;
  void send_what_is_queued() final;
  void on_path_decided() final;
  void on_switch_failed(Status why) final;
  void on_path_connected() final;
  void on_path_heard() final;
  void on_path_readable() final;
  void on_path_writable() final;
  void on_path_failed(Status why) final;
  std::string connected_to() const final;
  void stay_on_stream();
  void move_to_path();
  Status stray_bytes() const;
  void check_stream();
  FrameSink& framer_sink();
  Moved receive_some(std::span<const iovec> into);
  Moved send_some(std::span<const iovec> from);
  void on_turn_end() final;
  void on_timer() final;
  void work();
  void schedule_work();
  void receive_more();
  void receive_all();
  Moved receive_once();
  void close_if_failed(Status status);
  void resume_parsing();
  void note_progress(std::size_t bytes);
  void peer_ended();
  void flush();
  void send_queued();
  void sending_failed(int error);
  void after_flush();
  void end_if_due();
  void watch_peer();
  void arm_by(TimePoint at);
  TimePoint check_stall();
  TimePoint check_frame();
  void fail(Status why);
  void conclude();
  Status io_failure(const char* what, int error) const;

  Loop& loop_;
  const ConnectionOptions options_;
  const Capabilities& capabilities_;
  FrameSink* sink_ = nullptr;
  Outbox outbox_;
  StreamFramer framer_;
  Work work_{*this};
  Status why_;
  /// Since when the peer has taken nothing of what is queued, and brought nothing of what it owes.
  TimePoint send_since_{};
  TimePoint frame_since_{};
  /// See behind_since(): received since behind_mark_, which comes after it.
  TimePoint behind_mark_{};
  std::size_t behind_bytes_ = 0;
  std::uint64_t frame_progress_ = ~std::uint64_t{0};
  bool readable_ = false;
  bool write_blocked_ = false;
  bool above_high_water_ = false;
  bool resume_ = false;
  bool finish_ = false;
  bool send_ended_ = false;
  bool send_failed_ = false;
  bool receive_ended_ = false;
  bool closing_ = false;
  bool shut_ = false;
  /// Decided for a path; what is queued still leaves by the stream.
  bool moving_to_path_ = false;
  /// The stream has ended: nothing more arrives on the path either.
  bool stream_gone_ = false;
  DataPath* path_ = nullptr;
  std::unique_ptr<PathSwitch> switch_;
};

}  // namespace weft
