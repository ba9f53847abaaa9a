// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>

#include "weft/detail/base/time.hpp"
#include "weft/detail/transport/identity.hpp"

namespace weft {

/// Decides who may call which method. Created in `main`, and given to a server as ServerOptions::authorizer.
/// It is called before more than the header and the metadata of a call is kept. A caller without the right
/// gets kUnauthenticated when it is anonymous, otherwise kPermissionDenied, and cannot distinguish a
/// forbidden method from an unknown one.
///
/// Thread: each loop of the server calls it on its own thread, concurrently with others.
class Authorizer {
 public:
  virtual ~Authorizer() = default;

  /// Says whether `caller` may call `method`, by its name as it was registered: for one of protobuf
  /// "package.Service/Method". The connection keeps the answer until version() is another.
  virtual bool may_call(const Identity& caller, std::string_view method) noexcept = 0;
  /// True if `caller` may learn which methods exist.
  virtual bool may_know_methods([[maybe_unused]] const Identity& caller) noexcept { return false; }
  /// Returns a number that changes when answers do. Asked for every call, so it is quick.
  virtual std::uint64_t version([[maybe_unused]] TimePoint now) noexcept { return 0; }

 protected:
  Authorizer() = default;
  Authorizer(const Authorizer&) = default;
  Authorizer& operator=(const Authorizer&) = default;
};

namespace detail {

template <typename F>
class FunctionAuthorizer final : public Authorizer {
 public:
  explicit FunctionAuthorizer(F function) : function_(std::move(function)) {}
  bool may_call(const Identity& caller, std::string_view method) noexcept override {
    return function_(caller, method);
  }

 private:
  const F function_;
};

}  // namespace detail

/// Makes an Authorizer of `bool(const Identity& caller, std::string_view method) noexcept`, which all loops
/// call at the same time, and whose answers do not change. What depends on more than caller and method is an
/// interceptor's. Throws std::bad_alloc.
template <typename F>
std::shared_ptr<Authorizer> authorize_by(F function) {
  static_assert(std::is_nothrow_invocable_r_v<bool, const F&, const Identity&, std::string_view>,
                "weft needs a function that is const and noexcept, takes a const Identity& and the method's "
                "std::string_view, and returns a bool");
  return std::make_shared<detail::FunctionAuthorizer<F>>(std::move(function));
}

}  // namespace weft
