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

/// Key of the metadata entry that carries a call's token; its value is "Bearer " and the token, as in HTTP.
inline constexpr std::string_view kAuthorizationKey = "authorization";

/// A call's token and its origin. Valid while an Authenticator examines it.
struct Credentials {
  /// One or more letters, digits and -._~+/=. A token with other characters was refused before.
  std::string_view token;
  /// Identity of the connection, without the token.
  const Identity& peer;
  /// Current time of the clock of the connection's loop.
  TimePoint now;
};

/// The caller that a token identifies.
struct Authenticated {
  Identity identity;
  /// Time for which the connection caches this result for calls with the same token. Zero: it asks for each
  /// call. Duration::max(): it caches the result as long as Authenticator::version() does not change.
  Duration good_for{};
};

/// Determines the caller of a call from the token that the call carries. Created in `main`, and given to a
/// server as ServerOptions::authenticator. It is not asked about calls without a token: these have the
/// identity of their connection, regardless of tokens in earlier calls. An invalid token refuses its call,
/// even if the connection's identity alone would suffice.
///
/// Thread: each loop of the server calls it on its own thread, concurrently with others. It blocks its loop's
/// other calls for its duration, so it must neither wait nor query another server.
class Authenticator {
 public:
  virtual ~Authenticator() = default;

  /// Called once per call, or twice for a large one: when its token has arrived, and when the whole call has.
  /// A failure becomes the answer of the call; its text should reveal only that the token is invalid.
  virtual Result<Authenticated> authenticate(const Credentials& credentials) noexcept = 0;
  /// Returns a number that changes when cached results must no longer be used. Called for every call with a
  /// token, so it must be fast.
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

/// Makes an Authenticator from a `Result<Authenticated>(const Credentials&) noexcept`, which all loops call
/// concurrently. Throws std::bad_alloc.
template <typename F>
std::shared_ptr<Authenticator> authenticate_by(F function) {
  static_assert(std::is_nothrow_invocable_r_v<Result<Authenticated>, const F&, const Credentials&>,
                "weft needs a function that is const and noexcept, takes a const Credentials& and returns a "
                "Result<Authenticated>");
  return std::make_shared<detail::FunctionAuthenticator<F>>(std::move(function));
}

}  // namespace weft
