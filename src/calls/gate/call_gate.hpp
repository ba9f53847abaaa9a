// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "calls/gate/caller_check.hpp"
#include "calls/gate/gate_pass.hpp"
#include "calls/gate/received_request.hpp"
#include "calls/terms/refusals.hpp"
#include "weft/detail/calls/gate/incoming_call.hpp"
#include "weft/detail/calls/terms/answer_sink.hpp"

namespace weft {
class Loop;
}  // namespace weft

namespace weft::detail {

struct MethodEntry;
class MethodTable;

/// Lets the calls of one connection pass their MethodGates. Knows the host that the connection comes from.
/// Thread: the connection's loop.
class CallGate {
 public:
  /// `connection` knows the peer. All outlive it; null `methods`: this side serves none.
  CallGate(AnswerSink& connection, Loop& loop, const MethodTable* methods) noexcept
      : connection_(connection), loop_(loop), methods_(methods) {}

  AnswerSink& connection() const noexcept { return connection_; }
  Loop& loop() const noexcept { return loop_; }

  /// Returns true if the server checks the callers of calls: check_caller() must be called before anything
  /// else.
  [[gnu::cold]] bool looks_at_callers() const noexcept;
  /// Refuses a call if its caller is unknown or not allowed to call `method`. Null `method`: there is no such
  /// method, and the check decides whether the caller may learn that. Takes the rates of its host, so that a
  /// peer cannot try names or tokens faster than it may call. A call checked `early`, before its body is
  /// complete, is checked once more later, without taking the rates again. Does nothing where the server does
  /// not check callers.
  [[gnu::cold]] std::optional<Refusal> check_caller(const MethodEntry* method, MetadataView metadata,
                                                    bool early = false) noexcept;
  /// The same for a page of operators, which has a name but is no method.
  [[gnu::cold]] std::optional<Refusal> check_page(std::string_view name, MetadataView metadata) noexcept;
  /// The server has an Authorizer.
  bool has_rules() const noexcept;
  /// Removes the token from the `metadata` of a kept call, so that neither its handler nor calls made by the
  /// handler see it. Returns the size of the rest.
  [[gnu::cold]] std::size_t without_token(MutableBytes metadata) const noexcept;
  /// Refuses a call of `method` that has only its header so far, if it would be refused now with any body.
  /// The connection has `held` other calls. Takes no rates or places.
  [[gnu::cold]] std::optional<Refusal> refuse_early(const MethodEntry& method,
                                                    std::size_t held) const noexcept;
  /// Passes a call through rates and interceptors: returns a refusal, or sets `pass` for later steps, which
  /// stays null when there are none. The call's attachment, of `attachment_bytes`, may still be arriving.
  [[gnu::cold]] std::optional<Refusal> admit(const MethodEntry& method, const ReceivedRequest& request,
                                             std::uint64_t attachment_bytes, Deadline deadline,
                                             OwnedPass& pass) noexcept;

 private:
  /// Throws std::bad_alloc.
  CallerCheck& need_caller_check(const ServerGate& server);
  std::optional<Refusal> admit(const MethodGate& gate, const IncomingCall::Facts& facts, OwnedPass& pass);
  void remember_remote();
  std::optional<Refusal> take_rates_of_host(const ServerGate& server, TimePoint now);
  std::optional<Refusal> take_rates_of_keys(const ServerGate& server, const IncomingCall& call,
                                            TimePoint now) const;

  AnswerSink& connection_;
  Loop& loop_;
  const MethodTable* const methods_;
  /// Null and zero until they are needed.
  std::shared_ptr<const std::string> remote_;
  std::uint64_t host_ = 0;
  /// Null until the first call with a caller to check.
  std::unique_ptr<CallerCheck> caller_;
  /// The next call has taken its host's rates.
  bool rates_taken_ = false;
};

/// Rate-limit key of a host, from the URL of a peer: its name, its IPv4 address, or the first 64 bits of its
/// IPv6 address.
std::string host_key(std::string_view url);

}  // namespace weft::detail
