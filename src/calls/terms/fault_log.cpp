// SPDX-License-Identifier: Apache-2.0
#include "calls/terms/fault_log.hpp"

#include <algorithm>
#include <utility>

namespace weft::detail {

void FaultLog::note(std::string_view endpoint, std::string_view text, std::uint64_t faults, TimePoint now) {
  std::string line = line_for(endpoint, text, faults, now);
  if (!line.empty()) write_line(logger_, LogLevel::kWarning, [&] { return std::move(line); });
}

std::string FaultLog::line_for(std::string_view endpoint, std::string_view text, std::uint64_t faults,
                               TimePoint now) {
  const std::lock_guard lock(mutex_);
  Peer* peer = find_or_replace(address_of(endpoint), now);
  if (peer == nullptr) {
    others_left_out_ += faults;
    return {};
  }
  peer->left_out += faults;
  if (peer->written != TimePoint{} && now < peer->written + kInterval) return {};
  peer->written = now;
  std::string line = std::string{endpoint} + ": " + std::string{text};
  const std::uint64_t left_out = std::exchange(peer->left_out, 0) - 1;
  if (left_out != 0) line += " (" + std::to_string(left_out) + " more of this peer were not logged)";
  const std::uint64_t others = std::exchange(others_left_out_, 0);
  if (others != 0) line += " (" + std::to_string(others) + " of other peers were not logged)";
  return line;
}

void FaultLog::keep_back(std::string_view endpoint, std::uint64_t faults) {
  const std::lock_guard lock(mutex_);
  Peer* peer = find(address_of(endpoint));
  (peer != nullptr ? peer->left_out : others_left_out_) += faults;
}

std::string_view FaultLog::address_of(std::string_view endpoint) {
  if (!endpoint.starts_with("tcp://") && !endpoint.starts_with("tls://")) return endpoint;
  return endpoint.substr(0, endpoint.rfind(':'));
}

FaultLog::Peer* FaultLog::find(std::string_view address) {
  const auto found = std::ranges::find(peers_, address, &Peer::address);
  return found != peers_.end() ? &*found : nullptr;
}

FaultLog::Peer* FaultLog::find_or_replace(std::string_view address, TimePoint now) {
  if (Peer* known = find(address)) return known;
  Peer& oldest = *std::ranges::min_element(peers_, {}, &Peer::written);
  if (oldest.written != TimePoint{} && now < oldest.written + kInterval) return nullptr;
  others_left_out_ += oldest.left_out;
  oldest = {std::string{address}, TimePoint{}, 0};
  return &oldest;
}

}  // namespace weft::detail
