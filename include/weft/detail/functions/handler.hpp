// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "weft/detail/calls/serve/incoming_attachment.hpp"
#include "weft/detail/calls/serve/inline_call.hpp"
#include "weft/detail/calls/serve/served_call.hpp"
#include "weft/detail/calls/serve/served_exchange.hpp"
#include "weft/detail/calls/terms/method_entry.hpp"
#include "weft/detail/functions/answering.hpp"
#include "weft/detail/functions/blocking_reader.hpp"
#include "weft/detail/functions/blocking_writer.hpp"
#include "weft/detail/functions/described_text.hpp"
#include "weft/detail/functions/method.hpp"
#include "weft/detail/functions/reader.hpp"
#include "weft/detail/functions/reply.hpp"
#include "weft/detail/functions/stream.hpp"
#include "weft/detail/functions/views.hpp"
#include "weft/detail/functions/writer.hpp"

namespace weft::detail {

template <typename T>
inline constexpr bool is_lost_output =
    std::is_lvalue_reference_v<T> && !std::is_const_v<std::remove_reference_t<T>>;
template <typename T>
inline constexpr bool is_context = std::is_same_v<std::remove_cvref_t<T>, CallContext>;
template <typename T>
inline constexpr bool is_incoming = std::is_same_v<std::remove_cvref_t<T>, IncomingAttachment>;
template <typename T>
inline constexpr bool is_any_item_end = is_item_end<std::remove_cvref_t<T>>;
template <typename T>
inline constexpr bool is_any_reply = is_reply<std::remove_cvref_t<T>>;

/// A parameter by value that owns memory: it ends with the function, and so does what a view of it shows.
template <typename T>
inline constexpr bool dies_with_the_function = !std::is_reference_v<T> && owns_memory<T>;

/// Fails to compile with the reason in words when a handler's parameters cannot be served; true otherwise.
/// `Declared` is what would travel.
template <typename Traits, typename... Declared>
consteval bool explain_parameters(TypeList<Declared...>) {
  constexpr bool kReplyInPlace = !(is_any_reply<Declared> || ...) && !Traits::reply_after_context;
  constexpr bool kContextInPlace = !(is_context<Declared> || ...) && Traits::context_in_place;
  constexpr bool kIncomingInPlace = !(is_incoming<Declared> || ...);
  constexpr bool kIncomingOfCoroutine = !Traits::chooses_landing || is_task<typename Traits::Returned>;
  constexpr bool kItemsInPlace = !(is_any_item_end<Declared> || ...) && Traits::items_in_place;
  constexpr bool kIsCoroutine = is_task<typename Traits::Returned> || is_stream<typename Traits::Returned>;
  constexpr bool kItemsOfCoroutine = !has_items<Traits> || Traits::blocks || kIsCoroutine;
  constexpr bool kBlocksOnWorker =
      !(Traits::blocks && kIsCoroutine) && !Traits::mixes_items && !(Traits::blocks && Traits::delayed);
  constexpr bool kNothingLost = !((is_lost_output<Declared> && !is_context<Declared> &&
                                   !is_incoming<Declared> && !is_any_item_end<Declared>) ||
                                  ...);
  // A delayed handler answers through its Reply before it returns, or keeps the objects of its answer itself.
  constexpr bool kResultStays =
      Traits::delayed || !holds_view<typename Traits::Result> || !(dies_with_the_function<Declared> || ...);
  static_assert(kReplyInPlace,
                "weft cannot serve this handler: Reply<R> is taken by value, as the first parameter of a "
                "function that returns void; it answers through the Reply");
  static_assert(kContextInPlace,
                "weft cannot serve this handler: it takes its context as CallContext&, before the parameters "
                "that travel (after Reply<R>, if there is one)");
  static_assert(kIncomingInPlace,
                "weft cannot serve this handler: it takes its attachment as IncomingAttachment&, before the "
                "parameters that travel (after CallContext&, if there is one)");
  static_assert(
      kIncomingOfCoroutine,
      "weft cannot serve this handler: one with an IncomingAttachment& waits for the attachment, so "
      "it is a coroutine that returns Task<...>; an ordinary function gets an attachment that is "
      "there from CallContext::take_attachment()");
  static_assert(
      kItemsInPlace,
      "weft cannot serve this handler: it takes its items as one Reader<T>&, and sends items by one "
      "Writer<T>& behind that, or by returning Stream<T>; both stand before the parameters that "
      "travel (after CallContext&, if there is one); so do BlockingReader<T>& and BlockingWriter<T>&");
  static_assert(
      kBlocksOnWorker,
      "weft cannot serve this handler: one with a BlockingReader<T>& or a BlockingWriter<T>& runs on a "
      "worker's thread, so it is an ordinary function that returns its result, and takes neither Reader<T>& "
      "nor Writer<T>& nor Reply<R>; a coroutine takes Reader<T>& and Writer<T>&");
  static_assert(
      kItemsOfCoroutine,
      "weft cannot serve this handler: one with a Reader<T>& or a Writer<T>& waits for its caller, so "
      "it is a coroutine that returns Task<...> or Stream<...>; an ordinary function, which blocks a "
      "worker's thread, takes BlockingReader<T>& and BlockingWriter<T>&");
  static_assert(kNothingLost,
                "weft cannot serve this handler: a parameter is a non-const reference, and what is written "
                "there never reaches the caller; take a value or a const reference, and return the result");
  static_assert(
      kResultStays,
      "weft cannot serve this handler: it returns a view, or a type that holds one, and a parameter "
      "that owns its memory is gone when the function returns; take a std::string_view, a span or a const "
      "reference, or return a value");
  return kReplyInPlace && kContextInPlace && kIncomingInPlace && kIncomingOfCoroutine && kItemsInPlace &&
         kItemsOfCoroutine && kBlocksOnWorker && kNothingLost && kResultStays;
}

/// Everything the server needs to call the function behind `M`.
template <auto M>
struct HandlerOf {
  using Traits = MethodTraits<M>;
  using Arguments = typename Traits::Arguments::Tuple;
  using Returned = typename Traits::Returned;
  using Object = typename Traits::Object;

  template <typename Call>
  static bool decode(const MethodEntry& method, Call& call, DecodeArena& arena, Arguments& arguments) {
    const Result<void> decoded =
        std::apply([&](auto&... values) { return decode_from(call.body(), arena, values...); }, arguments);
    if (!decoded.ok()) [[unlikely]] {
      call.refuse_arguments(decoded.status().with_context(method.key.name));
      return false;
    }
    return true;
  }

  template <typename... Extra>
  static Returned invoke(void* object, Arguments& arguments, Extra&&... extra) {
    return invoke_as(typename Traits::AsDeclared{}, object, arguments, std::forward<Extra>(extra)...);
  }

  template <typename... Declared, typename... Extra>
  static Returned invoke_as(TypeList<Declared...>, void* object, Arguments& arguments, Extra&&... extra) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) -> Returned {
      if constexpr (std::is_void_v<Object>) {
        return Traits::function(std::forward<Extra>(extra)...,
                                static_cast<Declared&&>(std::get<I>(arguments))...);
      } else {
        return (static_cast<Object*>(object)->*Traits::function)(
            std::forward<Extra>(extra)..., static_cast<Declared&&>(std::get<I>(arguments))...);
      }
    }(std::index_sequence_for<Declared...>{});
  }

  template <typename Call, typename... Extra>
  static void run(const MethodEntry& method, Call& call, DecodeArena& arena, Extra&&... extra) {
    try {
      Arguments arguments;
      if (!decode(method, call, arena, arguments)) return;
      if constexpr (std::is_void_v<Returned>) {
        invoke(method.object, arguments, std::forward<Extra>(extra)...);
        answer_with(call);
      } else {
        answer(call, invoke(method.object, arguments, std::forward<Extra>(extra)...));
      }
    } catch (...) {
      call.fail(status_of_exception(method));
    }
  }

  static void serve_inline(const MethodEntry& method, InlineCall& call) {
    if constexpr (!Traits::takes_context) {
      DecodeArena arena;
      run(method, call, arena);
    }
  }

  static void serve_record(const MethodEntry& method, ServedCall& call) {
    DecodeArena arena;
    if constexpr (Traits::takes_context) {
      run(method, call, arena, call.context());
    } else {
      run(method, call, arena);
    }
  }

  static void serve_delayed(const MethodEntry& method, ServedCall& call) {
    Reply<typename Traits::Result> reply{call};
    try {
      Arguments arguments;
      if (!decode_for_reply(method, call, arguments)) return;
      if constexpr (Traits::takes_context) {
        invoke(method.object, arguments, std::move(reply), call.context());
      } else {
        invoke(method.object, arguments, std::move(reply));
      }
    } catch (...) {
      call.unless_answered(status_of_exception(method));
    }
  }

  static bool decode_for_reply(const MethodEntry& method, ServedCall& call, Arguments& arguments) {
    DecodeArena arena;
    const Result<void> decoded =
        std::apply([&](auto&... values) { return decode_from(call.body(), arena, values...); }, arguments);
    // The handler may look at its arguments until it replies.
    if (!arena.empty()) call.details().kept_by_handler = std::make_shared<DecodeArena>(std::move(arena));
    if (!decoded.ok()) {
      call.unless_answered(decoded.status().with_context(method.key.name), true);
    }
    return decoded.ok();
  }

  /// Stands in for what a handler does not ask for.
  struct NotAsked {
    explicit NotAsked(ServedCall&) {}
  };
  struct NoBlockingEnd {
    explicit NoBlockingEnd(StreamExchange&) {}
  };
  using Incoming = std::conditional_t<Traits::chooses_landing, IncomingAttachment, NotAsked>;
  using ItemReader = std::conditional_t<Traits::takes_reader, Reader<typename Traits::Reads>, NotAsked>;
  using ItemWriter = std::conditional_t<Traits::takes_writer, Writer<typename Traits::Writes>, NotAsked>;

  template <bool kAsked, typename T>
  static auto only_if(T& parameter) {
    if constexpr (kAsked) {
      return std::tuple<T&>{parameter};
    } else {
      return std::tuple<>{};
    }
  }

  /// Parameters of a coroutine that the server adds, in their order.
  struct Added {
    explicit Added(ServedCall& its_call)
        : call(its_call),
          incoming(its_call),
          reader(item_end<ItemReader>(its_call)),
          writer(item_end<ItemWriter>(its_call)) {}

    auto parameters() {
      return std::tuple_cat(only_if<Traits::takes_context>(call.context()),
                            only_if<Traits::chooses_landing>(incoming), only_if<Traits::takes_reader>(reader),
                            only_if<Traits::takes_writer>(writer));
    }

    ServedCall& call;
    Incoming incoming;
    ItemReader reader;
    ItemWriter writer;

   private:
    template <typename End>
    static End item_end(ServedCall& its_call) {
      if constexpr (is_item_end<End>) {
        return End{*its_call.stream()};
      } else {
        return End{its_call};
      }
    }
  };

  using BlockingItemReader = std::conditional_t<Traits::takes_reader && Traits::blocks,
                                                BlockingReader<typename Traits::Reads>, NoBlockingEnd>;
  using BlockingItemWriter = std::conditional_t<Traits::takes_writer && Traits::blocks,
                                                BlockingWriter<typename Traits::Writes>, NoBlockingEnd>;

  /// Parameters of a handler that blocks for its items, in their order.
  struct BlockingEnds {
    BlockingEnds(ServedCall& its_call, StreamExchange& exchange)
        : call(its_call), reader(exchange), writer(exchange) {}

    auto parameters() {
      return std::tuple_cat(only_if<Traits::takes_context>(call.context()),
                            only_if<Traits::takes_reader>(reader), only_if<Traits::takes_writer>(writer));
    }

    ServedCall& call;
    BlockingItemReader reader;
    BlockingItemWriter writer;
  };

  static Returned invoke_coroutine(const MethodEntry& method, Arguments& arguments, Added& added) {
    return std::apply([&](auto&... parameters) { return invoke(method.object, arguments, parameters...); },
                      added.parameters());
  }

  static Task<void> serve_coroutine(const MethodEntry* method, ServedCall* call) {
    Status failure;
    DecodeArena arena;
    try {
      Arguments arguments;
      Added added{*call};
      if (!decode(*method, *call, arena, arguments)) co_return;
      if constexpr (is_stream<Returned>) {
        Returned stream = invoke_coroutine(*method, arguments, added);
        StreamRun run{stream, *call->stream()};
        failure = co_await run;
        if (failure.ok()) {
          co_await room_for(*call);
          answer_with(*call);
        }
      } else if constexpr (std::is_same_v<Returned, Task<void>>) {
        co_await invoke_coroutine(*method, arguments, added);
        co_await room_for(*call);
        answer_with(*call);
      } else {
        auto result = co_await invoke_coroutine(*method, arguments, added);
        if (!call->has_room()) [[unlikely]] {
          failure = keep_answer(*call, result);
          if (failure.ok()) co_await room_for(*call);
        }
        if (failure.ok()) answer(*call, std::move(result));
      }
    } catch (...) {
      failure = status_of_exception(*method);
    }
    if (failure.ok()) co_return;
    if (!call->has_room()) [[unlikely]] {
      failure = keep_failure(*call, std::move(failure));
      co_await room_for(*call);
    }
    call->fail(failure);
  }

  template <typename R>
  static bool is_good(const R& result) noexcept {
    if constexpr (is_result<R>) {
      return result.ok();
    } else {
      return true;
    }
  }
  /// Waits until every written item is on its way. Returns the reason if written or read items are not
  /// complete: a good answer would hide that. A failed handler reports its own failure, unless items were
  /// lost.
  static Status why_cut(StreamExchange& exchange, bool good) noexcept {
    Status lost = exchange.put().flush();
    return lost.ok() && good ? exchange.failure() : lost;
  }

  /// Serves a stream on a worker's thread: what the handler wrote is on its way before its answer is.
  static void serve_blocking(const MethodEntry& method, ServedCall& call) {
    StreamExchange& exchange = *call.envelope().exchange;
    DecodeArena arena;
    try {
      Arguments arguments;
      BlockingEnds ends{call, exchange};
      if (!decode(method, call, arena, arguments)) return;
      const auto serve = [&](auto&... parameters) -> Returned {
        return invoke(method.object, arguments, parameters...);
      };
      if constexpr (std::is_void_v<Returned>) {
        std::apply(serve, ends.parameters());
        if (const Status cut = why_cut(exchange, true); !cut.ok()) return call.fail(cut);
        answer_with(call);
      } else {
        decltype(auto) result = std::apply(serve, ends.parameters());
        if (const Status cut = why_cut(exchange, is_good(result)); !cut.ok()) return call.fail(cut);
        answer(call, result);
      }
    } catch (...) {
      const Status failure = status_of_exception(method);
      static_cast<void>(exchange.put().flush());
      call.fail(failure);
    }
  }

  /// Charges `call` for a result that waits for room. Gives the failure to answer in its place: its own, or
  /// that there is no memory for it.
  template <typename R>
  static Status keep_answer(ServedCall& call, R& result) noexcept {
    if constexpr (is_result<R>) {
      if (!result.ok()) return std::move(result).status();
    }
    return call.keep_answer(answer_bytes(result));
  }

  template <typename... Values>
  static consteval bool arguments_own_memory(std::tuple<Values...>*) {
    return (owns_memory<Values> || ...);
  }

  static MethodEntry entry(void* object, const HandlerOptions& options) {
    if constexpr (explain_parameters<Traits>(typename Traits::AsDeclared{})) {
      return make_entry(method_key<M>, requires { Traits::key; }, object, options);
    } else {
      return {};
    }
  }
  /// Makes the entry under a name that is known at run time only; `name` outlives the server.
  static MethodEntry named_entry(std::string_view name, void* object, const HandlerOptions& options) {
    if constexpr (explain_parameters<Traits>(typename Traits::AsDeclared{})) {
      MethodKey key{hash_name(name), SchemaOf<M>::hash(), name, &SchemaOf<M>::text};
      key.chooses_landing = Traits::chooses_landing;
      key.streams = has_items<Traits>;
      return make_entry(key, true, object, options);
    } else {
      return {};
    }
  }

  static MethodEntry make_entry(const MethodKey& key, bool keyed, void* object,
                                const HandlerOptions& options) {
    MethodEntry entry{key, options};
    entry.object = object;
    entry.described_text = [](const MethodEntry&) { return DescriptionOf<Traits>::text(); };
    entry.takes_attachment = Traits::takes_context || Traits::chooses_landing;
    entry.takes_items = !std::is_void_v<typename Traits::Reads>;
    entry.gives_items = !std::is_void_v<typename Traits::Writes>;
    entry.keyed = keyed;
    entry.copies_body = arguments_own_memory(static_cast<Arguments*>(nullptr));
    if constexpr (is_task<Returned> || is_stream<Returned>) {
      entry.kind = HandlerKind::kCoroutine;
      entry.on_loop_only = true;
      entry.serve_coroutine = &serve_coroutine;
    } else if constexpr (Traits::blocks) {
      entry.options.blocking = true;
      entry.serve_record = &serve_blocking;
    } else if constexpr (Traits::delayed) {
      entry.kind = HandlerKind::kRecord;
      entry.delayed = true;
      entry.serve_record = &serve_delayed;
    } else {
      entry.kind = Traits::takes_context ? HandlerKind::kRecord : HandlerKind::kInline;
      entry.serve_inline = &serve_inline;
      entry.serve_record = &serve_record;
      entry.ends_at_once = Traits::takes_context && !entry.options.blocking;
      entry.keeps_body = !entry.ends_at_once;
    }
    if (entry.options.blocking) entry.kind = HandlerKind::kBlocking;
    return entry;
  }
};

/// A handler that the server owns, and its name.
template <typename F>
struct OwnedHandler {
  std::string name;
  F function;
};

template <typename F>
concept HasOneCallOperator = requires { &F::operator(); };

/// A lambda or another object with one function call operator, which is no template.
template <typename F>
concept FunctionObject = HasOneCallOperator<std::remove_cvref_t<F>>;

/// `M` names a function that can be a handler: free, member, coroutine or delayed, of types that can be
/// encoded.
template <auto M>
concept Handler = requires {
  typename MethodTraits<M>::Arguments;
  MethodTraits<M>::function;
};
/// The same when arguments of these types cannot be decoded.
template <typename... Arguments>
consteval bool explain_decoded(std::tuple<Arguments...>*) {
  return (codec_detail::explain<codec_detail::decode_problem<Arguments, Arguments>>() && ...);
}
enum class HandlerName : std::uint8_t { kOfFunction, kGiven };
/// Fails to compile with the reason in words when `M` cannot be served. One function, because compilers list
/// each that lies between the user's line and the reason.
template <auto M, HandlerName kName = HandlerName::kOfFunction>
consteval bool explain_handler() {
  if constexpr (!explain_callable<M>()) {
    return false;
  } else if constexpr (!explain_parameters<MethodTraits<M>>(typename MethodTraits<M>::AsDeclared{})) {
    return false;
  } else if constexpr (!explain_types<MethodTraits<M>>(
                           typename MethodTraits<M>::Arguments{},
                           decltype(result_types<typename MethodTraits<M>::Result>()){})) {
    return false;
  } else if constexpr (!explain_decoded(static_cast<typename MethodTraits<M>::Arguments::Tuple*>(nullptr))) {
    return false;
  } else if constexpr (kName == HandlerName::kOfFunction) {
    return !MethodTraits<M>::name.empty();  // a name that cannot be shared is reported here
  } else {
    return true;
  }
}
/// A handler that needs no object.
template <auto M>
concept FreeHandler = Handler<M> && std::is_void_v<typename MethodTraits<M>::Object>;
/// A handler that is a member of `Object` or of its base.
template <auto M, typename Object>
concept MemberHandlerOf = Handler<M> && std::is_convertible_v<Object*, typename MethodTraits<M>::Object*>;

}  // namespace weft::detail
