// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>

#include "weft/detail/base/result.hpp"
#include "weft/detail/base/status.hpp"
#include "weft/detail/base/time.hpp"
#include "weft/detail/transport/identity.hpp"

namespace weft {

/// Key of the metadata that a call brings a token under; the value is "Bearer " and the token, as in HTTP.
inline constexpr std::string_view kAuthorizationKey = "authorization";

/// Token that a call has brought, and where from. Valid while an Authenticator looks at it.
struct Credentials {
  /// Letters, digits and -._~+/=, at least one: anything else was refused before.
  std::string_view token;
  /// The connection's, before the token says more.
  const Identity& peer;
  /// The time by the clock of the connection's loop.
  TimePoint now;
};

/// Caller that a token stands for.
struct Authenticated {
  Identity identity;
  /// The connection keeps the answer for so long, for calls that bring the same token: zero asks again for
  /// each call, Duration::max() for as long as Authenticator::version() stays the same.
  Duration good_for{};
};

/// Determines the caller of a call by the token that the call carries. Created in `main`, and given to a
/// server as ServerOptions::authenticator. Not asked about calls without a token: these have the identity of
/// their connection, whatever earlier calls on it carried. An invalid token refuses its call, even if the
/// connection's identity alone would suffice.
///
/// Thread: each loop of the server calls it on its own thread, concurrently with others. It blocks its loop's
/// other calls for its duration, so it must neither wait nor ask another server.
class Authenticator {
 public:
  virtual ~Authenticator() = default;

  /// Asked once for a call, or for a large one twice: when its token has arrived and when all of it has. A
  /// failure is the call's answer; it should not say more than that the token is not good.
  virtual Result<Authenticated> authenticate(const Credentials& credentials) noexcept = 0;
  /// Returns a number that changes when answers that are kept are not to be used any more. Asked for every
  /// call with a token, so it is quick.
  virtual std::uint64_t version([[maybe_unused]] TimePoint now) noexcept { return 0; }

 protected:
  Authenticator() = default;
  Authenticator(const Authenticator&) = default;
  Authenticator& operator=(const Authenticator&) = default;
};

namespace detail {

template <typename F>
class FunctionAuthenticator final : public Authenticator {
 public:
  explicit FunctionAuthenticator(F function) : function_(std::move(function)) {}
  Result<Authenticated> authenticate(const Credentials& credentials) noexcept override {
    return function_(credentials);
  }

 private:
  const F function_;
};

}  // namespace detail

/// Makes an Authenticator of `Result<Authenticated>(const Credentials&) noexcept`, which all loops call at
/// the same time. Throws std::bad_alloc.
template <typename F>
std::shared_ptr<Authenticator> authenticate_by(F function) {
  static_assert(std::is_nothrow_invocable_r_v<Result<Authenticated>, const F&, const Credentials&>,
                "weft needs a function that is const and noexcept, takes a const Credentials& and returns a "
                "Result<Authenticated>");
  return std::make_shared<detail::FunctionAuthenticator<F>>(std::move(function));
}

}  // namespace weft
