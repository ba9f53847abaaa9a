// SPDX-License-Identifier: Apache-2.0
#include "transport/tls/handshake_gate.hpp"

#include <utility>

#include "transport/tls/address_key.hpp"

namespace weft::detail::tls {

namespace {

constexpr std::size_t kAddressesMax = 4096;
constexpr Duration kBetweenLines = std::chrono::seconds{1};

}  // namespace

HandshakeGate::HandshakeGate(std::shared_ptr<Credentials> credentials, std::string url, TimePoint now)
    : credentials_(std::move(credentials)), url_(std::move(url)) {
  const TlsOptions& options = credentials_->options();
  if (options.handshake_rate) all_.emplace(*options.handshake_rate, now);
  if (options.handshake_rate_of_address) {
    of_address_.emplace(*options.handshake_rate_of_address, kAddressesMax, now);
  }
}

// The limit of the address first, so that an address above its limit takes nothing from the shared one.
bool HandshakeGate::admits(const std::string& endpoint, TimePoint now) noexcept {
  const bool admitted = (!of_address_ || of_address_->take(now, address_key(endpoint)) == Duration{}) &&
                        (!all_ || all_->try_take(now));
  if (!admitted) note(now);
  return admitted;
}

void HandshakeGate::note(TimePoint now) noexcept {
  Tally::count(credentials_->tally().over_rate);
  ++refused_;
  Logger* const logger = credentials_->options().logger;
  if (logger == nullptr || now < next_line_) return;
  next_line_ = now + kBetweenLines;
  const std::uint64_t refused = std::exchange(refused_, 0);
  write_line(*logger, LogLevel::kWarning, [&] {
    return url_ + ": " + std::to_string(refused) +
           " connections were closed, because more came than TlsOptions::handshake_rate allows";
  });
}

}  // namespace weft::detail::tls
