// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "calls/gate/server_gate.hpp"
#include "calls/terms/refusals.hpp"
#include "weft/detail/calls/gate/call_envelope.hpp"
#include "weft/detail/calls/terms/call_objects.hpp"
#include "weft/detail/coro/frame_pool.hpp"
#include "weft/detail/transport/identity.hpp"

namespace weft {
class Loop;
}  // namespace weft

namespace weft::detail {

/// The passage of one call through a MethodGate: the interceptors that it has passed and that are notified of
/// its end, and its places under adaptive limits, which it releases. Thread: the connection's loop.
///
/// The time that counts for a limit ends when the handler has its answer, because the handler is not
/// responsible for a peer that does not read.
class GatePass {
 public:
  /// `remote` is the URL of the peer. `gate` and `loop` outlive it.
  GatePass(const MethodGate& gate, Loop& loop, std::shared_ptr<const std::string> remote,
           std::uint64_t request_bytes);
  GatePass(const GatePass&) = delete;
  GatePass& operator=(const GatePass&) = delete;
  /// Ends a call that was not concluded as one without an outcome.
  ~GatePass();
  static void* operator new(std::size_t size) { return allocate_frame(size); }
  static void operator delete(void* block, std::size_t size) noexcept { release_frame(block, size); }

  /// Asks the interceptors, in order, up to the first that refuses.
  std::optional<Refusal> ask(IncomingCall& call);
  /// Takes the places under adaptive limits for a call of a connection that has `held` others.
  std::optional<Refusal> enter(std::size_t held);

  CallObjects& objects() { return objects_; }
  /// Caller of the call. Set before it is read.
  const Identity& caller() const { return caller_; }
  void set_caller(const Identity& caller) { caller_ = caller; }
  /// The handler gave its answer `metadata`, which outlive this.
  void show(const GivenMetadata& metadata) { metadata_ = &metadata; }
  void will_answer(std::size_t bytes) { answer_bytes_ = bytes; }
  /// The outcome is a failure; the first reported one counts.
  void will_fail(const Status& failure) {
    if (outcome_.ok()) outcome_ = failure;
  }
  /// The handler has its answer, which waits to be written.
  void handler_ended();
  /// The handler still runs, but its caller is gone or has cancelled, as `why` states.
  void abandon(const Status& why) {
    will_fail(why);
    abandoned_ = true;
  }
  /// The call is not served after all.
  void refused(const Status& why) {
    will_fail(why);
    says_nothing_ = true;
    conclude();
  }
  /// The outcome is decided: notifies the interceptors. Call once.
  void conclude() noexcept;

 private:
  void leave_limits() noexcept;

  const MethodGate& gate_;
  Loop& loop_;
  std::shared_ptr<const std::string> remote_;
  CallObjects objects_;
  Identity caller_;
  TimePoint received_;
  /// Time at which it took its places.
  TimePoint entered_{};
  std::uint64_t request_bytes_;
  std::uint64_t answer_bytes_ = 0;
  Status outcome_;
  /// Null when the handler gave none.
  const GivenMetadata* metadata_ = nullptr;
  std::size_t asked_ = 0;
  bool in_methods_limit_ = false;
  bool in_servers_limit_ = false;
  bool abandoned_ = false;
  /// The call was refused, so its duration does not count for the limits.
  bool says_nothing_ = false;
  bool concluded_ = false;
};

using OwnedPass = std::unique_ptr<GatePass, DropPass>;

/// The refusal of a call that would wait for others in vain: `limit` is full.
Refusal over_adaptive_limit(const AdaptiveLimit& limit);
/// Places that a call of a connection with `held` others has to leave to others.
constexpr std::uint32_t left_to_others(std::size_t held) {
  return static_cast<std::uint32_t>((held + 1) / 8);
}

}  // namespace weft::detail
