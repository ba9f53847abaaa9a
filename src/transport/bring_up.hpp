// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "transport/base_watch.hpp"
#include "transport/bring_up_host.hpp"
#include "transport/carrier_candidates.hpp"
#include "transport/carrier_proof.hpp"
#include "transport/descriptor_exchange.hpp"
#include "weft/detail/runtime/timer.hpp"
#include "weft/detail/transport/base_carrier.hpp"
#include "weft/detail/transport/carrier_provider.hpp"
#include "weft/detail/transport/frame_sink.hpp"
#include "weft/detail/wire/carrier.hpp"

namespace weft::detail {

/// Brings another carrier up beside the base carrier, between the peer's hello and everything else, in place
/// of the connection's sink. It alone knows both: the connection has one carrier at a time, and once that is
/// not the base carrier, this class has the base carrier watched for the peer's end. When one candidate is
/// not available, the next is tried; all of them together get CarrierChoices::bring_up_timeout.
///
///   kHello    the peer's hello has not arrived
///   kAddress  both offer a carrier: our address is sent, once it is known, and the peer's is awaited;
///             again for each candidate
///   kProbing  the carrier is connected; a message of the peer must arrive on it, within a time
///   kProving  if the base carrier has a secret: each side proves on the carrier that it is the same peer
///   kVerdict  our verdict is sent, the peer's is awaited
///   kDecided  both use the carrier, or the base carrier if it does not move()
///
/// The peer's messages may arrive before ours are sent: its verdict is kept until ours exists. Thread: the
/// loop's.
class BringUp final : public FrameSink, public CarrierEndOwner, private Timer {
 public:
  /// `base` must outlive it.
  BringUp(Loop& loop, BringUpHost& host, BaseCarrier& base, std::shared_ptr<const CarrierChoices> carriers)
      : loop_(loop),
        host_(host),
        base_(base),
        candidates_(std::move(carriers)),
        watch_(base, host),
        descriptors_(base, candidates_.descriptors_max()) {}

  /// The offers of our hello, and the candidates passed over.
  const CarrierCandidates& candidates() const { return candidates_; }
  bool decided() const noexcept { return state_ == State::kDecided; }
  /// Decided for the carrier.
  bool moves() const noexcept { return decided() && end_ != nullptr; }
  /// Ends the base carrier's part: the other carrier, which is returned, reports to `owner` from now on. The
  /// base carrier is only watched. Only when it moves().
  Carrier& move(CarrierOwner& owner);
  BaseWatch& base_watch() { return watch_; }
  /// Returns why the base carrier was decided for although both sides offered another; else empty.
  std::string reason() const { return decided() && !moves() ? candidates_.reasons() : std::string{}; }
  /// The sink gets the hello that was kept for it.
  Status hand_up_hello(FrameSink& sink);
  void set_sink(FrameSink& sink) { sink_ = &sink; }

  void on_connected() override;
  void on_heard() override;
  void on_failed(Status why) override;
  std::string connected_to() const override;
  Identity peer_identity() const override { return base_.peer_identity(); }
  /// Shuts the carrier's end, if there is one; the base carrier is its owner's.
  void shut();

 private:
  enum class State : std::uint8_t { kHello, kAddress, kProbing, kProving, kVerdict, kDecided };
  enum class Verdict : std::uint8_t { kNone, kUp, kDown };
  /// State of the candidate that is tried now.
  struct Attempt {
    Verdict ours = Verdict::kNone;
    Verdict theirs = Verdict::kNone;
    /// The reason of the first bad verdict, with whose it is.
    std::string reason;
    /// Its code, as in PassedOverCarrier.
    StatusCode code = StatusCode::kFailedPrecondition;
    /// The failure of the carrier behind our good verdict.
    Status lost;
    bool heard = false;
    bool peer_ready = false;
    bool address_said = false;
    bool waits_for_us = false;
    Duration time{};
    /// Stays while the end may send it.
    std::unique_ptr<CarrierProof> proof;
  };

  Status on_hello(const wire::Hello& hello) override;
  Status on_frames(std::span<const Frame> frames, const ChunkRef& chunk) override;
  bool wants_body(const wire::FrameHeader& header, Bytes arrived) override;
  Landing on_attachment(const Frame& frame) override;
  Status on_attachment_end(const Frame& frame, const ChunkRef& chunk, bool landed) override;
  void on_drained() override;
  void on_closed(Status why) override;
  void on_timer() override;
  // The code that moves to the carrier finds the messages that arrived before.
  bool receives() const override { return true; }
  void on_readable() override;
  void on_writable() override { on_readable(); }

  /// Tries the next candidate; the base carrier when there is none.
  Status try_next();
  Status on_message(const wire::CarrierMessage& message);
  Status on_address(std::string_view address);
  Status on_ready();
  Status introduce(bool connected);
  Status prove();
  Status give_verdict(Verdict verdict, const Status& why = {});
  Status decide();

  Loop& loop_;
  BringUpHost& host_;
  BaseCarrier& base_;
  CarrierCandidates candidates_;
  BaseWatch watch_;
  DescriptorExchange descriptors_;
  /// Longer than the end that sends its proof.
  Attempt attempt_;
  std::unique_ptr<CarrierEnd> end_;
  /// The end of the candidate before, shut. It may be the one that called, so it goes at the next message.
  std::unique_ptr<CarrierEnd> last_end_;
  FrameSink* sink_ = nullptr;
  wire::Hello hello_;
  State state_ = State::kHello;
  /// No candidate is tried any more.
  TimePoint end_by_{};
};

}  // namespace weft::detail
