// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "weft/detail/base/status.hpp"
#include "weft/detail/calls/handler_options.hpp"
#include "weft/detail/calls/method_key.hpp"
#include "weft/detail/coro/task.hpp"

namespace weft::detail {

class InlineCall;
class RunningLimit;
class ServedCall;
struct MethodGate;

/// Says how a method is served.
enum class HandlerKind : std::uint8_t {
  kInline,     ///< an ordinary function, inside the receiving of its request
  kRecord,     ///< the same with a record: it wants its context, or replies later
  kCoroutine,  ///< a Task, concurrent with others
  kBlocking,   ///< on a worker's thread
};

/// One registered method, and the seam for layers above calls that read and write bodies themselves: they
/// fill in one of the `serve_` functions, see Server::register_method(). `object` is the user's and outlives
/// the server.
///
/// A `serve_record` that is not `delayed` answers before it returns, or takes hold() of the record and
/// let_go()es when it has answered, on the call's loop; before it encodes an answer then it asks has_room().
struct MethodEntry {
  MethodKey key;
  HandlerOptions options;
  HandlerKind kind = HandlerKind::kInline;
  bool delayed = false;
  /// Cannot be blocking: it is a coroutine.
  bool on_loop_only = false;
  /// The name is a key of the user's, which stands for one method only.
  bool keyed = false;
  bool takes_attachment = false;
  /// The record keeps the request's body for the handler. Otherwise body() ends with `serve_record`, which
  /// makes of it what it needs: nothing is copied, no chunk is retained, and what the handler made of a body
  /// over 8 KiB counts as if it were as large.
  bool keeps_body = true;
  /// An ordinary function with its context: the call has ended with its `serve_record`, and nobody holds the
  /// record, so that the handler looks at the request where it was received. Then `keeps_body` is false.
  bool ends_at_once = false;
  /// The handler's parameters own memory, which counts beside the body that is kept, as if it were as large.
  bool copies_body = false;
  void* object = nullptr;
  /// Bounds its calls that run; null: nothing does. Set by the server.
  RunningLimit* running = nullptr;
  /// Rates, adaptive limits and interceptors that its calls pass; null: none. Set by the server.
  const MethodGate* gate = nullptr;
  /// An ordinary function without a gate: its calls are served where they are received, and that is all. Set
  /// by the server.
  bool straight = false;
  /// Place of its counters; 0 is that of requests for no method. Set by the server.
  std::size_t index = 0;
  void (*serve_inline)(const MethodEntry& method, InlineCall& call) = nullptr;
  void (*serve_record)(const MethodEntry& method, ServedCall& call) = nullptr;
  Task<void> (*serve_coroutine)(const MethodEntry* method, ServedCall* call) = nullptr;
};

/// The failure that an exception of `who` becomes; a Status that was thrown is it already. Only inside a
/// catch block.
Status status_of_exception(std::string_view who = "the handler");

}  // namespace weft::detail
