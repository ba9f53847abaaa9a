// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "calls/serve/protocol.hpp"

/// A protocol of lines of text, to prove that functions, coroutines and streams are served without frames of
/// Weft's. Bytes are in hexadecimal digits, "-" if there are none.
///
///     call ID TIMEOUT_MS NAME ARGUMENTS [KEY=VALUE...]      ok ID RESULT
///     item ID ITEM                                          fail ID CODE TEXT
///     end ID                                                item ID ITEM
///     credit ID SUM                                         end ID
///     cancel ID                                             credit ID SUM
///                                                           bye TEXT
///
/// A side may send items while the sum of their costs, wire::item_cost(), is below SUM, which is kTextCredit
/// at first for the server, and RpcLimits::stream_window for the client. An item of the single byte FF cannot
/// be sent by this protocol. After `bye` the server sends nothing.
namespace weft::testing {

inline constexpr std::uint64_t kTextCredit = 200;

/// Returns the protocol for ServerOptions::protocols. Over TLS its name is "text".
std::shared_ptr<const detail::Protocol> text_protocol();

}  // namespace weft::testing
