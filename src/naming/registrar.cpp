// SPDX-License-Identifier: Apache-2.0
#include "naming/registrar.hpp"

#include <algorithm>
#include <utility>

#include "naming/endpoint_text.hpp"
#include "naming/etcd_json.hpp"
#include "naming/loop_check.hpp"
#include "weft/detail/runtime/sleep.hpp"

namespace weft::detail {

namespace {

constexpr std::size_t kAnswerBytesMax = 65536;

Status ended() {
  return {StatusCode::kCancelled, Layer::kRuntime, "the registration has left or ended"};
}

}  // namespace

Registrar::Registrar(Loop& loop, EtcdHosts hosts, const Endpoint& endpoint,
                     const RegistrationOptions& options)
    : loop_(loop),
      hosts_(std::move(hosts)),
      options_(options),
      // The key is the server's own, so that one that was started anew takes its old entry's place.
      key_(hosts_.prefix() + endpoint.url),
      value_(to_text(endpoint)),
      backoff_(options.backoff_min, std::min<Duration>(options.backoff_max, options.ttl)),
      client_(loop),
      log_(loop, *options_.logger),
      first_turn_(loop, [this] {
        if (!closed_) scope_.spawn(&Registrar::run, this);
      }) {}

void Registrar::close() noexcept {
  closed_ = true;
  log_.clear();
  scope_.drop_all();
  event_.set();
}

Task<void> Registrar::run(Registrar* self) {
  for (;;) {
    Status outcome;
    if (self->lease_ == 0 || !self->is_put_) {
      outcome = co_await self->take_lease();
    } else {
      outcome = co_await self->renew();
    }
    self->note(outcome);
    Duration wait = Duration{self->options_.ttl} / 3;
    if (outcome.ok()) {
      self->backoff_.reset();
    } else {
      self->hosts_.next();
      wait = self->backoff_.next(self->loop_.random().next());
    }
    auto slept = co_await sleep_for(wait);
    if (!slept.ok()) co_return;
  }
}

Task<Status> Registrar::take_lease() {
  if (lease_ == 0) {
    auto granted = co_await ask("lease/grant", grant_request(options_.ttl.count()));
    if (!granted.ok()) co_return std::move(granted).status();
    auto lease = read_grant(*granted);
    if (!lease.ok()) co_return std::move(lease).status();
    lease_ = lease->id;
  }
  auto put = co_await ask("kv/put", put_request(key_, value_, lease_));
  if (!put.ok()) {
    // Whether it was put is not known, nor whether the lease is still there: the next attempt has its own.
    lease_ = 0;
    co_return std::move(put).status();
  }
  is_put_ = true;
  ++registrations_;
  event_.set();
  co_return Status{};
}

Task<Status> Registrar::renew() {
  auto renewed = co_await ask("lease/keepalive", lease_request(lease_));
  if (!renewed.ok()) co_return std::move(renewed).status();
  auto lease = read_keep_alive(*renewed);
  if (!lease.ok()) co_return std::move(lease).status();
  if (lease->ttl_seconds <= 0) {
    lease_ = 0;
    is_put_ = false;
    co_return Status{StatusCode::kUnavailable, Layer::kRuntime,
                     "etcd has lost the lease; another is asked for"};
  }
  ++renewals_;
  co_return Status{};
}

Task<Result<std::string>> Registrar::ask(std::string_view method, std::string body) {
  return client_.post(hosts_.url(method), std::move(body), kAnswerBytesMax, options_.request_timeout);
}

void Registrar::note(const Status& outcome) {
  const bool is_news = outcome.code() != failure_.code();
  failure_ = outcome;
  if (outcome.ok() || !is_news) return;
  log_.write(LogLevel::kWarning,
             [&] { return "naming: registration of " + key_ + ": " + outcome.to_string(); });
}

Task<Result<void>> Registrar::registered(std::shared_ptr<Registrar> self) {
  if (!self->closed_ && !self->loop_.is_used_here()) co_return Status::of<kOffTheLoop>();
  if (self->registrations_ == 0 && !self->closed_) {
    auto waited = co_await self->event_.wait();
    if (!waited.ok()) co_return waited;
  }
  if (self->registrations_ == 0) co_return ended();
  co_return Result<void>{};
}

Task<Result<void>> Registrar::leave(std::shared_ptr<Registrar> self) {
  if (!self->loop_.is_used_here()) co_return Status::of<kOffTheLoop>();
  self->close();
  const std::int64_t lease = std::exchange(self->lease_, 0);
  if (lease == 0) co_return Result<void>{};
  auto revoked = co_await self->ask("lease/revoke", lease_request(lease));
  if (!revoked.ok()) {
    co_return revoked.status().with_context("the entry stays until its TTL has passed");
  }
  co_return Result<void>{};
}

}  // namespace weft::detail
