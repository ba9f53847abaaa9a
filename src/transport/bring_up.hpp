// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/runtime/timer.hpp"
#include "weft/transport/carrier_provider.hpp"
#include "weft/transport/frame_sink.hpp"
#include "weft/wire/carrier.hpp"

namespace weft {

/// Carries out, on the connection that it belongs to, what a BringUp asks for.
class BringUpHost {
 public:
  /// Queues a whole frame; false when memory is out.
  virtual bool queue_carrier_frame(std::string_view frame) = 0;
  /// Lets out what it can of what is queued: the connection is about to end, and that tells the peer why.
  virtual void send_what_is_queued() = 0;
  /// Both sides have decided. Everything after what is queued goes by what move() gives, if it moves(); the
  /// sink is to have the hello and all that follows.
  virtual void on_carrier_decided() = 0;
  /// The connection cannot go on: what the peer may rely on by now does not hold.
  virtual void on_bring_up_failed(Status why) = 0;
  /// After move(): the stream has ended, and the peer is gone. `error` says how, 0 for an end in order.
  virtual void on_peer_gone(int error) = 0;

 protected:
  ~BringUpHost() = default;
};

/// Brings another carrier up beside the stream, between the peer's hello and everything else, in place of the
/// connection's sink. It alone knows both: the connection has one carrier at a time, and once that is not the
/// stream, this watches the stream for the peer's end.
///
///   kHello    the peer's hello is not here
///   kAddress  both offer a carrier: our address is sent, the peer's is awaited
///   kProbing  the carrier is connected; the peer is to be heard on it, within a time
///   kVerdict  our verdict is sent, the peer's is awaited
///   kDecided  both use the carrier, or the stream if it does not move()
///
/// The peer's messages may come sooner than ours are sent: its verdict is kept until ours is there.
/// Thread: the loop's.
class BringUp final : public FrameSink, public CarrierEndOwner, private Timer {
 public:
  /// `stream` must outlive it.
  BringUp(Loop& loop, BringUpHost& host, Carrier& stream, std::shared_ptr<const CarrierChoices> carriers)
      : loop_(loop), host_(host), stream_(stream), carriers_(std::move(carriers)) {}
  ~BringUp();

  std::vector<wire::CarrierOffer> offers() const;
  bool decided() const noexcept { return state_ == State::kDecided; }
  /// Decided for the carrier.
  bool moves() const noexcept { return decided() && usable_ && end_ != nullptr; }
  /// Ends the stream's part: the other carrier, which is returned, reports to `owner` from now on. The
  /// stream is only watched. Only when it moves().
  Carrier& move(CarrierOwner& owner);
  /// Looks whether the stream has ended. After move() nobody tells again what happened before it.
  void check_stream();
  /// Returns how a connection ends whose peer sends on the stream after it moved.
  Status stray_bytes() const;
  /// Returns why the stream was decided for although both sides offered another; else empty.
  std::string refusal() const { return decided() && !usable_ ? reason_ : std::string{}; }
  /// The sink gets the hello that was kept for it.
  Status hand_up_hello(FrameSink& sink);
  void set_sink(FrameSink& sink) { sink_ = &sink; }

  void on_connected() override;
  void on_heard() override;
  void on_failed(Status why) override;
  std::string connected_to() const override;
  /// Shuts the carrier's end, if there is one; the stream is its owner's.
  void shut();

 private:
  enum class State : std::uint8_t { kHello, kAddress, kProbing, kVerdict, kDecided };
  enum class Verdict : std::uint8_t { kNone, kUp, kDown };
  /// Hears the stream once it has nothing to carry any more: what happens on it is the peer's end.
  struct StreamWatch final : CarrierOwner {
    explicit StreamWatch(BringUp& its) : bring_up(its) {}
    bool receives() const override { return true; }
    void on_readable() override { bring_up.check_stream(); }
    void on_writable() override {}
    void on_failed(Status why) override { bring_up.host_.on_bring_up_failed(std::move(why)); }
    BringUp& bring_up;
  };

  Status on_hello(Bytes hello) override;
  Status on_frames(std::span<const Frame> frames, const ChunkRef& chunk) override;
  bool wants_body(const wire::FrameHeader& header) override;
  Landing on_attachment(const Frame& frame) override;
  Status on_attachment_end(const Frame& frame, const ChunkRef& chunk, bool landed) override;
  void on_drained() override;
  void on_closed(Status why) override;
  void on_timer() override;
  // Whoever moves to the carrier finds what came by it before.
  bool receives() const override { return true; }
  void on_readable() override {}
  void on_writable() override {}

  bool is_offered(const CarrierChoices::Choice& choice) const;
  const wire::CarrierOffer* choose(const std::vector<wire::CarrierOffer>& theirs);
  Status check_required(const std::vector<wire::CarrierOffer>& theirs) const;
  Status open(const wire::CarrierOffer& theirs);
  Status on_message(const wire::CarrierMessage& message);
  Status on_address(std::string_view address);
  Status on_ready();
  Status say_ready();
  Status give_verdict(Verdict verdict, std::string_view reason = {});
  Status decide();
  Status send(wire::CarrierStep step, std::string_view text);

  Loop& loop_;
  BringUpHost& host_;
  Carrier& stream_;
  const std::shared_ptr<const CarrierChoices> carriers_;
  const CarrierChoices::Choice* choice_ = nullptr;
  std::unique_ptr<CarrierEnd> end_;
  FrameSink* sink_ = nullptr;
  std::string hello_;
  std::string reason_;
  StreamWatch stream_watch_{*this};
  State state_ = State::kHello;
  Verdict ours_ = Verdict::kNone;
  Verdict theirs_ = Verdict::kNone;
  /// The failure of the carrier behind our good verdict.
  Status lost_;
  bool peer_requires_ = false;
  bool heard_ = false;
  bool stream_gone_ = false;
  bool peer_ready_ = false;
  bool usable_ = true;
};

}  // namespace weft
