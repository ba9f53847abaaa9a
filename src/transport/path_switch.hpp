// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "weft/runtime/timer.hpp"
#include "weft/transport/connection.hpp"
#include "weft/transport/data_path.hpp"
#include "weft/wire/path.hpp"

namespace weft {

/// What a PathSwitch asks of the connection it belongs to.
class PathSwitchHost : public DataPathOwner {
 public:
  /// Queues a whole frame; false when memory is out.
  virtual bool queue_path_frame(std::string_view frame) = 0;
  /// Lets out what it can of what is queued: the connection is about to end, and that tells the peer why.
  virtual void send_what_is_queued() = 0;
  /// Both sides have decided: everything after what is queued goes over the path, if there is one, and the
  /// sink is to have the hello and all that follows.
  virtual void on_path_decided() = 0;
  /// The connection cannot go on: what the peer may rely on by now does not hold.
  virtual void on_switch_failed(Status why) = 0;

 protected:
  ~PathSwitchHost() = default;
};

/// Brings a data path up between the peer's hello and everything else, in place of the connection's sink.
///
///   kHello    the peer's hello is not here
///   kAddress  both offer a path: our address is sent, the peer's is awaited
///   kProbing  the path is connected; the peer is to be heard on it, within a time
///   kVerdict  our verdict is sent, the peer's is awaited
///   kDecided  path() is what both use, null for the stream
///
/// The peer's messages may come sooner than ours are sent: its verdict is kept until ours is there.
/// Thread: the loop's.
class PathSwitch final : public FrameSink, private Timer {
 public:
  PathSwitch(Loop& loop, PathSwitchHost& host, std::shared_ptr<const DataPaths> paths)
      : loop_(loop), host_(host), paths_(std::move(paths)) {}
  ~PathSwitch();

  std::vector<wire::DataPathOffer> offers() const;
  bool decided() const noexcept { return state_ == State::kDecided; }
  /// Null as long as it is not decided, or when the stream was.
  DataPath* path() const { return decided() && usable_ && path_ != nullptr ? &path_->carrier() : nullptr; }
  /// Why the stream was decided for although both sides offered a path; else empty.
  std::string refusal() const { return decided() && !usable_ ? reason_ : std::string{}; }
  /// The sink gets the hello that was kept for it.
  Status hand_up_hello(FrameSink& sink);
  void set_sink(FrameSink& sink) { sink_ = &sink; }

  void on_connected();
  void on_heard();
  void on_failed(Status why);
  void shut();

 private:
  enum class State : std::uint8_t { kHello, kAddress, kProbing, kVerdict, kDecided };
  enum class Verdict : std::uint8_t { kNone, kUp, kDown };

  Status on_hello(Bytes hello) override;
  Status on_frames(std::span<const Frame> frames, const ChunkRef& chunk) override;
  bool wants_body(const wire::FrameHeader& header) override;
  Landing on_attachment(const Frame& frame) override;
  Status on_attachment_end(const Frame& frame, const ChunkRef& chunk, bool landed) override;
  void on_drained() override;
  void on_closed(Status why) override;
  void on_timer() override;

  bool is_offered(const DataPaths::Choice& choice) const;
  const wire::DataPathOffer* choose(const std::vector<wire::DataPathOffer>& theirs);
  Status check_required(const std::vector<wire::DataPathOffer>& theirs) const;
  Status open(const wire::DataPathOffer& theirs);
  Status on_message(const wire::PathMessage& message);
  Status on_address(std::string_view address);
  Status on_ready();
  Status say_ready();
  Status give_verdict(Verdict verdict, std::string_view reason = {});
  Status decide();
  Status send(wire::PathStep step, std::string_view text);

  Loop& loop_;
  PathSwitchHost& host_;
  const std::shared_ptr<const DataPaths> paths_;
  const DataPaths::Choice* choice_ = nullptr;
  std::unique_ptr<PathEnd> path_;
  FrameSink* sink_ = nullptr;
  std::string hello_;
  std::string reason_;
  State state_ = State::kHello;
  Verdict ours_ = Verdict::kNone;
  Verdict theirs_ = Verdict::kNone;
  /// Why the path failed behind our good verdict.
  Status lost_;
  bool peer_requires_ = false;
  bool heard_ = false;
  bool peer_ready_ = false;
  bool usable_ = true;
};

}  // namespace weft
