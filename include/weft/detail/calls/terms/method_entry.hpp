// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "weft/detail/base/status.hpp"
#include "weft/detail/calls/terms/handler_options.hpp"
#include "weft/detail/calls/terms/method_key.hpp"
#include "weft/detail/coro/task.hpp"

namespace weft::detail {

class InlineCall;
class MessageJson;
class RunningLimit;
class ServedCall;
struct MethodGate;

/// Way in which a method is served.
enum class HandlerKind : std::uint8_t {
  kInline,     ///< an ordinary function, called while its request is being received
  kRecord,     ///< an ordinary function with a record: it uses its context, or replies later
  kCoroutine,  ///< a Task, concurrent with others
  kBlocking,   ///< on a worker thread
};

/// One registered method, and the extension point for layers above calls that encode and decode bodies
/// themselves: they set one of the `serve_` functions, see Server::register_method(). `object` is the user's
/// and outlives the server.
///
/// A `serve_record` that is not `delayed` either answers before it returns, or calls hold() on the record,
/// and let_go() after it has answered on the call's loop. In the latter case it checks has_room() before it
/// encodes an answer.
struct MethodEntry {
  MethodKey key;
  HandlerOptions options;
  HandlerKind kind = HandlerKind::kInline;
  bool delayed = false;
  /// Cannot be blocking, because it is a coroutine.
  bool on_loop_only = false;
  /// The name is a key chosen by the user, which identifies one method only.
  bool keyed = false;
  bool takes_attachment = false;
  /// Its call is a stream: items follow the request, or come before the answer.
  bool takes_items = false;
  bool gives_items = false;
  /// The record keeps the request's body for the handler. Otherwise body() is valid only during
  /// `serve_record`, which decodes it: nothing is copied and no chunk is retained, and the objects decoded
  /// from a body over 8 KiB are charged as if they were as large as the body.
  bool keeps_body = true;
  /// An ordinary function with its context: the call has ended when `serve_record` returns, and no other
  /// holder keeps the record, so the handler reads the request where it was received. Implies that
  /// `keeps_body` is false.
  bool ends_at_once = false;
  /// The handler's parameters own memory, which is charged in addition to the kept body, as if it were as
  /// large.
  bool copies_body = false;
  void* object = nullptr;
  /// Limits the running calls of the method; may be null. Set by the server.
  RunningLimit* running = nullptr;
  /// Rates, adaptive limits and interceptors that its calls pass; null: none. Set by the server.
  const MethodGate* gate = nullptr;
  /// An ordinary function without a gate whose calls are not timed: its calls are served directly where they
  /// are received. Set by the server.
  bool straight = false;
  /// The same, but its calls are timed.
  bool timed = false;
  /// Index of its counters; 0 is for requests without a method. Set by the server.
  std::size_t index = 0;
  void (*serve_inline)(const MethodEntry& method, InlineCall& call) = nullptr;
  void (*serve_record)(const MethodEntry& method, ServedCall& call) = nullptr;
  Task<void> (*serve_coroutine)(const MethodEntry* method, ServedCall* call) = nullptr;
  /// Returns the text of the types of `self` with the names of fields; null for a method without such a text.
  std::string (*described_text)(const MethodEntry& self) = nullptr;
  /// Converts its messages to JSON and back; null if the text of its types says how. Outlives the server.
  const MessageJson* json = nullptr;
};

/// Converts the current exception, thrown by `who`, to a failure; a thrown Status is returned unchanged. Call
/// only within a catch block.
Status status_of_exception(std::string_view who = "the handler");
/// The same, thrown by the handler of `method`.
Status status_of_exception(const MethodEntry& method);

}  // namespace weft::detail
