// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <type_traits>

namespace weft::detail {

template <typename>
inline constexpr bool is_awaited = false;

/// Base of types that must be awaited. It has the members of a Result; using one of them is a compile-time
/// error about the missing co_await.
struct AwaitedFirst {
  template <typename Asked = void>
  bool ok() const {
    return refuse<Asked>();
  }
  template <typename Asked = void>
  int value() const {
    return refuse<Asked>();
  }
  template <typename Asked = void>
  int status() const {
    return refuse<Asked>();
  }
  template <typename Asked = void>
  int operator*() const {
    return refuse<Asked>();
  }

 protected:
  template <typename Asked>
  static consteval bool refuse() {
    static_assert(is_awaited<Asked>,
                  "weft gives the outcome of this only when it is awaited: a co_await is missing, as in auto "
                  "answer = co_await client.call<f>(arguments...)");
    return false;
  }
};

template <typename Awaited>
struct ValueInside {
  struct None {};
  using Type = None;
};
template <typename Awaited>
  requires(!std::is_void_v<typename Awaited::value_type>)
struct ValueInside<Awaited> {
  using Type = typename Awaited::value_type;
};

/// The same for an awaitable that returns an `Awaited`, which is no Task: converting the awaitable to an
/// `Awaited`, to the value inside it, or to bool is a compile-time error about the missing co_await. The
/// conversions are neither const nor templates, so that they are chosen before constructors that are
/// templates.
template <typename Awaited>
struct AwaitedBefore : AwaitedFirst {
  // NOLINTBEGIN(google-explicit-constructor)
  operator Awaited() {
    static_cast<void>(AwaitedFirst::refuse<Awaited>());
    std::abort();
  }
  operator typename ValueInside<Awaited>::Type() {
    static_cast<void>(AwaitedFirst::refuse<Awaited>());
    std::abort();
  }
  // NOLINTEND(google-explicit-constructor)
  explicit operator bool()
    requires(!std::is_same_v<Awaited, bool> && !std::is_same_v<typename ValueInside<Awaited>::Type, bool>)
  {
    return AwaitedFirst::refuse<Awaited>();
  }
};

}  // namespace weft::detail
