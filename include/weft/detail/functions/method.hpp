// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "weft/detail/calls/terms/method_key.hpp"
#include "weft/detail/codec/codec.hpp"
#include "weft/detail/codec/method_schema.hpp"
#include "weft/detail/coro/task.hpp"
#include "weft/detail/functions/fixed_string.hpp"
#include "weft/detail/functions/function_name.hpp"
#include "weft/detail/functions/result_types.hpp"

namespace weft {

class CallContext;
class IncomingAttachment;
template <typename R>
class Reply;
template <typename T>
class Reader;
template <typename T>
class Writer;
template <typename T>
class BlockingReader;
template <typename T>
class BlockingWriter;
template <typename T>
class Stream;

namespace detail {

template <auto Function, FixedString Key>
struct Method {};
template <FixedString Key, typename Signature>
struct Remote {};
template <auto M>
struct Idempotent {};

}  // namespace detail

/// A function under a name chosen by the user, for register_handler and call alike:
/// `client.call<weft::method<&add, "math/add">>(1, 2)`.
template <auto Function, detail::FixedString Key>
inline constexpr detail::Method<Function, Key> method{};

/// A method that is known by name and signature only, for clients that do not see the server's function:
/// `client.call<weft::remote<"math/add", int(int, int)>>(1, 2)`.
template <detail::FixedString Key, typename Signature>
inline constexpr detail::Remote<Key, Signature> remote{};

/// The same method, declared idempotent by the caller: running it twice has the effect of running it once, so
/// a ConnectionPool begins such a call again although it may have run. `M` is a function, method<> or
/// remote<>: `pool.call<weft::idempotent<lookup>>("key")`, or once for all calls: `inline constexpr auto find
/// = weft::idempotent<lookup>;`. The server registers `M` itself.
template <auto M>
inline constexpr detail::Idempotent<M> idempotent{};

namespace detail {

template <typename T>
struct ResultOf {
  using Value = T;
};
template <typename T>
struct ResultOf<Result<T>> {
  using Value = T;
};
template <typename T>
struct ResultOf<Task<T>> : ResultOf<T> {};

template <typename T>
struct ResultOf<Stream<T>> {
  using Value = void;
};

/// Type of the items that a handler of this return type sends; void: it sends none by returning.
template <typename Returned>
struct ItemOf {
  using Type = void;
};
template <typename T>
struct ItemOf<Stream<T>> {
  using Type = T;
};

template <typename T>
inline constexpr bool is_stream = false;
template <typename T>
inline constexpr bool is_stream<Stream<T>> = true;

template <typename T>
inline constexpr bool is_item_end = false;
template <typename T>
inline constexpr bool is_item_end<Reader<T>> = true;
template <typename T>
inline constexpr bool is_item_end<Writer<T>> = true;
template <typename T>
inline constexpr bool is_item_end<BlockingReader<T>> = true;
template <typename T>
inline constexpr bool is_item_end<BlockingWriter<T>> = true;

template <typename T>
inline constexpr bool is_task = false;
template <typename T>
inline constexpr bool is_task<Task<T>> = true;

template <typename T>
inline constexpr bool is_reply = false;
template <typename R>
inline constexpr bool is_reply<Reply<R>> = true;

template <typename... Ts>
struct TypeList {
  static constexpr std::size_t size = sizeof...(Ts);
  using Tuple = std::tuple<Ts...>;
};

/// Splits a parameter list into what the server adds (Reply first, then CallContext&, then
/// IncomingAttachment&, then Reader<T>& and Writer<T>&, or BlockingReader<T>& and BlockingWriter<T>&) and
/// what travels.
template <typename Returned, typename... Parameters>
struct Signature {
  using Result = typename ResultOf<std::remove_cvref_t<Returned>>::Value;
  using Arguments = TypeList<std::remove_cvref_t<Parameters>...>;
  using AsDeclared = TypeList<Parameters...>;
  /// Types of the items that the handler takes and sends; void: none.
  using Reads = void;
  using Writes = typename ItemOf<std::remove_cvref_t<Returned>>::Type;
  static constexpr bool takes_reader = false;
  static constexpr bool takes_writer = false;
  static constexpr bool items_in_place = true;
  /// The items are those of a blocking handler; or of both kinds, which cannot be served.
  static constexpr bool blocks = false;
  static constexpr bool mixes_items = false;
  static constexpr bool takes_context = false;
  static constexpr bool chooses_landing = false;
  static constexpr bool context_in_place = true;
  static constexpr bool delayed = false;
  static constexpr bool reply_after_context = false;
};
template <typename Returned, typename... Parameters>
struct Signature<Returned, CallContext&, Parameters...> : Signature<Returned, Parameters...> {
  static constexpr bool takes_context = true;
  static constexpr bool reply_after_context = Signature<Returned, Parameters...>::delayed;
};
template <typename Returned, typename... Parameters>
struct Signature<Returned, IncomingAttachment&, Parameters...> : Signature<Returned, Parameters...> {
  static constexpr bool chooses_landing = true;
  static constexpr bool context_in_place = !Signature<Returned, Parameters...>::takes_context;
};
template <typename Returned, typename T, typename... Parameters>
struct Signature<Returned, Reader<T>&, Parameters...> : Signature<Returned, Parameters...> {
  using Reads = T;
  static constexpr bool takes_reader = true;
  static constexpr bool mixes_items = Signature<Returned, Parameters...>::blocks;
  static constexpr bool context_in_place = !Signature<Returned, Parameters...>::takes_context;
  static constexpr bool items_in_place =
      !Signature<Returned, Parameters...>::takes_reader && Signature<Returned, Parameters...>::items_in_place;
};
template <typename Returned, typename T, typename... Parameters>
struct Signature<Returned, Writer<T>&, Parameters...> : Signature<Returned, Parameters...> {
  using Writes = T;
  static constexpr bool takes_writer = true;
  static constexpr bool context_in_place = !Signature<Returned, Parameters...>::takes_context;
  static constexpr bool items_in_place = !Signature<Returned, Parameters...>::takes_reader &&
                                         !Signature<Returned, Parameters...>::takes_writer &&
                                         std::is_void_v<typename Signature<Returned, Parameters...>::Writes>;
};
template <typename Returned, typename T, typename... Parameters>
struct Signature<Returned, BlockingReader<T>&, Parameters...>
    : Signature<Returned, Reader<T>&, Parameters...> {
  static constexpr bool blocks = true;
  static constexpr bool mixes_items =
      Signature<Returned, Parameters...>::takes_writer && !Signature<Returned, Parameters...>::blocks;
};
template <typename Returned, typename T, typename... Parameters>
struct Signature<Returned, BlockingWriter<T>&, Parameters...>
    : Signature<Returned, Writer<T>&, Parameters...> {
  static constexpr bool blocks = true;
};
template <typename R, typename... Parameters>
struct Signature<void, Reply<R>, Parameters...> : Signature<R, Parameters...> {
  static constexpr bool delayed = true;
};

/// Traits of a handler's type: how it is called, and which types travel.
template <typename F>
struct FunctionTraits {};
template <typename R, typename... Ps>
struct FunctionTraits<R (*)(Ps...)> : Signature<R, Ps...> {
  using Returned = R;
  using Object = void;
};
template <typename R, typename... Ps>
struct FunctionTraits<R (*)(Ps...) noexcept> : FunctionTraits<R (*)(Ps...)> {};
template <typename R, typename... Ps>
struct FunctionTraits<R(Ps...)> : FunctionTraits<R (*)(Ps...)> {};
template <typename C, typename R, typename... Ps>
struct FunctionTraits<R (C::*)(Ps...)> : Signature<R, Ps...> {
  using Returned = R;
  using Object = C;
};
template <typename C, typename R, typename... Ps>
struct FunctionTraits<R (C::*)(Ps...) noexcept> : FunctionTraits<R (C::*)(Ps...)> {};
template <typename C, typename R, typename... Ps>
struct FunctionTraits<R (C::*)(Ps...) const> : Signature<R, Ps...> {
  using Returned = R;
  using Object = const C;
};
template <typename C, typename R, typename... Ps>
struct FunctionTraits<R (C::*)(Ps...) const noexcept> : FunctionTraits<R (C::*)(Ps...) const> {};

template <typename C, typename R, typename... Ps>
struct FunctionTraits<R (C::*)(Ps...)&> : FunctionTraits<R (C::*)(Ps...)> {};
template <typename C, typename R, typename... Ps>
struct FunctionTraits<R (C::*)(Ps...) & noexcept> : FunctionTraits<R (C::*)(Ps...)> {};
template <typename C, typename R, typename... Ps>
struct FunctionTraits<R (C::*)(Ps...) const&> : FunctionTraits<R (C::*)(Ps...) const> {};
template <typename C, typename R, typename... Ps>
struct FunctionTraits<R (C::*)(Ps...) const & noexcept> : FunctionTraits<R (C::*)(Ps...) const> {};

template <auto M>
struct MethodTraits : FunctionTraits<decltype(M)> {
  static constexpr std::string_view name = function_name<M>;
  static constexpr auto function = M;
};
template <auto F, FixedString Key, Method<F, Key> M>
struct MethodTraits<M> : FunctionTraits<decltype(F)> {
  static constexpr auto key = Key;
  static constexpr std::string_view name = key.view();
  static constexpr auto function = F;
};
template <FixedString Key, typename S, Remote<Key, S> M>
struct MethodTraits<M> : FunctionTraits<S> {
  static constexpr auto key = Key;
  static constexpr std::string_view name = key.view();
};

template <auto F, Idempotent<F> M>
struct MethodTraits<M> : MethodTraits<F> {};

/// `M` is something that can be called: a function, a member function, or what method<> and remote<> made.
template <auto M>
concept Callable = requires { typename MethodTraits<M>::Arguments; };

/// Problem of the items of a stream; `void` stands for no items.
template <typename Item>
inline constexpr codec_detail::Problem item_problem = codec_detail::encode_problem<Item>;
template <>
inline constexpr codec_detail::Problem item_problem<void> = codec_detail::Problem::kNone;

template <typename Traits, typename... Arguments, typename... Results>
consteval bool explain_types(TypeList<Arguments...>, codec_detail::Types<Results...>) {
  return (codec_detail::explain<codec_detail::encode_problem<Arguments>>() && ...) &&
         (codec_detail::explain<codec_detail::encode_problem<Results>>() && ...) &&
         codec_detail::explain<item_problem<typename Traits::Reads>>() &&
         codec_detail::explain<item_problem<typename Traits::Writes>>();
}

/// These fail to compile with the reason in words when `M` cannot be called, or types of it cannot be
/// encoded. They are asked first, near the user's own line, so that compilers list few places between the
/// two.
template <auto M>
consteval bool explain_callable() {
  constexpr bool kIsFunction = std::is_member_function_pointer_v<decltype(M)> ||
                               std::is_function_v<std::remove_pointer_t<decltype(M)>>;
  static_assert(
      Callable<M> || kIsFunction,
      "weft cannot serve or call this: it is no function. A lambda has no name, so give it one: "
      "server.register_handler(\"name\", [](int number) { ... }), and client.call<weft::remote<\"name\", "
      "int(int)>>(1)");
  static_assert(Callable<M> || !kIsFunction,
                "weft cannot serve or call this function: it is volatile, is called on an rvalue (&&), or "
                "takes any arguments (...)");
  return Callable<M>;
}
template <auto M>
consteval bool explain_types_of() {
  return explain_types<MethodTraits<M>>(typename MethodTraits<M>::Arguments{},
                                        decltype(result_types<typename MethodTraits<M>::Result>()){});
}

template <auto M>
inline constexpr bool is_idempotent = false;
template <auto F, Idempotent<F> M>
inline constexpr bool is_idempotent<M> = true;

template <typename List, typename ResultList>
struct Schema;
template <typename... Args, typename... Results>
struct Schema<TypeList<Args...>, codec_detail::Types<Results...>> {
  static constexpr std::uint32_t hash() {
    return method_schema(schema_hash<Args...>(), schema_hash<Results...>());
  }
  static std::string text(const MethodKey&) {
    const std::string result = sizeof...(Results) == 0 ? "void" : schema_text<Results...>();
    return schema_text<Args...>() + " -> " + result;
  }
};

/// Schema of a method of streams: of its arguments and its result, and of the items each way.
template <typename Plain, typename Reads, typename Writes>
struct StreamSchema {
  static constexpr std::uint32_t hash() {
    return stream_schema(Plain::hash(), items_hash<Reads>(), items_hash<Writes>());
  }
  static std::string text(const MethodKey& key) {
    std::string text = Plain::text(key);
    if constexpr (!std::is_void_v<Reads>) text = "stream of " + schema_text<Reads>() + ", " + text;
    if constexpr (!std::is_void_v<Writes>) text += ", stream of " + schema_text<Writes>();
    return text;
  }

 private:
  template <typename T>
  static constexpr std::uint64_t items_hash() {
    if constexpr (std::is_void_v<T>) {
      return kNoItemsHash;
    } else {
      return schema_hash<T>();
    }
  }
};

/// Calls of the method are streams.
template <typename Traits>
inline constexpr bool has_items =
    // NOLINTNEXTLINE(misc-redundant-expression): two types, which may be the same one
    !std::is_void_v<typename Traits::Reads> || !std::is_void_v<typename Traits::Writes>;

template <typename Traits>
using PlainSchemaOf = Schema<typename Traits::Arguments, decltype(result_types<typename Traits::Result>())>;

template <auto M>
using SchemaOf =
    std::conditional_t<has_items<MethodTraits<M>>,
                       StreamSchema<PlainSchemaOf<MethodTraits<M>>, typename MethodTraits<M>::Reads,
                                    typename MethodTraits<M>::Writes>,
                       PlainSchemaOf<MethodTraits<M>>>;

/// The key of a function, of `method<...>` or of `remote<...>`.
template <auto M>
inline constexpr MethodKey method_key{hash_name(MethodTraits<M>::name),
                                      SchemaOf<M>::hash(),
                                      MethodTraits<M>::name,
                                      &SchemaOf<M>::text,
                                      {},
                                      {},
                                      MethodTraits<M>::chooses_landing,
                                      is_idempotent<M>,
                                      has_items<MethodTraits<M>>};

}  // namespace detail

}  // namespace weft
