// SPDX-License-Identifier: Apache-2.0
#pragma once

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

 private:
  template <typename Asked>
  static consteval bool refuse() {
    static_assert(is_awaited<Asked>,
                  "weft gives the outcome of this only when it is awaited: a co_await is missing, as in auto "
                  "answer = co_await "
                  "client.call<f>(arguments...)");
    return false;
  }
};

}  // namespace weft::detail
