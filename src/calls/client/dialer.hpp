// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "weft/detail/calls/client/client_options.hpp"
#include "weft/detail/calls/terms/transports.hpp"
#include "weft/detail/coro/executor.hpp"
#include "weft/detail/coro/task.hpp"
#include "weft/detail/runtime/loop.hpp"
#include "weft/detail/transport/connection.hpp"

namespace weft::detail {

/// Returns true if every further attempt will fail with `why` too, when the first one failed before it
/// reached a server: the URL or another option is invalid, or this program has no transport for the scheme.
/// Such an attempt costs a server nothing, so the next one needs no wait.
bool can_never_work(const Status& why) noexcept;

/// Receives the outcome of an attempt to connect. Never called from inside Dialer::drop().
class DialerOwner {
 public:
  /// `connection` must exchange hellos within `hello_timeout`. An exception from this function fails the
  /// attempt.
  virtual void on_dialled(std::unique_ptr<Connection> connection, Duration hello_timeout) = 0;
  /// kDeadlineExceeded is never the code: the time of an attempt is not a call's. May not destroy the dialer.
  virtual void on_dial_failed(const Status& why) = 0;

 protected:
  ~DialerOwner() = default;
};

/// Makes connections to the server that options name, one attempt at a time. Thread: the loop's.
class Dialer {
 public:
  /// All of them outlive it.
  Dialer(Loop& loop, const Transports& transports, const ClientOptions& options, DialerOwner& owner)
      : loop_(loop), transports_(transports), options_(options), owner_(owner) {}
  Dialer(const Dialer&) = delete;
  Dialer& operator=(const Dialer&) = delete;

  /// Begins an attempt; there must be none under way. The owner may be notified of its end within this
  /// function, so it must not be called while the beginning of a call is incomplete.
  void dial();
  /// Gives the attempt up, if there is one: inside a turn in a moment, for it may be running. Its owner may
  /// be called until then.
  void drop();

 private:
  struct AttemptEnd : Completion {
    explicit AttemptEnd(Dialer& its) : Completion{&ended}, dialer(its) {}
    static void ended(Completion& self, TaskPromiseBase& task) noexcept;
    Dialer& dialer;
  };
  struct Reaper : Ready {
    explicit Reaper(Dialer& its) : Ready(&run), dialer(its) {}
    static void run(Ready* node) noexcept { static_cast<Reaper*>(node)->dialer.attempt_.reset(); }
    Dialer& dialer;
  };

  Task<void> attempt();
  void fail(const Status& why);

  Loop& loop_;
  const Transports& transports_;
  const ClientOptions& options_;
  DialerOwner& owner_;
  Task<void> attempt_;
  AttemptEnd attempt_end_{*this};
  Reaper reaper_{*this};
};

}  // namespace weft::detail
