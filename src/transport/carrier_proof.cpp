// SPDX-License-Identifier: Apache-2.0
#include "transport/carrier_proof.hpp"

#include <algorithm>
#include <utility>

#include "weft/detail/base/secret.hpp"

namespace weft::detail {

CarrierProof::~CarrierProof() {
  wipe_memory(ours_.data(), kBytes);
  wipe_memory(theirs_.data(), kBytes);
  wipe_memory(arrived_.data(), kBytes);
}

// The first half is sent by who connected.
bool CarrierProof::begin(BaseSecret& secret, wire::CarrierKind kind, bool connecting) noexcept {
  std::array<std::byte, 2 * kBytes> both{};
  const bool derived = secret.derive(to_string(kind), both);
  if (derived) {
    Proof& first = connecting ? ours_ : theirs_;
    Proof& second = connecting ? theirs_ : ours_;
    std::copy_n(both.begin(), kBytes, first.begin());
    std::copy_n(both.begin() + kBytes, kBytes, second.begin());
  }
  wipe_memory(both.data(), both.size());
  return derived;
}

CarrierProof::Outcome CarrierProof::exchange(Carrier& carrier) noexcept {
  if (!send(carrier) || !receive(carrier)) return Outcome::kLost;
  if (received_ < kBytes) return Outcome::kWaits;
  if (!is_right()) return Outcome::kWrong;
  return sent_ < kBytes ? Outcome::kWaits : Outcome::kProven;
}

// False when the carrier has failed.
bool CarrierProof::send(Carrier& carrier) noexcept {
  while (sent_ < kBytes) {
    const iovec rest{ours_.data() + sent_, kBytes - sent_};
    const Moved moved = carrier.send({&rest, 1}, 0);
    if (moved.waits()) return true;
    if (moved.kind != Moved::Kind::kSome) return false;
    sent_ += moved.bytes;
  }
  return true;
}

// Not a byte more than the proof: the connection's may be behind it.
bool CarrierProof::receive(Carrier& carrier) noexcept {
  while (received_ < kBytes) {
    const iovec rest{arrived_.data() + received_, kBytes - received_};
    const Moved moved = carrier.receive({&rest, 1}, {});
    if (moved.waits()) return true;
    if (moved.kind != Moved::Kind::kSome) return false;
    received_ += moved.bytes;
  }
  return true;
}

// Takes a time that does not depend on the position of a difference.
bool CarrierProof::is_right() const noexcept {
  unsigned differences = 0;
  for (std::size_t i = 0; i < kBytes; ++i) {
    differences |= std::to_integer<unsigned>(arrived_[i] ^ theirs_[i]);
  }
  const volatile unsigned found = differences;
  return found == 0;
}

}  // namespace weft::detail
