// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "weft/detail/functions/handler.hpp"

namespace weft {

namespace detail {

/// Made from a string literal in angle brackets.
struct QuotedName {
  template <std::size_t kLetters>
  consteval QuotedName(const char (&)[kLetters]) {}  // NOLINT(google-explicit-constructor)
};

/// Gives a class that has register_method() the registration of functions: a server, or a client whose server
/// calls it. When that may be done, and on which thread, the class says.
template <typename Derived>
class FunctionServer {
 public:
  /// Registers free functions, each one `f`, `method<f, "key">` or a template's specialisation, all with the
  /// same options: `register_handler<add, multiply>()`. A name that was registered twice is refused when
  /// serving begins.
  template <auto... M>
    requires(sizeof...(M) > 0)
  void register_handler(const HandlerOptions& options = {}) {
    (register_function<M>(options), ...);
  }
  /// Registers member functions with their object, which must outlive this:
  /// `register_handler<&Store::get, &Store::put>(&store)`.
  template <auto... M, typename Object>
    requires(sizeof...(M) > 0 && !std::is_same_v<std::remove_cvref_t<Object>, HandlerOptions>)
  void register_handler(Object&& object, const HandlerOptions& options = {}) {
    constexpr bool kIsPointer = std::is_pointer_v<std::remove_cvref_t<Object>>;
    static_assert(kIsPointer,
                  "weft cannot serve this handler: an object is given by its address, as in "
                  "register_handler<&T::function>(&object), and a lambda with its name, as in "
                  "register_handler(\"name\", [](int number) { ... })");
    if constexpr (kIsPointer) (register_member<M>(object, options), ...);
  }

  /// Registers a lambda or another function object under a name, for clients that call
  /// `weft::remote<"name", R(Arguments...)>`. It is owned from then on; a server calls it from the threads of
  /// all its loops. A coroutine may use its captures.
  template <typename F>
  void register_handler(std::string name, F&& function, const HandlerOptions& options = {}) {
    using Function = std::remove_cvref_t<F>;
    static_assert(FunctionObject<F>,
                  "weft cannot serve this handler: it takes a lambda or an object with one function call "
                  "operator, without `auto` among its parameters; for a function write "
                  "register_handler<weft::method<function, \"name\">>()");
    if constexpr (FunctionObject<F>) {
      if constexpr (explain_handler<&Function::operator(), HandlerName::kGiven>()) {
        auto owned = std::make_shared<OwnedHandler<Function>>(std::move(name), std::forward<F>(function));
        using Handler = HandlerOf<&Function::operator()>;
        self().register_method(Handler::named_entry(owned->name, &owned->function, options), owned);
      }
    }
  }

  /// Refuses a handler without a name, and a name in angle brackets.
  template <QuotedName = "", typename F>
  void register_handler(F&&, const HandlerOptions& = {}) {
    static_assert(has_a_name<F>,
                  "weft cannot serve this handler: a lambda or another object has no name, so give it one: "
                  "register_handler(\"name\", [](int number) { ... }); only a function stands in angle "
                  "brackets: register_handler<function>()");
  }

 private:
  friend Derived;
  FunctionServer() = default;

  Derived& self() { return static_cast<Derived&>(*this); }

  template <typename>
  static constexpr bool has_a_name = false;

  template <auto M>
  void register_function(const HandlerOptions& options) {
    if constexpr (explain_handler<M>()) {
      static_assert(FreeHandler<M>,
                    "weft cannot serve this handler: a member function is registered with its object, as in "
                    "register_handler<&T::function>(&object)");
      if constexpr (FreeHandler<M>) self().register_method(HandlerOf<M>::entry(nullptr, options));
    }
  }
  template <auto M, typename Object>
  void register_member(Object* object, const HandlerOptions& options) {
    if constexpr (explain_handler<M>()) {
      static_assert(MemberHandlerOf<M, Object>,
                    "weft cannot serve this handler: it is no member function of this object's class, or the "
                    "object is const and the function is not");
    }
    if constexpr (explain_handler<M>() && MemberHandlerOf<M, Object>) {
      using Declared = typename MethodTraits<M>::Object;
      self().register_method(HandlerOf<M>::entry(
          const_cast<std::remove_const_t<Declared>*>(static_cast<Declared*>(object)), options));
    }
  }
};

}  // namespace detail

}  // namespace weft
