// SPDX-License-Identifier: Apache-2.0
// Stands in for the sources of etcd: where its libraries are not installed.
#include "naming/name_source.hpp"
#include "weft/detail/naming/name_registration.hpp"

namespace weft {

namespace detail {

class Registrar {};

namespace {
Status no_etcd() {
  return {StatusCode::kUnimplemented, Layer::kRuntime,
          "this build of Weft has no etcd: names; install libcurl4-openssl-dev and nlohmann-json3-dev and "
          "build it anew"};
}
}  // namespace

MadeSource make_etcd_source(Loop&, NameBoard&, std::string_view) {
  return no_etcd();
}

}  // namespace detail

NameRegistration::NameRegistration(Private, std::shared_ptr<detail::Registrar>) {}
NameRegistration::NameRegistration(NameRegistration&&) noexcept = default;
NameRegistration::~NameRegistration() = default;
Task<Result<void>> NameRegistration::registered() const {
  co_return detail::no_etcd();
}
Task<Result<void>> NameRegistration::leave() {
  co_return detail::no_etcd();
}
std::uint64_t NameRegistration::registrations() const noexcept {
  return 0;
}
std::uint64_t NameRegistration::renewals() const noexcept {
  return 0;
}
Status NameRegistration::last_failure() const noexcept {
  return detail::no_etcd();
}

Result<NameRegistration> register_name(Loop&, std::string_view, const Endpoint&, const RegistrationOptions&) {
  return detail::no_etcd();
}

}  // namespace weft
