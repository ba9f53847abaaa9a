// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "calls/call/waiting_calls.hpp"
#include "calls/client/client_host.hpp"
#include "calls/client/connect_waiter.hpp"
#include "calls/client/dialer.hpp"
#include "calls/client/reconnect_wait.hpp"
#include "calls/client/refused_carrier.hpp"
#include "calls/session/session.hpp"
#include "calls/session/session_list.hpp"
#include "weft/detail/base/intrusive_list.hpp"
#include "weft/detail/calls/call/call_target.hpp"
#include "weft/detail/calls/client/client_options.hpp"
#include "weft/detail/calls/terms/transports.hpp"
#include "weft/detail/runtime/late_end.hpp"
#include "weft/detail/runtime/timer.hpp"

namespace weft::detail {

/// The implementation of a Client: it holds the connection that calls use now, makes the next one, and queues
/// the calls that wait for it.
///
///   kIdle --call--> kConnecting --hello--> kReady
///     ^               |     ^                 |
///     |            failed   | calls wait      | lost, goaway
///     |               v     |                 |
///     '--no call---kBackoff <-----------------'
///         waits
///
/// A failed attempt fails every call that waited for it. A call made in kBackoff waits for the next attempt.
/// A session that is lost or receives a goaway leaves `session_`, so that new calls make a new one; the calls
/// of a lost session end with it. Only a few sessions with a goaway are kept. Thread: the loop's.
class ClientCore final : public CallTarget,
                         private SessionOwner,
                         private DialerOwner,
                         private Timer,
                         private LateEnd {
 public:
  ClientCore(Loop& loop, ClientOptions options, Transports transports);
  /// Outside of all callbacks; elsewhere end() does it.
  ~ClientCore() override { close(); }
  ClientCore(const ClientCore&) = delete;
  ClientCore& operator=(const ClientCore&) = delete;

  void withdraw(PendingCall& call) noexcept override;

  void add_connect_waiter(ConnectWaiter& waiter);
  /// Ends all calls and connections now, also inside a callback of theirs.
  void close();
  /// Calls close(), and then destroys the core, which owns itself.
  void end() noexcept;

  const ClientOptions& options() const { return options_; }
  ClientHost& host() { return *host_; }
  Session* session() const { return session_.get(); }
  bool ready() const { return session_ != nullptr && session_->ready(); }
  Result<MemoryLease> register_memory(MutableBytes memory) const {
    return transports_.register_memory({&options_.connect, 1}, memory);
  }
  ClientStats stats() const noexcept;

 private:
  enum class State : std::uint8_t { kIdle, kConnecting, kReady, kBackoff, kClosed };

  struct Reaper : Ready {
    explicit Reaper(ClientCore& owner) : Ready(&run), core(owner) {}
    static void run(Ready* node) noexcept {
      ClientCore& its = static_cast<Reaper*>(node)->core;
      if (!its.closed_.clear_some()) its.loop().turn_time().put_off(its.reaper_);
    }
    ClientCore& core;
  };

  void on_session_ready(Session& session) override;
  void on_session_goaway(Session& session) override;
  void on_session_room(Session& session) override;
  void on_session_closed(Session& session, const Status& why) override;
  void on_dialled(std::unique_ptr<Connection> connection, Duration hello_timeout) override;
  void on_dial_failed(const Status& why) override;
  void failed_to_connect(const Status& why);
  void on_timer() override;

  Begun begin_without_session(PendingCall& call, std::size_t body_bytes) override;
  /// New calls go to the session unless others wait before them.
  void choose_open_calls();
  void need_connection();
  void back_off();
  void admit_waiting();
  void fail_waiting(Status why);
  void retire_session();
  void finish_when_empty(Session& session);
  Logger& logger() const { return options_.logger != nullptr ? *options_.logger : stderr_logger(); }
  void reap();

  const Transports transports_;
  ClientOptions options_;
  OwnedClientHost host_;
  std::unique_ptr<Session> session_;
  /// Sessions that take no new calls, and sessions that have ended: their memory is still needed in this
  /// turn, and until all their calls were notified. Mutable for functions that only count them.
  mutable SessionList retired_;
  mutable SessionList closed_;
  WaitingCalls waiting_;
  ConnectWaiters connect_waiters_{loop()};
  Dialer dialer_{loop(), transports_, options_, *this};
  Reaper reaper_{*this};
  ReconnectWait reconnect_wait_;
  RefusedCarrier refused_carrier_;
  /// Counts of attempts to connect, and of sessions that have ended.
  ClientStats counted_;
  State state_ = State::kIdle;
};

}  // namespace weft::detail
