// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "naming/etcd_hosts.hpp"
#include "naming/first_turn.hpp"
#include "naming/http_client.hpp"
#include "weft/detail/coro/event.hpp"
#include "weft/detail/coro/scope.hpp"
#include "weft/detail/limits/backoff.hpp"
#include "weft/detail/naming/name_registration.hpp"
#include "weft/detail/runtime/deferred_log.hpp"

namespace weft::detail {

/// Keeps one key of etcd alive by a lease. States: no lease -grant-> lease -put-> registered, renewed until
/// etcd says that the lease is gone, which leads back to no lease; left for good by leave() and close().
/// Shared with the coroutines that wait on it. Thread: its loop's.
class Registrar {
 public:
  Registrar(Loop& loop, EtcdHosts hosts, const Endpoint& endpoint, const RegistrationOptions& options);
  ~Registrar() { close(); }

  /// Stops where it stands; the key stays until the lease has run out.
  void close() noexcept;
  static Task<Result<void>> registered(std::shared_ptr<Registrar> self);
  static Task<Result<void>> leave(std::shared_ptr<Registrar> self);

  const Loop& loop() const noexcept { return loop_; }
  std::uint64_t registrations() const noexcept { return registrations_; }
  std::uint64_t renewals() const noexcept { return renewals_; }
  Status last_failure() const noexcept { return failure_; }

 private:
  static Task<void> run(Registrar* self);
  Task<Status> take_lease();
  Task<Status> renew();
  Task<Result<std::string>> ask(std::string_view method, std::string body);
  void note(const Status& outcome);

  Loop& loop_;
  EtcdHosts hosts_;
  const RegistrationOptions options_;
  const std::string key_;
  const std::string value_;
  Backoff backoff_;
  HttpClient client_;
  DeferredLog log_;
  std::int64_t lease_ = 0;
  bool is_put_ = false;
  bool closed_ = false;
  std::uint64_t registrations_ = 0;
  std::uint64_t renewals_ = 0;
  Status failure_;
  Event event_;
  Scope scope_;
  FirstTurn first_turn_;
};

}  // namespace weft::detail
