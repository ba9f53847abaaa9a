// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "calls/caller_check.hpp"
#include "calls/gate_pass.hpp"
#include "calls/refusals.hpp"
#include "weft/detail/calls/incoming_call.hpp"
#include "weft/detail/transport/frame_sink.hpp"

namespace weft::detail {

struct MethodEntry;
class Session;

/// Lets the calls of one connection pass their MethodGates. Knows the host that the connection comes from.
/// Thread: the connection's loop.
class CallGate {
 public:
  explicit CallGate(Session& session) noexcept : session_(session) {}

  /// The server looks at who its calls are from: check_caller() comes before all else.
  [[gnu::cold]] bool looks_at_callers() const noexcept;
  /// Refuses a call if its caller is unknown or has no right to call `method`. Null means that there is no
  /// such method; then it decides whether the caller may learn that. Takes the rates of its host, so that
  /// nobody tries names or tokens faster than they may call; of a call that passes `early`, before its body
  /// is whole, and is looked at again then, once. Nothing where the server does not look at callers.
  [[gnu::cold]] std::optional<Refusal> check_caller(const MethodEntry* method, MetadataView metadata,
                                                    bool early = false) noexcept;
  /// Takes the token out of `metadata` of a call that is kept, so that neither its handler nor the calls that
  /// this makes have it. Returns the bytes that are left of it.
  [[gnu::cold]] std::size_t without_token(MutableBytes metadata) const noexcept;
  /// Refuses a call of `method` of which nothing but the head is here, if it would be refused now whatever
  /// the rest says. The connection has `held` other calls. Takes nothing.
  [[gnu::cold]] std::optional<Refusal> refuse_early(const MethodEntry& method,
                                                    std::size_t held) const noexcept;
  /// Takes a call through rates and interceptors: with a refusal, or with a `pass` for what comes next, which
  /// stays null when nothing does. Its attachment may be to come.
  [[gnu::cold]] std::optional<Refusal> admit(const MethodEntry& method, const Frame& frame, Deadline deadline,
                                             OwnedPass& pass) noexcept;

 private:
  std::optional<Refusal> admit(const MethodGate& gate, const IncomingCall::Facts& facts, OwnedPass& pass);
  void remember_remote();
  std::optional<Refusal> take_rates_of_host(const ServerGate& server, TimePoint now);
  std::optional<Refusal> take_rates_of_keys(const ServerGate& server, const IncomingCall& call,
                                            TimePoint now) const;

  Session& session_;
  /// Null and zero until they are needed.
  std::shared_ptr<const std::string> remote_;
  std::uint64_t host_ = 0;
  /// Null until there is a call whose caller is looked at.
  std::unique_ptr<CallerCheck> caller_;
  /// The next call has taken its host's rates.
  bool rates_taken_ = false;
};

/// Bytes that tell the host in the URL of a peer apart: its name, or its address, of which an IPv6 host has
/// the choice but for the first 64 bits.
std::string host_key(std::string_view url);

}  // namespace weft::detail
