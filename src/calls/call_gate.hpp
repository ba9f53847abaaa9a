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
#include "weft/detail/transport/frame_sink.hpp"

namespace weft::detail {

struct MethodEntry;
class Session;

/// Lets the calls of one connection pass their MethodGates. Knows the host that the connection comes from.
/// Thread: the connection's loop.
class CallGate {
 public:
  explicit CallGate(Session& session) noexcept : session_(session) {}

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
  std::optional<Refusal> take_rates_of_host(const ServerGate& server, TimePoint now);
  std::optional<Refusal> take_rates_of_keys(const ServerGate& server, const IncomingCall& call,
                                            TimePoint now) const;

  Session& session_;
  /// Null and zero until they are needed.
  std::shared_ptr<const std::string> remote_;
  std::uint64_t host_ = 0;
};

/// Bytes that tell the host in the URL of a peer apart: its name, or its address, of which an IPv6 host has
/// the choice but for the first 64 bits.
std::string host_key(std::string_view url);

}  // namespace weft::detail
