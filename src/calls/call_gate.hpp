// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "calls/gate_pass.hpp"
#include "calls/refusals.hpp"
#include "weft/calls/incoming_call.hpp"

namespace weft::detail {

class Session;

/// Lets the calls of one connection pass their MethodGates. Knows the host that the connection comes from;
/// made for the first call that has a gate. Thread: the connection's loop.
class CallGate {
 public:
  /// Throws std::bad_alloc.
  explicit CallGate(Session& session);

  /// Refuses a call of which nothing but the head is here, if it would be refused now whatever the rest says.
  /// The connection has `held` other calls. Takes nothing.
  std::optional<Refusal> refuse_early(const MethodGate& gate, std::size_t held) const;
  /// Takes a call through rates and interceptors: with a refusal, or with a `pass` for what comes next, which
  /// stays null when nothing does. Throws std::bad_alloc.
  std::optional<Refusal> admit(const MethodGate& gate, IncomingCall::Facts facts, OwnedPass& pass);

 private:
  std::optional<Refusal> take_rates_of_host(const ServerGate& server, TimePoint now);
  std::optional<Refusal> take_rates_of_keys(const ServerGate& server, const IncomingCall& call,
                                            TimePoint now) const;

  Session& session_;
  std::shared_ptr<const std::string> remote_;
  /// Zero until it is needed.
  std::uint64_t host_ = 0;
};

/// Bytes that tell the host in the URL of a peer apart: its name, or its address, of which an IPv6 host has
/// the choice but for the first 64 bits.
std::string host_key(std::string_view url);

}  // namespace weft::detail
