// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "weft/detail/base/result.hpp"
#include "weft/detail/coro/task.hpp"
#include "weft/detail/naming/endpoint.hpp"
#include "weft/detail/naming/name_options.hpp"
#include "weft/detail/runtime/loop.hpp"

namespace weft {

namespace detail {
class Registrar;
}  // namespace detail

struct RegistrationOptions {
  /// The entry is gone so long after the last sign of life; whole seconds, from 2 s to a day. It is renewed
  /// at a third of that.
  std::chrono::seconds ttl{10};
  Duration backoff_min = std::chrono::milliseconds{100};
  /// Kept below the TTL, if that is shorter.
  Duration backoff_max = std::chrono::seconds{30};
  Duration request_timeout = std::chrono::seconds{5};
  /// Outlives the registration.
  Logger* logger = &stderr_logger();
};

/// One server's entry under a name, kept alive until leave() or the end of this; made by register_name().
/// A registration that is destroyed without leave() waits for nothing, and its entry is gone when the TTL has
/// passed.
/// Thread: its loop's; ends before the loop does. A registration that is destroyed on another thread ends the
/// process. registered() and leave() fail with kFailedPrecondition there.
class NameRegistration {
  struct Private {
    explicit Private() = default;
  };

 public:
  NameRegistration(Private, std::shared_ptr<detail::Registrar> registrar);
  NameRegistration(NameRegistration&&) noexcept;
  NameRegistration& operator=(NameRegistration&&) = delete;
  ~NameRegistration();

  /// Waits until the entry was written for the first time. Cancel: total.
  /// Errors: to_status(reason) when cancelled, kCancelled when it left or ended meanwhile.
  Task<Result<void>> registered() const;
  /// Takes the entry out at once and renews it no more. Calling it again changes nothing. Cancel: partial,
  /// the entry may stay until its TTL has passed. Errors: kUnavailable when etcd does not answer within the
  /// request timeout.
  Task<Result<void>> leave();

  /// Returns how often the entry was written: more than once when etcd had lost the lease.
  std::uint64_t registrations() const noexcept;
  /// Returns how often the lease was renewed.
  std::uint64_t renewals() const noexcept;
  /// Returns why the last attempt failed; ok when it did not.
  Status last_failure() const noexcept;

 private:
  friend Result<NameRegistration> register_name(Loop& loop, std::string_view name, const Endpoint& endpoint,
                                                const RegistrationOptions& options);

  std::shared_ptr<detail::Registrar> registrar_;
};

/// Begins to keep `endpoint` registered under `name`, which is one of etcd: as watch_name() takes it. An etcd
/// that does not answer is tried again. `loop` outlives the registration.
/// Errors: kInvalidArgument for a name, endpoint or options that mean nothing, kUnimplemented for a scheme
/// without registration or when this build lacks its library, kFailedPrecondition on another thread than the
/// loop's. Thread: the loop's.
Result<NameRegistration> register_name(Loop& loop, std::string_view name, const Endpoint& endpoint,
                                       const RegistrationOptions& options);

}  // namespace weft
