// SPDX-License-Identifier: Apache-2.0
#include "raw/wire.hpp"

namespace weft::raw {

namespace {

Status missing() {
  return {StatusCode::kUnimplemented, Layer::kTransport,
          "this build has no TLS (on Debian, install libssl-dev and build again)"};
}

}  // namespace

Result<std::shared_ptr<TlsContext>> TlsContext::of_server(const load::TlsFlags&) {
  return missing();
}

Result<std::shared_ptr<TlsContext>> TlsContext::of_client(const load::TlsFlags&) {
  return missing();
}

void Wire::Free::operator()(ssl_st*) const noexcept {}

Status Wire::accept_tls(const TlsContext&) {
  return missing();
}

Status Wire::blocking_connect_tls(const TlsContext&, const std::string&) {
  return missing();
}

ssize_t Wire::receive_tls(std::byte*, std::size_t) {
  return -1;
}

ssize_t Wire::send_tls(Bytes) {
  return -1;
}

ssize_t Wire::send_tls(std::span<const iovec>) {
  return -1;
}

}  // namespace weft::raw
