// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/naming/name_registration.hpp"

#include <utility>

#include "naming/endpoint_text.hpp"
#include "naming/loop_check.hpp"
#include "naming/registrar.hpp"

namespace weft {

namespace {

Result<void> check_registration(const RegistrationOptions& options) {
  if (options.logger == nullptr) return detail::bad_name("RegistrationOptions::logger is null");
  if (options.ttl < std::chrono::seconds{2} || options.ttl > std::chrono::hours{24}) {
    return detail::bad_name("RegistrationOptions::ttl is not from 2 s to a day");
  }
  if (options.backoff_min <= Duration::zero()) {
    return detail::bad_name("RegistrationOptions::backoff_min is not above zero");
  }
  if (options.backoff_max < options.backoff_min) {
    return detail::bad_name("RegistrationOptions::backoff_max is below backoff_min");
  }
  if (options.request_timeout < std::chrono::milliseconds{1}) {
    return detail::bad_name("RegistrationOptions::request_timeout is below a millisecond");
  }
  return {};
}

}  // namespace

NameRegistration::NameRegistration(Private, std::shared_ptr<detail::Registrar> registrar)
    : registrar_(std::move(registrar)) {}
NameRegistration::NameRegistration(NameRegistration&&) noexcept = default;
NameRegistration::~NameRegistration() {
  if (!registrar_) return;
  detail::check_end_of_name(registrar_->loop());
  registrar_->close();
}

Task<Result<void>> NameRegistration::registered() const {
  return detail::Registrar::registered(registrar_);
}
Task<Result<void>> NameRegistration::leave() {
  return detail::Registrar::leave(registrar_);
}
std::uint64_t NameRegistration::registrations() const noexcept {
  return registrar_->registrations();
}
std::uint64_t NameRegistration::renewals() const noexcept {
  return registrar_->renewals();
}
Status NameRegistration::last_failure() const noexcept {
  return registrar_->last_failure();
}

Result<NameRegistration> register_name(Loop& loop, std::string_view name, const Endpoint& endpoint,
                                       const RegistrationOptions& options) {
  if (!loop.is_used_here()) return Status::of<detail::kOffTheLoop>();
  if (!name.starts_with("etcd:")) {
    return Status{StatusCode::kUnimplemented, Layer::kRuntime,
                  "servers register under names of etcd only (etcd://127.0.0.1:2379/services/kv)"};
  }
  if (auto checked = detail::check_endpoint(endpoint); !checked.ok()) return std::move(checked).status();
  if (auto checked = check_registration(options); !checked.ok()) return std::move(checked).status();
  auto hosts = detail::EtcdHosts::parse(name.substr(5));
  if (!hosts.ok()) return std::move(hosts).status();
  return NameRegistration{NameRegistration::Private{},
                          std::make_shared<detail::Registrar>(loop, std::move(*hosts), endpoint, options)};
}

}  // namespace weft
