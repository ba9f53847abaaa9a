// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "weft/detail/transport/base_secret.hpp"
#include "weft/detail/transport/carrier.hpp"
#include "weft/detail/wire/hello.hpp"

namespace weft::detail {

/// Mutual proof that the peer on a carrier is the peer of the base carrier. Each side sends 32 bytes over the
/// carrier that only the base carrier's two ends can know. The bytes of both sides differ, so that reflection
/// fails. An eavesdropper cannot use them: each proof is valid for one carrier beside one base carrier, and
/// accepted once.
///
/// Must outlive the carrier's use of it, or its shut(). Thread: the loop's.
class CarrierProof {
 public:
  enum class Outcome : std::uint8_t {
    kWaits,   ///< again when the carrier reports
    kProven,  ///< both have it; what the carrier receives from now on is the connection's
    kWrong,   ///< another peer is at the other end
    kLost,    ///< the carrier has failed, or ended
  };

  CarrierProof() = default;
  CarrierProof(const CarrierProof&) = delete;
  CarrierProof& operator=(const CarrierProof&) = delete;
  ~CarrierProof();

  /// Derives what both sides send on a carrier of `kind` from the base carrier's secret. False when that
  /// cannot be had.
  bool begin(BaseSecret& secret, wire::CarrierKind kind, bool connecting) noexcept;
  /// Sends and receives as much as `carrier` takes and has.
  Outcome exchange(Carrier& carrier) noexcept;

 private:
  static constexpr std::size_t kBytes = 32;
  using Proof = std::array<std::byte, kBytes>;

  bool send(Carrier& carrier) noexcept;
  bool receive(Carrier& carrier) noexcept;
  bool is_right() const noexcept;

  Proof ours_{};
  Proof theirs_{};
  Proof arrived_{};
  std::size_t sent_ = 0;
  std::size_t received_ = 0;
};

}  // namespace weft::detail
