// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "transport/tls/cipher_pipe.hpp"
#include "transport/tls/handshakes.hpp"
#include "transport/tls/terms.hpp"
#include "transport/tls/tls_engine.hpp"
#include "weft/detail/coro/executor.hpp"
#include "weft/detail/runtime/timer.hpp"
#include "weft/detail/runtime/turn_end_hook.hpp"
#include "weft/detail/transport/base_carrier.hpp"

namespace weft::detail::tls {

/// Carries bytes encrypted over another carrier, its base.
///
///   made --the first receive() or send()--> shaking --the handshake is done--> open
///                                           |  |                                |  a failure
///                                           |  |  a server's handshake failed   v
///                                           |  '------> lingering ---------> failed: the owner is notified
///                                           '--the first byte is not TLS, TlsOptions::plain_too--> plain
///
/// shaking: receive() and send() return blocked, and the owner is notified when that is over. A server that
/// does not ask for client certificates lets its owner send once before: behind its part of the handshake, so
/// that a client has the server's first bytes when its own part is sent, and not a round trip later.
/// lingering: the peer's end is awaited for a moment, so that it reads the alert before the base is reset.
/// plain: bytes pass unchanged.
class TlsCarrier final : public BaseCarrier, private CarrierOwner, private Timer, private Handshake {
 public:
  /// `ssl` refers to `owner_of_ssl`, which is kept as long.
  TlsCarrier(Loop& loop, std::unique_ptr<BaseCarrier> base, Side side, Owned<SSL> ssl,
             std::shared_ptr<const void> owner_of_ssl, Terms terms);
  ~TlsCarrier() override;

  /// Makes the rest of it. False when memory is exhausted.
  bool open() noexcept { return engine_.open(); }

  const Capabilities& capabilities() const override { return capabilities_; }
  std::string description() const override;
  const char* keeps_others_off() const override;
  std::string local_endpoint() const override;
  std::string remote_endpoint() const override;
  std::string_view agreed_protocol() const noexcept override {
    return state_ == State::kPlain ? std::string_view{} : engine_.agreed_protocol();
  }
  BaseSecret* secret() noexcept override { return state_ == State::kOpen ? &engine_ : nullptr; }
  Moved receive(std::span<const iovec> into, std::span<const iovec> landing) override;
  TimePoint arrived_by(TimePoint now) const override { return pipe_.base().arrived_by(now); }
  Moved send(std::span<const iovec> from, std::size_t leased) override;
  void end_sending() override;
  bool all_left() const override;
  void shut() override;

 private:
  enum class State : std::uint8_t { kMade, kShaking, kOpen, kPlain, kLingering, kFailed, kShut };
  enum class Ending : std::uint8_t { kNo, kWanted, kSaid, kLeft };
  struct Work : Ready, TurnEndHook {
    explicit Work(TlsCarrier& its) noexcept;
    void schedule() noexcept;
    /// Waits for its turn with the next step of a handshake, see HandshakeTurns.
    void await_turn() noexcept;
    /// Sends what the owner has let lie until then.
    void on_turn_end() override;
    TlsCarrier& carrier;
  };

  // The base reports.
  bool receives() const override {
    return (state_ != State::kOpen && state_ != State::kPlain) || owner().receives();
  }
  void on_readable() override;
  void on_writable() override;
  void on_report_end() override;
  void on_failed(Status why) override;
  void on_timer() override;
  void on_pushed_out() noexcept override;

  bool is_open() noexcept;
  void shake_hands() noexcept;
  void opened(State state) noexcept;
  Moved fill() noexcept;
  void end_if_due() noexcept;
  /// `counter` of a handshake; null: that of the code.
  void fail(Status why, Tally::Counter* counter = nullptr) noexcept;
  void work() noexcept;

  Loop& loop_;
  CipherPipe pipe_;
  TlsEngine engine_;
  const Terms terms_;
  Capabilities capabilities_;
  Work work_{*this};
  Status failure_;
  State state_ = State::kMade;
  Ending ending_ = Ending::kNo;
  bool looked_ = false;      ///< The first byte is one of TLS.
  bool read_waits_ = false;  ///< receive() cannot continue before output has left.
};

}  // namespace weft::detail::tls
